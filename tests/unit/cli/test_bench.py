"""`tdo bench` before it measures."""

import pytest

from tdo_plugin.cli import main


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["decode", "--roofline"], "`--roofline` must be left out with decode; it is given"),
        (["--roofline", "--device", "cuda"], "`--device cuda` must be left out with --roofline"),
        (["memory", "--plot", "a.svg"], "`--plot` must come with --growth; it is alone"),
        (["memory", "--rounds", "2"], "`--rounds` must be left out with memory; it is given"),
        (
            ["--roofline", "--rounds", "2"],
            "`--rounds` must be left out with --roofline; it is given",
        ),
        (
            ["half-precision", "--path", "a.pt", "--data", ".", "--size", "small"],
            "`--size` must be left out with --path",
        ),
        (["--against", "ctranslate2"], "`--against` must come with decode; it is alone"),
        (
            ["decode", "--against", "ctranslate2", "--device", "cuda"],
            "`--device cuda` must be left out with --against",
        ),
        (
            ["decode", "--against", "ctranslate2", "--plot", "a.svg"],
            "`--plot` must be left out with --against",
        ),
        (
            ["decode", "--plot", "a.svg"],
            "`--plot` must come with --growth; it is alone",
        ),
        (["--cpu-time"], "`--cpu-time` must come with --device cpu or --against; it is alone"),
        (["--rounds", "0"], "`--rounds` must be at least 1; it is 0"),
        (["--json", "nowhere/rows.json"], "`--json` must be a file in an existing folder"),
        (["--plot", "growth.gif"], "`--plot` must end in .svg or .png; it is growth.gif"),
        (["--each", "--plot", "each.svg"], "`--plot` must be left out with --each"),
        (["--precision", "fp16", "--device", "cpu"], "`--precision` must be fp32 on a CPU"),
        (["--data", "nowhere", "--device", "cpu"], "`--data` must be a text folder or a data"),
        (["--options", "'", "--device", "cpu"], "`--options` must be valid shell words"),
    ],
)
def test_mistakes_are_one_line(words, text, capsys):
    assert main(["bench", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and text in captured.err
    assert not captured.out
