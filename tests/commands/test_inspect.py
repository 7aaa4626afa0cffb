"""`tdo inspect` on a prepared folder."""

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
from support.commands import told
from support.data import ENCODER_DECODER
from support.data import built as build
from support.prepared import PAIRS, TASK, TEST_SENTENCES, prepared

from tdo_plugin.evaluation.published.corpus_sizes import corpus_sizes


@pytest.fixture
def inspect(capsys: pytest.CaptureFixture[str]):
    def run(*words: object) -> str:
        return told(capsys, "inspect", *words)[0]

    return run


def pieces(split: str, pair: str, language: str) -> list[list[str]]:
    folder = prepared().root / "pieces"
    path = folder / f"{split}.{pair}.{language}"
    text = (path if path.is_file() else folder / f"{split}.{language}").read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines()]


def test_numbers_are_those_of_the_text(inspect, tmp_path: Path) -> None:
    printed = inspect(prepared().root, "--json", tmp_path / "numbers.json")
    numbers = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    directions = numbers["directions"]
    assert set(directions) == {*PAIRS.split(","), "de-fr", "fr-de"}
    for direction, counts in directions.items():
        trained = direction in PAIRS
        assert counts["kind"] == ("supervised" if trained else "zero-shot")
        assert set(counts) == {"kind", "test", *(("train", "valid") if trained else ())}
        for split in set(counts) - {"kind"}:
            source, target = direction.split("-")
            pair = direction if source == "en" else f"{target}-{source}"
            sides = [pieces(split, pair, language) for language in (source, target)]
            assert counts[split] == {
                "sentences": len(sides[0]),
                "source_tokens": sum(map(len, sides[0])),
                "target_tokens": sum(map(len, sides[1])),
            }
    assert directions["de-fr"]["test"]["sentences"] == TEST_SENTENCES
    english = numbers["languages"]["en"]["train"]
    both = pieces("train", "en-de", "en") + pieces("train", "en-fr", "en")
    assert english["longest"] == max(map(len, both))
    assert sum(english["lengths"]) == english["sentences"] == len(both)
    assert f"{english['tokens']:,}" in printed
    assert re.search(r"^zero-shot\nde-fr ", printed, re.MULTILINE)
    assert str(tmp_path / "numbers.json") in printed


@pytest.mark.parametrize("sample", [None, {"pairs": 30, "seed": 1}], ids=["whole", "sample"])
def test_a_whole_corpus_stands_beside_the_paper_s_sizes(inspect, tmp_path: Path, sample) -> None:
    folder = tmp_path / "data"
    shutil.copytree(prepared().root, folder)
    made = {"corpus": "opus100", "variant": "revised", "sample": sample}
    (folder / "prepare.json").write_text(json.dumps(made))
    printed = inspect(folder, "--json", tmp_path / "numbers.json")
    published = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))["published"]
    sizes = corpus_sizes("opus100", "revised")
    assert published == (None if sample else asdict(sizes))
    assert (f"{sizes.pairs['de']:,}" in printed) == (sample is None)
    assert (f"{sizes.source}: the paper's sentence pairs" in printed) == (sample is None)


def without_padding(line: str) -> str:
    return re.sub(r"\s*<pad>\*\d+\s*", "", line)


def shown(printed: str) -> list[tuple[str, ...]]:
    """Direction, source, previous output and target of each sentence."""
    return re.findall(
        r"^(\w\w-\w\w)\n  source    (.*)\n  previous  (.*)\n  target    (.*)$", printed, re.M
    )


@pytest.mark.parametrize(
    ("tags", "source", "previous"),
    [
        ((), "{T} {x} </s>", "</s> {y}"),
        (("--encoder-langtok", "src", "--decoder-langtok"), "{S} {x} </s>", "</s> {T} {y}"),
        (("--decoder-langtok", "--lang-tok-replacing-bos-eos"), "{x} </s>", "{T} {y}"),
    ],
)
def test_batches_show_what_the_model_is_fed(inspect, tags, source, previous) -> None:
    printed = inspect(prepared().root, "--batches", "2", "--max-tokens", "300", *tags)
    text = {}
    for pair in ("en-de", "en-fr"):
        rows = zip(*(pieces("train", pair, language) for language in pair.split("-")), strict=True)
        for first, second in rows:
            text[pair, " ".join(first)] = " ".join(second)
            text[pair[::-1], " ".join(second)] = " ".join(first)
    rows = shown(printed)
    assert len(rows) == sum(map(int, re.findall(r"^batch [12]: (\d+) sentences", printed, re.M)))
    assert len({direction for direction, *_ in rows}) > 1
    for direction, *fed in rows:
        first, second = direction.split("-")
        names = {"S": f"__{first}__", "T": f"__{second}__"}
        fed_source, before, target = map(without_padding, fed)
        x = " ".join(word for word in fed_source.split() if not re.fullmatch(r"__\w+__|</s>", word))
        y = " ".join(word for word in target.split() if not re.fullmatch(r"__\w+__|</s>", word))
        assert fed_source == source.format(x=x, **names)
        assert before == previous.format(y=y, **names)
        translations = [b for (_, a), b in text.items() if a == x]
        assert y in translations


