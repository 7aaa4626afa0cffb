"""Flags of every system of the papers' tables, against what they were before files of experiments.

``golden_flags/PAPER.SCALE.json`` was written from dry runs of the scripts and config files that
these tables had at first: what each training's flags came to, the last value of each. A number is
as Python has it, and a path is PATH.
"""

import json
from pathlib import Path

import pytest

from tdo_plugin.experiments.library import find, setting_of
from tdo_plugin.experiments.plan import Inputs, Plan, References

GOLDEN = sorted((Path(__file__).parent / "golden_flags").glob("*.json"))
OF_A_RUN = ("tdo-neuron-masks", "monolingual", "back-translated")  # paths in the run's folder


def normal(value: str) -> str:
    try:
        return repr(float(value))
    except ValueError:
        return value


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_they_are_as_they_were(path: Path, subtests: pytest.Subtests) -> None:
    paper, scale = path.stem.split(".")
    document = find(paper)
    given = {name: Path("/given") for name, told in document.inputs.items() if told.needed}
    golden = json.loads(path.read_text())
    plan = Plan(setting_of(document, scale, {}), Path("/run"), Inputs(given))
    assert len(golden["systems"]) > 10
    for name, flags in golden["systems"].items():
        with subtests.test(system=name):
            config = plan.system(name).config(References(plan, [], name))
            found = {
                flag.removeprefix("--"): " ".join(map(normal, values))
                for flag, values in config.flags.items()
                if flag != "--finetune-from-model"
            }
            found |= {flag: "PATH" for flag in OF_A_RUN if flag in found}
            found |= {
                "gpus": str(config.gpus),
                "precision": config.precision,
                "directions": config.directions,
            }
            assert found == {**golden["common"], **flags}


def test_there_are_flags_of_each_paper_and_scale() -> None:
    papers = ("neurons", "opus100", "tdo", "tlm", "tpdm")
    scales = ("full", "multi30k", "toy")
    assert [path.stem for path in GOLDEN] == [f"{p}.{s}" for p in papers for s in scales]
