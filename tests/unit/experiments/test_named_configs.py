"""Configs that are named on a command line: files, and systems of files of experiments."""

import pytest
from support.experiments import TEXT

from tdo_plugin.experiments.estimates import usual_assumptions
from tdo_plugin.experiments.named_configs import named_config

ESTIMATE = """
[corpora.text.estimate]
toy = "--vocab-size {N * 1000}"
full = "--vocab-size 64000 --epoch-sentences 100"
"""


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch):
    """A file of experiments in the folder where commands are given."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(TEXT + ESTIMATE)
    return tmp_path


def test_a_file_of_flags(mine):
    (mine / "small").mkdir()
    (mine / "small" / "one.conf").write_text("--lr 0.1\n")
    named = named_config("small/one.conf")
    assert (named.name, named.place) == ("small/one", f"{mine}/small/one.conf")
    assert named.config.flags == {"--lr": ["0.1"]} and named.system is None


def test_a_system_of_experiments(mine):
    named = named_config("mine.toml/tdo+instrucl")
    assert (named.name, named.setting.scale) == ("mine/tdo+instrucl", "full")
    assert named.config.flags["--tdo-layers"] == ["12"] and named.config.gpus == 8
    assert named_config(named.place).config == named.config
    toy = named_config("mine.toml/tdo+N=4", "toy")
    assert toy.config.flags["--tdo-layers"] == ["8"]
    assert toy.config.flags["--max-update"] == ["100"]


def test_one_that_comes_along():
    named = named_config("quickstart/tdo-instrucl")
    assert (named.place, named.setting.scale) == ("quickstart/tdo-instrucl", "toy")
    assert named.config.flags["--arch"] == ["tdo_transformer_small"]
    assert named_config("own-data/tdo-instrucl").config.flags["--tdo-layers"] == ["12"]


@pytest.mark.parametrize("scale", [None, "toy"])
def test_one_that_goes_on_with_another(scale):
    robt = named_config("mine.toml/tdo+robt", scale)
    assert (robt.system.before, robt.system.continues) == ("tdo", "restore")
    assert robt.needed == {"--restore-file": "starts from a checkpoint of tdo"}


def test_what_only_a_run_makes_is_needed():
    masked = named_config("mine.toml/tdo+masked")
    assert masked.needed == {
        "--tdo-neuron-masks": "has {made.masks}, which tdo reproduce mine.toml makes",
        "--finetune-from-model": "starts from a checkpoint of tdo",
    }
    assert masked.config == named_config("mine.toml/tdo").config


def test_what_is_usual_of_estimates():
    def usual(name, scale=None):
        named = named_config(f"mine.toml/{name}", scale)
        return " ".join(usual_assumptions(named.setting, named.system))

    assert usual("tdo") == "--vocab-size 64000 --epoch-sentences 100"
    assert usual("tdo+N=5", "smoke") == "--vocab-size 5000"
    assert usual("tdo+robt", "toy") == "--vocab-size 3000 --done 100"


def test_what_is_refused(mine, refused):
    (mine / "bad.toml").write_text("title = \n")
    (mine / "one.conf").write_text("--lr 0.1\n")
    refused.rows(
        """
        flags .                         :: . is neither
        flags quickstart                :: quickstart is neither
        flags quickstart/               :: quickstart/ is neither
        flags papers/tdo                :: papers/tdo is neither
        flags gone.toml/tdo             :: gone.toml/tdo is neither
        flags mine.toml/none            :: unknown part none
        flags mine.toml/tdo --scale huge   :: huge
        flags mine.toml/large --scale toy  :: mine/large
        flags one.conf --scale toy      :: --scale
        flags bad.toml/tdo              :: bad.toml must be TOML
        """
    )
