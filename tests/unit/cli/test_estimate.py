"""`tdo estimate`: GPU hours from FLOPs."""

from pathlib import Path

import pytest
from support.commands import told

from tdo_plugin.cli import estimate, main
from tdo_plugin.costs import training_hours
from tdo_plugin.costs.model_description import describe
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
def config(tmp_path: Path) -> Path:
    path = tmp_path / "one.conf"
    path.write_text(LINES)
    return path


def made(path: Path, *words: str) -> training_hours.Estimate:
    import argparse

    parser = argparse.ArgumentParser()
    estimate.add_arguments(parser)
    args = parser.parse_args([str(path), "--vocab-size", "50", *words])
    assumed = training_hours.assumptions(args)
    return training_hours.estimate(path.stem, read_config(path), assumed)


def described() -> dict:
    import argparse

    from tdo_plugin.cli import describe as command

    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    words = "--arch tdo_encoder_decoder_small --tdo-encoder-layers 1 --vocab-size 50 --beam 1"
    return describe(parser.parse_args([*words.split(), "--source-length", "20"]))


def test_hours_are_flops_of_all_sentences_by_the_assumed_speed(config: Path) -> None:
    model = described()
    cost = made(config, "--source-length", "20", "--tflops", "2", "--utilization", "0.5")
    sentences = 100 * 2 * 300 * 5 / 30  # by the longer side
    assert cost.flops == pytest.approx(sentences * model["flops"]["training"]["total"], rel=1e-12)
    assert cost.hours == pytest.approx(cost.flops / 1e12 / 3600, rel=1e-12)
    assert (cost.parameters, cost.updates) == (model["total_parameters"], 100)
    assert made(config, "--done", "60").updates == 40


def test_epochs_have_as_many_sentences_as_is_said(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(LINES.replace("--max-update 100", "--max-epoch 3"))
    # an update holds 2 * 300 * 5 / 30 = 100 sentences
    assert made(config, "--epoch-sentences", "1000").updates == 30
    assert made(config, "--epoch-sentences", "1010").updates == 31
    assert main(["estimate", str(config)]) == 2
    assert "`--epoch-sentences` must be given" in capsys.readouterr().err


@pytest.mark.parametrize(("lines", "share"), [("", 1), ("--robt-share 0.25\n", 0.25)])
def test_robt_trains_twice_and_decodes_once(
    config: Path, tmp_path: Path, lines: str, share: float
) -> None:
    """The sentences that are translated back."""
    robt = tmp_path / "robt.conf"
    robt.write_text(f"include one.conf\n--task tdo_robt\n{lines}")
    model = described()["flops"]
    ratio = made(robt, "--source-length", "20").flops / made(config, "--source-length", "20").flops
    decoded = model["generation"]["total"] / model["training"]["total"]
    assert ratio == pytest.approx(1 + share * (1 + decoded))


def test_listed_targets_make_it_an_upper_bound(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed, every = tmp_path / "listed.conf", tmp_path / "every.conf"
    every.write_text("include one.conf\n--task tdo_robt\n")
    listed.write_text("include every.conf\n--robt-targets listed\n")
    assert made(listed).flops == made(every).flops
    assert main(["estimate", str(listed), str(every), str(config)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"upper bound for {tmp_path.name}/listed: ")
    assert main(["estimate", str(every)]) == 0
    assert "upper bound" not in capsys.readouterr().out


@pytest.mark.parametrize("share", ["0", "1.5", "half", ""])
def test_a_share_that_is_none_is_refused(
    config: Path, capsys: pytest.CaptureFixture[str], share: str
) -> None:
    config.write_text(f"{LINES}--task tdo_robt\n--robt-share {share}\n")
    assert main(["estimate", str(config)]) == 2
    errors = capsys.readouterr().err
    assert f"`--robt-share` must be above 0 and at most 1; it is {share}" in errors
    assert errors.count("\n") == 1


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
def test_loss_terms_cost(config: Path, tmp_path: Path, lines: str, terms: list[str]) -> None:
    more = tmp_path / "more.conf"
    more.write_text(f"include one.conf\n{lines}\n")
    model = described()["flops"]
    added = sum(model[term]["total"] for term in terms) / model["training"]["total"]
    ratio = made(more, "--source-length", "20").flops / made(config, "--source-length", "20").flops
    assert ratio == pytest.approx(1 + added)
    assert not terms or added > 0


def test_equal_configs_are_counted(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", str(config), str(config)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[1].split()[:2] == ["2", f"{config.parent.name}/one"]
    assert lines[2].startswith("2 training runs, ") and "not a measurement" in lines[2]


FROM_1 = "must be a whole number from 1 to 1,000,000,000"
BAD = ("x", "0", "-1", "1.5", "1e3", "10000000000")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--utilization", "1.5"], "`--utilization` must be above 0 and at most 1; it is 1.5"),
        (["--tflops", "0"], "`--tflops` must be a number above 0; it is 0"),
        (["--tflops", "nan"], "`--tflops` must be a number above 0; it is nan"),
        (["--source-length", "0"], f"`--source-length` {FROM_1}; it is 0"),
        (["--target-length", "x"], f"`--target-length` {FROM_1}; it is x"),
        (["--num-languages", "-1"], f"`--num-languages` {FROM_1}; it is -1"),
        (["--num-pairs", "0"], f"`--num-pairs` {FROM_1}; it is 0"),
        (["--epoch-sentences", "0"], f"`--epoch-sentences` {FROM_1}; it is 0"),
        (["--done", "-1"], "`--done` must be a whole number from 0 to 1,000,000,000; it is -1"),
        (["--done", "100"], "`--done` must be below the 100 updates of "),
        (["--vocab-size", "1"], "`--vocab-size` must be a whole number from 4 to 1,000,000,000; "),
        *((["--memory", text], f"`--memory` {FROM_1}; it is {text}") for text in BAD),
        (["--memory"], "`--memory` must have a value; it has none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(
    config: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    _, errors = told(capsys, "estimate", config, *words, code=2)
    assert message in errors and errors.count("\n") == 1


def test_a_training_without_an_end_is_refused(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text("--arch tdo_transformer\n")
    assert main(["estimate", str(config)]) == 2
    assert "`--max-update` must be in" in capsys.readouterr().err
