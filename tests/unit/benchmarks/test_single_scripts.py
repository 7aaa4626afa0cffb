"""Scripts of one file: what they count, what they print, and the data that they make."""

import json
from argparse import Namespace

import batch_shapes
import many_directions
import neuron_removal
import prepare_corpus
import pytest
import sharded_bytes
import start_up
import streaming
from support.data import TAG, TDO, TRAIN, built
from support.prepared import prepared, trained

from tdo_compat.binarised import check_side
from tdo_plugin.cli import main


def test_shapes_of_the_batches_of_an_epoch(capsys):
    batches = list(batch_shapes.batches_of(prepared(), 200))
    assert sum(batch.sentences for batch in batches) == 240  # 4 directions of 60
    row = dict(zip(batch_shapes.HEAD, batch_shapes.row_of(batches, 1), strict=True))
    assert row["batches"] == len(batches)
    assert row["second stage"] == len({(b.sentences, b.source, b.target) for b in batches})
    batch_shapes.main([str(prepared().root), "--max-tokens", "200"])
    one, eight = (line.split("|") for line in capsys.readouterr().out.splitlines()[-2:])
    assert [int(cell) for cell in one[1:3]] == [1, len(batches)]
    assert float(eight[6]) > float(one[6])


def test_lengths_of_batches_are_rounded_up():
    batches = [batch_shapes.Batch(8, 5, 8, 90), batch_shapes.Batch(8, 7, 3, 70)]
    assert [batch.rounded(8) for batch in batches] == [(8, 8, 8)] * 2
    assert batch_shapes.row_of(batches, 8) == (8, 2, 1, 1, 1, 100 * (1 - 160 / 256))


def test_ratios_of_many_directions_are_taken_within_a_repetition():
    seconds = {"translate": [10.0, 20.0, 10.0], "one-by-one": [30.0, 80.0, 35.0]}
    row = many_directions.row("one-by-one", seconds)
    assert (row["seconds"], row["ratio"], row["spread"]) == (35.0, 3.5, [3.0, 4.0])


def test_differing_hypotheses_are_counted(data, tmp_path):
    for way in many_directions.WAYS:
        (tmp_path / way).mkdir()
        for direction in data.test_directions:
            (tmp_path / way / f"{direction}.hyp").write_text("a\nb\nc\n")
    expected = dict.fromkeys(many_directions.WAYS, 0)
    assert many_directions.differences(data, tmp_path, list(many_directions.WAYS)) == expected
    (tmp_path / "one-by-one" / "de-fr.hyp").write_text("a\nx\ny\n")
    expected["one-by-one"] = 2
    assert many_directions.differences(data, tmp_path, list(many_directions.WAYS)) == expected


def test_ratios_of_start_up_are_taken_within_a_round():
    seconds = {"stock": [10.0, 20.0, 9.0], "lean": [5.0, 5.0, 3.0]}
    measured = {name: [{"update": value} for value in values] for name, values in seconds.items()}
    stock, lean = start_up.rows(measured, "seconds")
    assert (stock["ratio"], stock["spread"]) == (1, [1, 1])
    assert (lean["median"], lean["ratio"], lean["spread"]) == (5, 3, [2, 4])
    assert lean["metric"] == "update, seconds"


def test_systems_take_turns_in_starting_up():
    calls = []
    run = lambda words: calls.append(words[-1]) or {"update": 1.0}  # noqa: E731
    start_up.measure(run, {"stock": ["a"], "lean": ["b"]}, ["x"], 3, lambda: calls.append("-"))
    assert "".join(calls) == "-a-b-b-a-a-b"


def test_the_data_of_start_up_can_be_trained_on(tmp_path):
    languages = start_up.names(9)
    assert len(set(languages)) == 9
    start_up.make_data(tmp_path, languages, 1100, 5000)
    flags = ("--langs", ",".join(languages), "--lang-pairs", "en-de2,de2-en,ja-en2")
    task, _, _ = built("--task", "tdo_translation", *flags, *TRAIN, *TDO, *TAG, data=tmp_path)
    for split in ("train", "valid"):
        task.load_dataset(split)
    datasets = task.dataset("train").datasets
    assert [*map(len, datasets)] == [1100] * 3 and len(task.dataset("valid")) == 3 * start_up.VALID
    source, target = (
        task.source_dictionary.string(datasets[0][0][side]) for side in ("source", "target")
    )
    assert source.startswith("__de2__ ") and source.split()[1:] != target.split()
    assert "<unk>" not in source + target


