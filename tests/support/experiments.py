"""A small file of experiments that trains nothing by itself, and what runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import experiment_stand_in

from tdo_plugin.experiments import runner
from tdo_plugin.experiments.document import Document
from tdo_plugin.experiments.document_reader import read_document
from tdo_plugin.experiments.library import setting_of
from tdo_plugin.experiments.plan import Inputs, Plan
from tdo_plugin.experiments.tables import PlannedTable

TEXT = """\
title = "Two systems"

[let]
N = 6
layer = "{(3 * N + 1) // 2}"
direction = ""
way = "en-{each}"

[options.form]
help = "of the data"
choices = ["shared", "disjoint"]
default = "shared"
scales = ["toy"]

[options.losses]
choices = ["paper", "authors"]
default = { full = ["paper", "authors"], toy = "authors" }
labels = { paper = ", paper's form", authors = ", authors' form" }

[inputs.from]
help = "a folder with archives"
option = "--from-file"

[scales.toy]
help = "small"
test = "--last 1"
label = "like {label}"
let = { N = 3, updates = 100, updates_of = 50, others = ["de", "fr"] }
flags = { lr = 0.01, max-update = "{updates}" }

[scales.smoke]
help = "tiny"
base = "toy"
let = { updates = 2, others = ["de"] }

[scales.full]
help = "the paper's"
let = { others = ["de", "fr", "cs"] }

[corpora.text]
make.toy = ["tdo corpus --out {text}", "tdo preprocess {text} {data} --pairs {form}"]
make.full = "tdo prepare ted19 --out {data} {input.from}"

[made.masks]
at = "masks/{threshold}.masks"
make = "tdo neurons allocate {checkpoint:{before}} --threshold {threshold} --out {out}"

[axes.size.small]
flags.tdo-ffn-dim = 8
[axes.size.wide]
flags.tdo-ffn-dim = 16

[flags]
gpus = 8
precision = "fp16"
task = "tdo_translation"
lr = 0.0005                               # (paper)

[systems.base]
corpus = "text"
flags.tdo-layers = "{2 * N}"

[systems.tdo]
base = ["base"]
flags.tdo-target-layer = "{N}"

[systems.one]
base = ["base"]
flags.lang-pairs = "{direction}"

[systems.instrucl]
flags.instrucl-layer = "{layer}"
[[systems.instrucl.when]]
losses = "authors"
flags.instrucl-weighting = "tag-share"
[[systems.instrucl.when]]
scale = "toy"
flags.lr = 0.02

[systems.robt]
continues = "restore"
flags.max-update = 600000
[[systems.robt.when]]
scale = "toy"
flags.max-update = "{updates * 2}"

[systems.masked]
continues = "finetune"
let.threshold = 0.7
flags.tdo-neuron-masks = "{made.masks}"

[systems.large]
base = ["tdo"]
flags.dropout = 0.3
scales = ["full"]

[tables.table1]
title = "all"
directions = "en-*"
baseline = "*ase"
[tables.table1.rows]
"base" = "plain"
"tdo" = "two stages, M = {N} of {2 * N}"
"tdo+instrucl" = "InstruCL at {layer}"
"large" = "large"

[tables.parts]
title = "one model for each direction"
[tables.parts.rows]
each = { label = "apart", each = "{others}", system = "one+direction={way}", directions = "{way}" }
"tdo+masked+threshold=0.5" = "masked"
"tdo+robt" = "ROBT"
[[tables.parts.draw]]
out = "curve"
rows = ["tdo*"]
each = "{label}={checkpoints}/validation.jsonl"
make = "tdo curve updates {each} --out {out}.svg"

[tables.sweep]
title = "M and the FFN"
system = "tdo"
axes = ["size"]
label = "{size}"
score = false
[tables.sweep.rows]
"tdo+N={row}" = { label = "N = {row}", rows = [1, 3, 4] }
"tdo" = "the same as one above at toy"
"""


def document(folder: Path, text: str = TEXT) -> Document:
    """The file, read."""
    folder.mkdir(exist_ok=True)
    path = folder / "mine.toml"
    path.write_text(text)
    return read_document(path)


def plan(folder: Path, scale: str = "toy", seeds: int = 1, text: str = TEXT, **given: str) -> Plan:
    """A plan of it; the run's folder is below this one."""
    setting = setting_of(document(folder, text), scale, given)
    return Plan(setting, folder / "run", Inputs({}), seeds)


def planned(folder: Path, table: str, scale: str = "toy", seeds: int = 1, *rows: str, **given: str):
    """One of its tables; ``text`` may be that of another file."""
    return PlannedTable(plan(folder, scale, seeds, **given), table, rows)


STAND_IN = (sys.executable, experiment_stand_in.__file__)


def use_stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let commands be `experiment_stand_in`, noted in this folder."""
    monkeypatch.setattr(runner, "TDO", STAND_IN)
    monkeypatch.setenv("NOTES", str(folder / "notes"))
    monkeypatch.delenv("SLURM_JOB_NUM_NODES", raising=False)


STARTED = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from support.experiments import STAND_IN, planned
from tdo_plugin.experiments import runner, slurm_jobs
from tdo_plugin.experiments.machine import Machine
runner.TDO = STAND_IN
slurm_jobs.BEAT, slurm_jobs.EVERY, slurm_jobs.LOST = 0.05, 0.1, 0.3
table = planned(Path(sys.argv[3]), sys.argv[4], "toy", 1, *sys.argv[5:])
slurm, here = Machine.of_slurm(2, 2, None, ["--time=9"]), Machine.of(0, 2, 1, 1)
machine = slurm if sys.argv[2] == "slurm" else here
print(runner.Runner(table.plan.graph, machine, print).run(table.goals))
"""


def started(where: str, folder: Path, table: str, *rows: str) -> "subprocess.Popen[bytes]":
    """A run in a process of its own, "here" or by "slurm"."""
    tests = Path(__file__).parents[1]
    words = [sys.executable, "-c", STARTED, str(tests), where, str(folder), table, *rows]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL)


def noted(folder: Path) -> list[list[str]]:
    """The commands that `experiment_stand_in` was called with, in their order."""
    notes = folder / "notes"
    return [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []
