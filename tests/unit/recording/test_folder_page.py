"""The page of a training's folder."""

import json
import re
from dataclasses import replace

import pytest

from tdo_plugin.recording import folder_page
from tdo_plugin.recording.folder_page import page, state_line
from tdo_plugin.recording.logged_values import append
from tdo_plugin.recording.runs import FAILED, FINISHED, LOST, Run, write_runs
from tdo_plugin.recording.training_folder import POINTS, read_training_folder

RUN = Run(
    *("2026-01-01T00:00:00+00:00", "fairseq-train <data>", {"lr": [0.1]}, {"python": "3.11"}),
    *(None, {"workers": 2, "host": "somewhere"}, {"/data": {"digest": "abc"}}),
    **{"state": FAILED, "ended": "2026-01-01T01:00:00+00:00", "reason": "no luck", "updates": 30},
)


@pytest.fixture
def folder(tmp_path):
    later = replace(RUN, options={"lr": [0.2]}, data={"/data": {"digest": "def"}})
    write_runs(tmp_path, [RUN, later])
    for update in range(10, 40, 10):
        append(tmp_path, "train_inner", update, {"loss": 5 - update / 10, "wps": 10_000 + update})
        append(tmp_path, "valid", update, {"loss": 2.125 + abs(20 - update)})
    (tmp_path / "checkpoint_last.pt").touch()
    rows = [
        {"update": 30, "direction": direction, "group": group, "bleu": bleu, "off": 25.0}
        for direction, group, bleu in (("en-de", "supervised", 30.0), ("de-fr", "zero_shot", 10.0))
    ]
    (tmp_path / "validation.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_it_shows_all_that_the_folder_has(folder):
    read = read_training_folder(folder)
    assert state_line(read) == "failed, update 30"
    text = page(read)
    shown = re.sub(r"<[^>]+>", " ", text)
    for part in (
        *("The last run failed: no luck", "2.125", "checkpoint_last.pt"),
        *("fairseq-train &lt;data&gt;", "[0.1] → [0.2]", "2026-01-01 01:00:00"),
    ):
        assert part in shown, part
    assert text.count("data:image/svg+xml") == 2
    assert "://" not in text and "<script" not in text


def test_the_tab_and_the_top(folder):
    place = folder / "run" / "system" / "checkpoints"
    place.mkdir(parents=True)
    for path in [*folder.glob("*.json*")]:
        path.rename(place / path.name)

    def top():
        text = page(read_training_folder(place))
        assert "<title>system · run</title>" in text
        return re.sub(r"<[^>]+>", " ", text[text.index("<h1>") : text.index("<nav")]).split()

    measures = "Best validation loss 2.125 bits, update 20 Speed 10,020 target tokens per second"
    assert " ".join(top()).startswith(f"Training: system · run {measures} Duration 2 h 00 min")
    # the end of a run that was killed is not known
    write_runs(place, [replace(RUN, state=LOST, ended=""), RUN])
    assert "Duration 1 h 00 min without lost runs" in " ".join(top())
    (place / "metrics.jsonl").unlink()
    assert not {"loss", "Speed"} & set(top())


def test_without_matplotlib_it_has_the_table(folder, monkeypatch):
    monkeypatch.setattr(folder_page, "find_spec", lambda name: None)
    text = page(read_training_folder(folder))
    assert "svg" not in text and "matplotlib is not installed" in text and "2.125" in text
    # and scores that cannot be shown leave the rest
    with (folder / "validation.jsonl").open("a") as stream:
        stream.write("{\n")
    text = page(read_training_folder(folder))
    assert "There are no scores: " in text and "2.125" in text


def test_a_finished_training_is_not_to_be_resumed(tmp_path):
    write_runs(tmp_path, [replace(RUN, state=FINISHED, reason="")])
    read = read_training_folder(tmp_path)
    assert not read.resume and "To resume" not in page(read)


def test_long_curves_are_thinned_and_keep_their_end(tmp_path):
    for update in range(1, 2 * POINTS):
        append(tmp_path, "train_inner", update, {"loss": 1.0})
    curve = read_training_folder(tmp_path).losses["training"]
    assert len(curve) == POINTS and max(curve) == 2 * POINTS - 1
