"""Data, conversions and estimates of the TDO paper's scripts, by their functions."""

import shlex
import subprocess
from pathlib import Path

DATA = """
source {clone}/scripts/tables/tdo.sh
run={run} pieces=100
tdo() {{ echo "$*"; }}
kind={kind}
"""


def said(clone: Path, run: Path, kind: str, body: str) -> list[str]:
    """The `tdo` commands of a script's functions, which run nothing."""
    for folder in ("ted19", "m2m-418m/converted"):
        (run / folder).mkdir(parents=True)
    text = DATA.format(clone=shlex.quote(str(clone)), run=shlex.quote(str(run)), kind=kind) + body
    result = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def test_what_stands_for_a_pretrained_model_is_not_in_the_estimate(
    clone: Path, tmp_path: Path
) -> None:
    """It is of fairseq's own architecture; others go on from it with updates from 0."""
    body = "rows=(m2m-418m/tdo m2m-418m/decoder-only) names=(a b)\n"
    body += "scale_$kind; choose_systems all; estimate_hours"
    first, second = said(clone, tmp_path, "toy", body)
    assert first == "m2m-418m/original: not in the estimate"
    command, *paths = second.split(" --")[0].split()
    assert command == "estimate" and [Path(path).name for path in paths] == [
        "tdo.conf", "decoder-only.conf"
    ]  # fmt: skip
    assert second.endswith(" --vocab-size 1600 --done 0")


def test_another_form_makes_other_data(clone: Path, tmp_path: Path) -> None:
    body = "rows=(ted19/tdo-prefix)\nfor form in shared shared disjoint; do prepare_data; done"
    first, second = said(clone, tmp_path, "multi30k", body)
    assert "disjoint" not in first and second.endswith("--variant disjoint")


def test_pretrained_rows_may_come_one_after_the_other(clone: Path, tmp_path: Path) -> None:
    body = "originals=/originals\n"
    body += "for row in tdo tdo encoder-decoder; do rows=(m2m-418m/$row); prepare_data; done\n"
    body += "encoder=decoder:1-6; prepare_data"
    lines = said(clone, tmp_path, "full", body)
    assert [line.split()[0] for line in lines] == [
        *("convert", "prepare", "convert"),  # the second time there is nothing to do
        "convert",  # data are the same, whatever the encoder begins with
    ]
    assert [line.partition("--to ")[2].split()[0] for line in lines if "--to" in line] == [
        *("tdo_transformer", "tdo_encoder_decoder", "tdo_encoder_decoder")
    ]
