"""A text folder becomes a data folder: what fairseq would write, in parts, again after a stop."""

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from fairseq import options
from fairseq.data.indexed_dataset import MMapIndexedDataset
from fairseq_cli import preprocess as stock
from support.corpora import run_here
from support.data import kept_logging
from support.folders import contents

from tdo_compat.digests import DIGESTS
from tdo_plugin.data import joint_model, set_parts
from tdo_plugin.data.databin import MARK, read_data_folder
from tdo_plugin.data.finished_folder import TEXTS, left_out
from tdo_plugin.data.joint_model import SegmentationSettings
from tdo_plugin.data.preprocessing import PreprocessSettings, preprocess, stock_commands
from tdo_plugin.data.segmentation import Dropped, join_pieces
from tdo_plugin.data.textfolder import TextFolder, read_lines, read_text_folder
from tdo_plugin.runtime import steps
from tdo_plugin.runtime.steps import Facts, Step, Steps

SETTINGS = PreprocessSettings(SegmentationSettings(60), max_pieces=40)
SIZES = {"train.de-en": 23, "train.en-fr": 8, "valid.de-en": 5, "valid.en-fr": 3}


@pytest.fixture
def folder(tmp_path) -> TextFolder:
    """Two pairs of unequal size, an empty and a long line in train.de-en, one parallel test set."""
    root, drawn = tmp_path / "text", random.Random(1)
    root.mkdir()
    words = {"en": "red green blue black", "de": "rot grün blau schwarz", "fr": "vert bleu noir or"}

    def lines(language: str, count: int) -> list[str]:
        some = words[language].split()
        return [" ".join(drawn.choices(some, k=drawn.randint(1, 5))) for _ in range(count)]

    def write(name: str, language: str, text: list[str]) -> None:
        (root / f"{name}.{language}").write_text("\n".join(text) + "\n", encoding="utf-8")

    for name, count in SIZES.items():
        for language in name.partition(".")[2].split("-"):
            text = lines(language, count)
            if name == "train.de-en" and language == "de":
                text[3], text[11] = "", "rot " * 41
            write(name, language, text)
    for language in words:
        write("test", language, lines(language, 4))
    return read_text_folder(root)


def quiet(line: str) -> None:
    pass


def make(folder: TextFolder, out: Path, settings: PreprocessSettings = SETTINGS, **more) -> Path:
    """In this process, which is several times as fast, unless workers are asked for."""
    run_jobs = steps.run_jobs if "workers" in more else run_here
    with mock.patch.object(steps, "run_jobs", run_jobs):
        preprocess(folder, out, settings, **{"say": quiet, "warn": quiet, **more})
    return out


def said(*request: Any) -> list[str]:
    """What making a folder says."""
    messages: list[str] = []
    make(*request, say=messages.append, warn=messages.append)
    return messages


def digests(root: Path) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents(root).items()}


@pytest.mark.parametrize("lines", [1000, 5])
def test_the_sets_are_those_of_fairseq_preprocess(folder, tmp_path, monkeypatch, lines):
    monkeypatch.setattr(set_parts, "PART", lines)
    out = tmp_path / "data"
    messages = said(folder, out)
    commands = stock_commands(folder, out, SETTINGS, 1)
    assert [line for line in messages if line.startswith("+ fairseq-preprocess")] == [
        "+ fairseq-preprocess " + " ".join(words) for words in commands
    ]
    omitted = "train.de-en: left out 1 pairs with an empty side and 1 with more than 40 pieces"
    assert omitted in messages
    expected = tmp_path / "expected"
    for words in commands:
        words[words.index("--destdir") + 1] = str(expected)
        with kept_logging():
            stock.main(options.get_preprocessing_parser().parse_args(words))
    (expected / "preprocess.log").unlink()
    contents = {path.name: path.read_bytes() for path in expected.iterdir()}
    assert {path.name for path in out.glob("*.bin")} == {name for name in contents if "bin" in name}
    assert {name: (out / name).read_bytes() for name in contents} == contents
    assert not (out / "work" / "parts").exists()
    assert left_out(out)["train.de-en"] == Dropped(1, 1, 21)


