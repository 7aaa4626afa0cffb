"""A data folder says what it was made of."""

import json

from tdo_plugin.corpora.description import load
from tdo_plugin.corpora.pair_rows import Record
from tdo_plugin.corpora.prepared_corpus import OUTCOME, SPLITS, check_made, write_outcome
from tdo_plugin.data.databin import MARK


def test_the_outcome_marks_the_folder_whole(refused, tmp_path):
    assert not check_made(tmp_path, "key", fresh=False)
    model = {"pieces": 9, "sentences": 5}
    (tmp_path / "work" / "steps").mkdir(parents=True)
    (tmp_path / "work" / "steps" / "model.json").write_text(
        json.dumps({"digest": "", "files": {}, "facts": model})
    )
    record = Record("train", ("de", "en"), 10, {"empty": 3}, 7)
    write_outcome(tmp_path, load("ted19"), "key", [record])
    assert check_made(tmp_path, "key", fresh=False)
    written = json.loads((tmp_path / OUTCOME).read_text(encoding="utf-8"))
    row = {"split": "train", "pair": "de-en", "read": 10, "taken": {"empty": 3}, "kept": 7}
    assert written["rows"] == [row]
    assert written["model"] == model
    with refused.raised("another corpus", names=tmp_path):
        check_made(tmp_path, "other", fresh=False)
    (tmp_path / MARK).touch()
    assert not check_made(tmp_path, "other", fresh=True)
    assert not (tmp_path / OUTCOME).exists() and not (tmp_path / MARK).exists()


def test_a_folder_that_another_command_made_is_not_touched(refused, tmp_path):
    (tmp_path / MARK).touch()  # by `tdo preprocess`, or by a run that was killed before its end
    with refused.raised("another command's folder", names=tmp_path):
        check_made(tmp_path, "key", fresh=False)
    (tmp_path / SPLITS).mkdir(parents=True)
    assert not check_made(tmp_path, "key", fresh=False)
    assert not (tmp_path / MARK).exists()