def test_the_data_of_streaming_is_valid_and_kept(tmp_path):
    streaming.make_data(tmp_path, 100)
    for language in ("en", "fr"):
        side = check_side(str(tmp_path / f"train.en-fr.{language}"))
        assert len(side.sizes) == 30 and side.sizes.min() >= 4
        assert (side.tokens[side.places // 2 + side.sizes - 1] == 2).all()
    written = (tmp_path / "train.en-fr.en.bin").stat().st_mtime_ns
    streaming.make_data(tmp_path, 100)
    assert (tmp_path / "train.en-fr.en.bin").stat().st_mtime_ns == written


def test_the_commands_of_streaming(tmp_path):
    args = Namespace(epoch=10, loaders=2, updates=3)
    words = streaming.command(tmp_path, args, streaming.SYSTEMS["keyed"])
    assert "en-de,de-en,en-fr,fr-en,en-cs,cs-en" in words
    assert words[-2:] == ["--virtual-epoch-draw", "keyed"]
    streaming.make_text(tmp_path / "text", 7)
    assert (tmp_path / "text" / "train.de-en.de").read_text("utf-8").count("\n") == 7
    assert "--from-text" in streaming.text_command(tmp_path, tmp_path / "text", args)


def test_the_tools_of_prepare_corpus_clean_as_the_rules_say(tmp_path):
    text = prepare_corpus.generate(tmp_path, 2100)
    sides = [text / f"train.en-de.{language}" for language in ("en", "de")]
    rows = list(zip(*(path.read_text("utf-8").split("\n") for path in sides), strict=True))[:-1]
    assert len(rows) == 2100 + 42 and len(set(rows)) == 2100
    assert sum(not german for _, german in rows) == 3
    names = ("valid.en-de.en", "valid.en-de.de", "test.en", "test.de")
    held_out = [(text / name).read_text("utf-8").split("\n")[0] for name in names]
    more = [held_out[:2], held_out[2:], held_out[::2], ("a\x07b", "c"), ("a", "b\ufffd"), ("é", "")]
    for number, path in enumerate(sides):
        with path.open("a", encoding="utf-8") as stream:
            stream.write("".join(f"{row[number]}\n" for row in more))
    (tmp_path / "out").mkdir()
    prepare_corpus.run(prepare_corpus.CLEAN.format(text, tmp_path / "out"))
    kept = [row for row in dict.fromkeys(rows) if row[1]] + [tuple(held_out[::2])]
    written = [(tmp_path / "out" / f"train.{side}").read_text("utf-8") for side in ("en", "de")]
    assert written == ["".join(f"{row[number]}\n" for row in kept) for number in (0, 1)]


@pytest.mark.full
def test_a_worker_of_two_stores_half():
    *_, one, two = sharded_bytes.rows([1, 2], keep=False)
    whole, half = ([float(cell) for cell in row.split("|")[2:5]] for row in (one, two))
    assert half == pytest.approx([value / 2 for value in whole], abs=0.1)


def test_neurons_of_every_kind_are_removed():
    widths = {"0.query": 4, "1.query": 4, "0.inner": 2}
    widths = {f"layers.{name[0]}.attention{name[1:]}": width for name, width in widths.items()}
    neurons = neuron_removal.sampled(widths, 3, 1)
    assert neurons == neuron_removal.sampled(widths, 3, 1) != neuron_removal.sampled(widths, 3, 2)
    kinds = [name.rpartition(".")[2] for name, _ in neurons]
    assert (kinds.count("query"), kinds.count("inner"), len(set(neurons))) == (3, 2, 5)


def test_correlations_of_removed_neurons():
    assert neuron_removal.ranks([5.0, 1.0, 5.0, 2.0]).tolist() == [2.5, 0.0, 2.5, 1.0]
    measured = neuron_removal.correlations([1.0, 2.0, 3.0], [1.0, 4.0, 9.0])
    assert measured["spearman"] == pytest.approx(1) and 0.9 < measured["pearson"] < 0.999
    assert neuron_removal.correlations([1.0, 1.0], [1.0, 2.0]) == {
        "spearman": None,
        "pearson": None,
    }


def test_removed_neurons(tmp_path, monkeypatch, capsys):
    theta, report = tmp_path / "theta", tmp_path / "report.json"
    shared = ["--path", str(trained("--max-update", "5")), "--data", str(prepared().root)]
    shared += ["--sentences", "4"]
    words = [*shared, "--out", str(theta), "--pairs", "de-en", "--cpu"]
    assert main(["neurons", "importance", *words]) == 0
    words = [*shared, "--importance", str(theta), "--pair", "de-en", "--neurons", "2"]
    monkeypatch.setattr("sys.argv", ["neuron_removal.py", *words, "--json", str(report)])
    neuron_removal.main()
    results = json.loads(report.read_text(encoding="utf-8"))
    names = {f"layers attention {kind}" for kind in ("query", "key", "value", "out")}
    names |= {f"layers feed_forward {kind}" for kind in ("inner", "outer")}
    assert set(results["summary"]) == {*names, "all"}
    assert results["summary"]["all"]["neurons"] == len(results["neurons"]) == 12
    assert "layers attention key" in capsys.readouterr().out
    # to first order the removal of a neuron is what the signed sum says
    assert results["summary"]["all"]["signed"]["pearson"] > 0.5
