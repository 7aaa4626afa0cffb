"""A data folder says what it was made of, and one run at a time writes to it."""

import json

import pytest

from tdo_plugin.corpora.description import load
from tdo_plugin.corpora.making import Record
from tdo_plugin.corpora.outcome import OUTCOME, SPLITS, alone, check_made, write_outcome
from tdo_plugin.data.databin import MARK
from tdo_plugin.errors import UserError


def test_the_outcome_marks_the_folder_whole(tmp_path):
    assert not check_made(tmp_path, "key", fresh=False)
    record = Record("train", ("de", "en"), 10, {"empty": 3}, 7)
    write_outcome(tmp_path, load("ted19"), "key", [record])
    assert check_made(tmp_path, "key", fresh=False)
    written = json.loads((tmp_path / OUTCOME).read_text(encoding="utf-8"))
    assert written["rows"] == [
        {"split": "train", "pair": "de-en", "read": 10, "taken": {"empty": 3}, "kept": 7}
    ]
    with pytest.raises(UserError, match="was made of another corpus"):
        check_made(tmp_path, "other", fresh=False)
    (tmp_path / MARK).touch()
    assert not check_made(tmp_path, "other", fresh=True)
    assert not (tmp_path / OUTCOME).exists() and not (tmp_path / MARK).exists()


def test_a_folder_that_another_command_made_is_not_touched(tmp_path):
    (tmp_path / MARK).touch()  # by `tdo preprocess`, or by a run that was killed before its end
    with pytest.raises(UserError, match="was made of another corpus"):
        check_made(tmp_path, "key", fresh=False)
    (tmp_path / SPLITS).mkdir(parents=True)
    assert not check_made(tmp_path, "key", fresh=False)
    assert (tmp_path / MARK).exists()


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    refused = pytest.raises(UserError, match="no other tdo prepare is writing to")
    with alone(tmp_path / "out"), refused, alone(tmp_path / "out"):
        pass
    with alone(tmp_path / "out"):
        pass


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match="`--out` must be a folder to write to; "), alone(out):
            pass