def test_neither_workers_nor_place_change_the_bytes(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(set_parts, "PART", 5)
    settings = replace(SETTINGS, shard_sentences=12, segmentation=SegmentationSettings(60, seed=4))
    serial = make(folder, tmp_path / "one", settings, workers=1)
    assert digests(make(folder, tmp_path / "two", settings, workers=3)) == digests(serial)


def stop_at(monkeypatch: pytest.MonkeyPatch, name: str) -> Callable[[], None]:
    """Raises where a set is binarised whose name this is, until the function returned is called."""
    original, stopped = set_parts.binarise, [True]

    def binarise(split: str, pair: tuple[str, str], prefix: Path, *rest: Path) -> None:
        if stopped and name in str(prefix):
            raise KeyError(name)
        original(split, pair, prefix, *rest)

    monkeypatch.setattr(set_parts, "binarise", binarise)
    return stopped.clear


def test_a_stopped_run_goes_on(folder, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(set_parts, "PART", 5)
    whole, out = make(folder, tmp_path / "whole"), tmp_path / "data"
    go_on = stop_at(monkeypatch, "train.de-en/00003")
    with pytest.raises(KeyError):
        make(folder, out, workers=1)
    assert "KeyError" in capfd.readouterr().err  # no mistake of the user's
    assert not (out / MARK).exists() and not list(out.glob("*.bin"))
    assert not list((out / "work").glob("steps-scratch*"))
    done = {path.stem for path in (out / "work" / "steps").iterdir()}
    assert {"model", "pieces.test.de", "train.de-en.00002"} <= done
    assert "train.de-en.00003" not in done
    go_on()
    again: list[str] = []
    finish = Steps._finish

    def finished(self: Steps, step: Step, facts: Facts) -> None:
        again.append(step.name)
        finish(self, step, facts)

    monkeypatch.setattr(Steps, "_finish", finished)
    make(folder, out, workers=1)
    assert again[0] == "train.de-en.00003" and "train.de-en" in again
    assert not done & set(again)
    assert digests(out) == digests(whole)


@pytest.mark.parametrize("change", ["text", "settings"])
def test_a_stopped_run_with_something_else_is_as_if_it_began(folder, tmp_path, monkeypatch, change):
    with monkeypatch.context() as stopping:
        stop_at(stopping, "valid.en-fr")
        with pytest.raises(KeyError):
            make(folder, tmp_path / "data", replace(SETTINGS, shard_sentences=5))
    settings = SETTINGS
    if change == "text":  # of the same length
        path = folder.side("train", ("de", "en"), "de")
        path.write_text(path.read_text("utf-8").replace("rot", "tor"), encoding="utf-8")
    else:
        settings = replace(SETTINGS, max_pieces=30)
    again = make(folder, tmp_path / "data", settings)
    assert digests(again) == digests(make(folder, tmp_path / "new", settings))


def test_shards_share_every_pair_out(folder, tmp_path):
    whole = make(folder, tmp_path / "whole")
    out = tmp_path / "data"
    messages = said(folder, out, replace(SETTINGS, shard_sentences=9))
    data = read_data_folder(out)
    roots = [out, out / "shard2", out / "shard3"]
    assert data.shards == ("shard2", "shard3")
    assert data.path == ":".join(map(str, roots)) and messages[-1] == f"3 shards: {data.path}"
    assert read_data_folder(whole).path == str(whole)
    for name in ("train.de-en.de", "train.de-en.en", "train.en-fr.en", "train.en-fr.fr"):
        rows = [row.tolist() for row in MMapIndexedDataset(str(whole / name))]
        for number, root in enumerate(roots):
            shard = [row.tolist() for row in MMapIndexedDataset(str(root / name))]
            assert shard == rows[number::3] and 0 < len(shard) <= 9
        assert [*read_lines(out / "pieces" / name)] == [*read_lines(whole / "pieces" / name)]
    assert {path.name.split(".")[0] for path in roots[1].iterdir()} == {"dict", "train"}
    assert (roots[1] / "dict.fr.txt").read_bytes() == (out / "dict.txt").read_bytes()
    # without shards again, nothing of them is left
    make(folder, out, SETTINGS, fresh=True)
    assert digests(out) == digests(whole)


def test_nothing_of_other_text_is_left(folder, tmp_path):
    settings, text = replace(SETTINGS, shard_sentences=8), tmp_path / "text"
    for language in ("de", "en"):
        (text / f"test.de-en.{language}").write_text("or\n")
    out = make(read_text_folder(text), tmp_path / "data", settings)
    assert (out / "shard3" / "train.en-fr.fr.idx").is_file()
    for path in text.glob("test.de-en.*"):
        path.unlink()
    for path in text.glob("train.en-fr.*"):  # too few for a third shard
        path.write_text("or\nbleu\n")
    (out / "train.log").touch()
    again = make(read_text_folder(text), out, settings, fresh=True)
    (out / "train.log").unlink()
    assert digests(again) == digests(make(read_text_folder(text), tmp_path / "new", settings))


def test_folders_of_before_are_recognised(folder, tmp_path, refused):
    out = make(folder, tmp_path / "data")
    before = {
        "languages": ["de", "en", "fr"],
        "segmentation": {
            **{"vocab_size": 60, "model_type": "unigram", "character_coverage": 1.0},
            **{"normalization": "nmt_nfkc", "sentences": 0, "hub_pairs": [], "seed": 1},
        },
        "max_pieces": 40,
        "text": {path.name: path.stat().st_size for path in folder.files()},
    }
    record = json.loads((out / MARK).read_text())
    assert {name: value for name, value in record.items() if name != DIGESTS} == before
    (out / MARK).write_text(json.dumps(before))
    assert said(folder, out) == [f"{out} is already complete"]
    warmer = replace(SETTINGS, segmentation=SegmentationSettings(60, temperature=5.0))
    for changed in (warmer, replace(SETTINGS, shard_sentences=5), replace(SETTINGS, join_valid=1)):
        with refused.raised("other settings", names="--fresh"):
            make(folder, out, changed)


def test_other_text_of_the_same_size_is_other_text(folder, tmp_path, refused):
    out = make(folder, tmp_path / "data")
    path = folder.side("train", ("de", "en"), "de")
    path.write_text(path.read_text("utf-8").replace("rot", "tor"), encoding="utf-8")
    with refused.raised("other text", names="--fresh"):
        make(folder, out)
    (out / TEXTS).unlink()  # folders of before have only sizes
    assert said(folder, out) == [f"{out} is already complete"]


def test_pairs_need_no_validation_text(folder, tmp_path):
    for pair, validated, message in (
        (("en", "fr"), ("de-en", "en-de"), "en-fr; training validates on the other pairs"),
        (("de", "en"), (), "no trained pair has a validation set: training runs without"),
    ):
        for path in folder.sides("valid", pair):
            path.unlink()
        out = tmp_path / pair[0]
        messages = said(read_text_folder(folder.root), out)
        assert read_data_folder(out).validated == validated
        assert len(list(out.glob("train.*.bin"))) == 4
        assert [line for line in messages if message in line]


def test_some_pairs_of_a_folder_are_what_a_folder_of_their_files_makes(folder, tmp_path, refused):
    root, alone = folder.root, tmp_path / "alone"
    for name in ("train.en-fr", "valid.en-fr"):  # a third pair, in validation beside the others
        for language, copied in (("en", "de"), ("fr", "fr")):
            shutil.copy(root / f"{name}.{language}", root / f"{name[:5]}.de-fr.{copied}")
    for name in ("valid.de-en.en", "valid.en-fr.en"):
        (root / name).write_text("".join(f"{n}\n" for n in range(SIZES[name[:-3]])))
    alone.mkdir()
    for path in (*root.glob("*.de-en.*"), *root.glob("*.en-fr.*"), *root.glob("test.*")):
        shutil.copy(path, alone)
    settings = replace(SETTINGS, join_valid=2)
    some = read_text_folder(root, wanted=("fr-en", "de-en"))
    out = make(some, tmp_path / "some", settings)
    assert (out / "valid.de-fr.de.bin").is_file()  # joined, of what the two pairs share
    assert digests(out) == digests(make(read_text_folder(alone), tmp_path / "data", settings))
    with refused.raised("all pairs", names="--fresh"):
        make(read_text_folder(root), out, settings)


def test_both_directions_may_have_a_test_set_of_their_own(folder, tmp_path):
    for pair, text in (("de-en", "or\n"), ("en-de", "or\nbleu\n")):
        for language in ("de", "en"):
            (folder.root / f"test.{pair}.{language}").write_text(text)
    out = make(read_text_folder(folder.root), tmp_path / "data")
    for pair, lines in (("de-en", 1), ("en-de", 2), ("en-fr", 4), ("de-fr", 4)):
        source, target = pair.split("-")
        assert len(MMapIndexedDataset(str(out / f"test.{pair}.{source}"))) == lines
        reference = read_data_folder(out).reference(source, target, target)
        assert len([*read_lines(reference)]) == lines
    directions = read_data_folder(out).test_directions
    assert sorted(directions) == ["de-en", "de-fr", "en-de", "en-fr", "fr-de", "fr-en"]


def test_validation_text_that_is_parallel_over_all_languages(folder, tmp_path):
    for pair in folder.pairs:
        for path in folder.sides("valid", pair):
            path.unlink()
    for language in folder.languages:
        shutil.copy(folder.root / f"test.{language}", folder.root / f"valid.{language}")
    out = make(read_text_folder(folder.root), tmp_path / "data")
    for name in ("de-en.de", "en-fr.fr", "de-fr.de"):
        test = (out / "pieces" / f"test.{name[-2:]}").read_bytes()
        assert (out / "pieces" / f"valid.{name}").read_bytes() == test


def test_temperature_gives_small_languages_weight(folder, tmp_path):
    def model(temperature: float) -> bytes:
        settings = SegmentationSettings(40, temperature=temperature)
        out = tmp_path / f"data-{temperature}"
        return (make(folder, out, PreprocessSettings(settings)) / "spm.model").read_bytes()

    assert model(1.0) != model(5.0)


@pytest.mark.parametrize(
    ("sentences", "bounded", "drawn"),
    [
        (0, True, "sentences (--"),
        (300, True, "sentences of at most 300 (--"),
        (100, True, None),
        (300, False, None),
    ],
)
def test_large_text_is_sampled(folder, tmp_path, monkeypatch, sentences, bounded, drawn):
    for language in ("de", "en"):
        path = folder.side("train", ("de", "en"), language)
        path.write_text(path.read_text("utf-8") * 10, encoding="utf-8")
    monkeypatch.setattr("tdo_plugin.data.sampling.MOST_CHARACTERS", 3000)
    train = joint_model.train_model

    def watched(sides, prefix, settings, lowercase):
        (tmp_path / "drawn").write_text(str(settings.sentences))
        train(sides, prefix, settings, lowercase)

    monkeypatch.setattr(joint_model, "train_model", watched)
    out = tmp_path / "data"
    settings = SegmentationSettings(60, sentences=sentences, bounded=bounded)
    messages = said(folder, out, PreprocessSettings(settings))
    lines = [line for line in messages if "to limit memory" in line]
    if drawn:
        assert 100 < int(lines[0].split("draws ")[1].split()[0]) < 300
        assert drawn in lines[0]
    else:
        assert not lines
        assert int((tmp_path / "drawn").read_text()) == sentences
    assert json.loads((out / MARK).read_text())["segmentation"]["sentences"] == sentences


def test_test_sets_in_plain_form_are_what_is_scored_against(folder, tmp_path, refused):
    (folder.root / "plain").mkdir()
    tests = [path for path in folder.files() if path.name.startswith("test.")]
    for path in tests:
        lines = path.read_text("utf-8").splitlines()
        plain = "".join(f"plain {line}\n" for line in lines)
        (folder.root / "plain" / path.name).write_text(plain, encoding="utf-8")
    settings = replace(SETTINGS, form={"casing": "cased", "tokenization": "moses"})
    out = make(read_text_folder(folder.root), tmp_path / "data", settings)
    assert json.loads((out / MARK).read_text())["form"]["plain_references"] is True
    name = tests[0].name
    assert (out / "reference" / name).read_bytes() == (folder.root / "plain" / name).read_bytes()
    pieces = [join_pieces(line) for line in read_lines(out / "pieces" / name)]
    assert pieces == [*read_lines(folder.root / name)]
    (folder.root / "plain" / name).write_text("plain\n")
    with refused.raised("fewer lines", names=f"`plain/{name}`"):
        read_text_folder(folder.root)
    (folder.root / "plain" / name).unlink()
    with refused.raised("none", names=f"plain/{name}"):
        read_text_folder(folder.root)


def test_a_set_of_which_nothing_is_left_is_refused(folder, tmp_path, refused):
    folder.side("valid", ("en", "fr"), "fr").write_text("\n" * SIZES["valid.en-fr"])
    with refused.raised("nothing left", names="`valid.en-fr`"):
        make(folder, tmp_path / "data")
