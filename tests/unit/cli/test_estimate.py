"""`tdo estimate`: GPU hours from FLOPs."""

import argparse
from pathlib import Path
from types import ModuleType

import pytest
from support.commands import told

from tdo_plugin.cli import describe, estimate
from tdo_plugin.costs import model_description, training_hours
from tdo_plugin.criterions.term_list import TERMS
from tdo_plugin.launch.training_config import read_config

LINES = """
gpus 2
--arch tdo_encoder_decoder_small
--tdo-encoder-layers 1
--lr 0.1
--max-tokens 300
--update-freq 5
--max-update 100
"""


@pytest.fixture
def config(tmp_path):
    (tmp_path / "configs").mkdir()
    path = tmp_path / "configs" / "one.conf"
    path.write_text(LINES)
    return path


def parsed(command: ModuleType, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(words)


def made(path: Path, *words: str) -> training_hours.Estimate:
    args = parsed(estimate, str(path), "--vocab-size", "50", *words)
    assumed = training_hours.assumptions(args)
    return training_hours.estimate(path.stem, read_config(path), assumed)


def described() -> dict:
    words = "--arch tdo_encoder_decoder_small --tdo-encoder-layers 1 --vocab-size 50 --beam 1"
    return model_description.describe(parsed(describe, *words.split(), "--source-length", "20"))


def test_hours_are_flops_of_all_sentences_by_the_assumed_speed(config):
    model = described()
    cost = made(config, "--source-length", "20", "--tflops", "2", "--utilization", "0.5")
    sentences = 100 * 2 * 300 * 5 / 30  # by the longer side
    assert cost.flops == pytest.approx(sentences * model["flops"]["training"]["total"], rel=1e-12)
    assert cost.hours == pytest.approx(cost.flops / 1e12 / 3600, rel=1e-12)
    assert (cost.parameters, cost.updates) == (model["total_parameters"], 100)
    assert made(config, "--done", "60").updates == 40


def test_epochs_have_as_many_sentences_as_is_said(config, refused):
    config.write_text(LINES.replace("--max-update 100", "--max-epoch 3"))
    # an update holds 2 * 300 * 5 / 30 = 100 sentences
    assert made(config, "--epoch-sentences", "1000").updates == 30
    assert made(config, "--epoch-sentences", "1010").updates == 31
    refused("estimate", config, names="--epoch-sentences")


def ratio_with(config: Path, lines: str) -> float:
    """How many times as many FLOPs it has with more lines."""
    more = config.with_name("more.conf")
    more.write_text(f"include one.conf\n{lines}\n")
    return made(more, "--source-length", "20").flops / made(config, "--source-length", "20").flops


@pytest.mark.parametrize(("lines", "share"), [("", 1), ("--robt-share 0.25", 0.25)])
def test_robt_trains_twice_and_decodes_once(config, lines, share):
    """The sentences that are translated back."""
    model, ratio = described()["flops"], ratio_with(config, f"--task tdo_robt\n{lines}")
    decoded = model["generation"]["total"] / model["training"]["total"]
    assert ratio == pytest.approx(1 + share * (1 + decoded))


def test_listed_targets_make_it_an_upper_bound(config, capsys):
    listed, every = map(config.with_name, ("listed.conf", "every.conf"))
    every.write_text("include one.conf\n--task tdo_robt\n")
    listed.write_text("include every.conf\n--robt-targets listed\n")
    assert made(listed).flops == made(every).flops
    *_, last = told(capsys, "estimate", listed, every, config)[0].splitlines()
    assert last.startswith("upper bound for configs/listed: ")
    assert "upper bound" not in told(capsys, "estimate", every)[0]


@pytest.mark.parametrize(
    ("lines", "terms"),
    [
        ("--criterion label_smoothed_cross_entropy_tlm", ["reconstruction"]),
        ("--criterion label_smoothed_cross_entropy_tlm\n--reconstruction-weight 0", []),
        ("--criterion label_smoothed_cross_entropy_instrucl", ["instrucl"]),
        (
            "--criterion label_smoothed_cross_entropy_terms\n--loss-terms instrucl,reconstruction",
            ["instrucl", "reconstruction"],
        ),
    ],
)
def test_loss_terms_cost(config, lines, terms):
    model = described()["flops"]
    added = sum(model[term]["total"] for term in terms) / model["training"]["total"]
    assert ratio_with(config, lines) == pytest.approx(1 + added)
    assert not terms or added > 0


def test_the_lexical_loss_costs_while_it_is_on(config):
    lines = "--criterion label_smoothed_cross_entropy_terms\n"
    plain, whole, part = (
        ratio_with(config, lines + more)
        for more in (
            "",
            "--loss-terms lexical\n--lexical-updates 100",
            "--loss-terms lexical\n--lexical-updates 25",
        )
    )
    assert plain < part < whole
    assert (part - plain) / (whole - plain) == pytest.approx(0.25)


def test_each_loss_term_has_a_cost(config):
    words = "--arch tdo_transformer_small --vocab-size 50 --beam 1"
    flops = model_description.describe(parsed(describe, *words.split()))["flops"]
    assert {*TERMS} - {training_hours.IN_TRAINING} <= {*flops}


def test_equal_configs_are_counted(config, capsys):
    _, row, total = told(capsys, "estimate", config, config)[0].splitlines()
    assert row.split()[:2] == ["2", "configs/one"]
    assert total.startswith("2 training runs, ") and "not a measurement" in total


def test_what_is_refused(config, refused):
    refused.rows(
        """
        estimate {config}
            --utilization 1.5     :: --utilization
            --tflops 0            :: --tflops
            --tflops nan          :: --tflops
            --source-length 0     :: --source-length
            --num-languages -1    :: --num-languages
            --num-pairs 0         :: --num-pairs
            --epoch-sentences 0   :: --epoch-sentences
            --done -1             :: --done
            --done 100            :: 100 updates
            --vocab-size 1        :: --vocab-size
            --memory 0            :: --memory
            --memory 1e3          :: --memory
            --memory 10000000000  :: --memory
            --memory              :: --memory
        """,
        config=config,
    )
    for share in ("0", "1.5", "half", ""):
        config.write_text(f"{LINES}--task tdo_robt\n--robt-share {share}\n")
        refused("estimate", config, names="--robt-share", case=share or "empty")
    config.write_text("--arch tdo_transformer\n")
    refused("estimate", config, names="--max-update", case="without an end")