def test_batches_show_noise(inspect) -> None:
    noise = ("--source-noise", "bert", "--source-noise-rate", "1", "--source-noise-mask", "1")
    printed = inspect(prepared().root, "--batches", "2", *noise, "--source-noise-random", "0")
    rows = shown(printed)
    assert rows
    for _, source, *_ in rows:
        tag, *words, end = without_padding(source).split()
        assert re.fullmatch(r"__\w+__", tag) and end == "</s>" and set(words) == {"<mask>"}


def test_batches_are_those_of_a_training(inspect) -> None:
    flags = ("--encoder-langtok", "tgt", "--max-tokens", "200", "--seed", "5")
    flags += ("--sampling-method", "temperature", "--sampling-temperature", "2")
    printed = inspect(prepared().root, "--batches", "3", *flags)
    train = ("--arch", "tdo_transformer", *ENCODER_DECODER, "--tdo-model-dim", "8", "--cpu")
    task, _, _ = build("--task", "tdo_translation", *TASK, *flags, *train, data=prepared().root)
    task.load_dataset("train", epoch=1)
    iterator = task.get_batch_iterator(
        task.dataset("train"), max_tokens=200, max_positions=(1024, 1024), seed=5, epoch=1,
        required_batch_size_multiple=8, ignore_invalid_inputs=True,
    )  # fmt: skip
    sources = []
    for _, batch in zip(range(3), iterator.next_epoch_itr(shuffle=True), strict=False):
        for row in batch["net_input"]["src_tokens"]:
            symbols = [task.source_dictionary[int(index)] for index in row]
            sources.append(" ".join(symbol for symbol in symbols if symbol != "<pad>"))
    assert [without_padding(source) for _, source, _, _ in shown(printed)] == sources


def test_a_config_brings_its_flags(inspect, tmp_path: Path) -> None:
    config = tmp_path / "own.conf"
    flags = ("--arch tdo_prefix_decoder_only_small", "--encoder-langtok src", "--batch-size 3")
    config.write_text("\n".join(flags))
    printed = inspect(prepared().root, "--config", config, "--batches", "1")
    rows = shown(printed)
    assert len(rows) == 3
    for direction, source, *_ in rows:
        assert re.match(rf"(<pad>\*\d+ )?__{direction[:2]}__ ", source)


def test_a_picture_is_drawn(inspect, tmp_path: Path) -> None:
    printed = inspect(prepared().root, "--plot", tmp_path / "sizes.svg")
    assert ">en-de<" in (tmp_path / "sizes.svg").read_text(encoding="utf-8")
    assert str(tmp_path / "sizes.svg") in printed


def test_shards_are_counted_together(inspect, tmp_path: Path) -> None:
    folder = tmp_path / "sharded"
    shutil.copytree(prepared().root, folder)
    (folder / "shard2").mkdir()
    for path in folder.glob("train.en-de.*"):
        shutil.copyfile(path, folder / "shard2" / path.name)
    (folder / "shards.txt").write_text("shard2\n", encoding="utf-8")
    inspect(folder, "--json", tmp_path / "numbers.json")
    directions = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))["directions"]
    counts = [directions[direction]["train"]["sentences"] for direction in ("de-en", "fr-en")]
    single = [len(pieces("train", pair, "en")) for pair in ("en-de", "en-fr")]
    assert counts == [2 * single[0], single[1]]


def test_mistakes(refused) -> None:
    refused.rows(
        """
        inspect {data}
            --batches 0                                         :: --batches
            --max-tokens 9                                      :: --batches
            --config own.conf                                   :: --batches
            --batches 1 --max-tokens x                          :: --max-tokens
            --batches 1 --no-such                               :: --no-such
            --batches 1 --max-tokens 2                          :: --max-tokens
            --batches 1 --task translation_multi_simple_epoch   :: --task
            --plot sizes.gif                                    :: --plot
            --json none/such.json                               :: --json
        """,
        data=prepared().root,
    )
