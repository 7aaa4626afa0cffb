"""The trainings whose processes `tdo bench` weighs, before they run."""

from dataclasses import replace

from speed import whole_training
from speed.batches import pool
from speed.jobs import Job
from speed.plan import OURS, SMALL, STOCK
from speed.text import embedded

from tdo_plugin.launch.training import last_value

SETTING = replace(SMALL, batch_tokens=60, sentence_length=9)


def job(system):
    text = embedded(SETTING.languages)
    batches = (pool(text, SETTING.sentence_length, SETTING.batch_tokens),)
    return Job("tree memory", system, SETTING, text.directions, batches, "cpu", "fp32")


def test_each_is_a_users_command_that_trains_and_validates_every_direction(tmp_path):
    whole_training._write_data(job(OURS), tmp_path)
    ours, stock = (whole_training._command(job(system), tmp_path) for system in (OURS, STOCK))
    directions = {"-".join(direction) for direction in embedded(SETTING.languages).directions}
    for command in (ours, stock):
        assert {*last_value(command, "--lang-pairs").split(",")} == directions
        assert "--disable-validation" not in command and "--cpu" in command
    for direction in directions:
        for split in ("train", "valid"):
            assert len(list(tmp_path.glob(f"{split}.{direction}.*.idx"))) == 2
    assert last_value(ours, "--user-dir") and not {"--user-dir", "--num-workers"} & {*stock}


def test_a_training_that_fails_is_one_line(refused, tmp_path, monkeypatch):
    failing = ["sh", "-c", "echo first; echo last; exit 1"]
    monkeypatch.setattr(whole_training, "_command", lambda *_: failing)
    with refused.raised("a failing training", names="it says: last"):
        whole_training._peak(job(OURS), tmp_path)
