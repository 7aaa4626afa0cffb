"""The scripts: every command that they print is one that fairseq understands, and they run.

They run from a copy of scripts/ whose set-up does nothing and whose .venv is the environment of
these tests. What tables' scripts come to is in tests/tables.
"""

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from support.commands import shown_commands
from support.configs import ROOT, torchrun
from support.data import NUMBERS
from support.processes import finished, heard
from support.scripts import script
from support.trainings import saved

CONFIG = "quickstart/prefix-decoder-only"


SCRIPTS = "preprocess train slurm generate quickstart multi30k reproduce real-setup"


@pytest.mark.parametrize("name", [f"{name}.sh" for name in SCRIPTS.split()])
def test_help_explains_the_script(clone, name):
    output = script(clone, name, "--help").stdout
    assert ("TDO_TORCH" if "setup" in name else f"scripts/{name}") in output
    assert "--dry-run" in output
    elsewhere = subprocess.run(
        ["bash", name, "--help"], cwd=clone / "scripts", capture_output=True, text=True, check=False
    )
    assert elsewhere.stdout == output


def test_a_dry_set_up_installs_nothing(clone, tmp_path):
    bare = tmp_path / "bare clone"
    shutil.copytree(clone / "scripts", bare / "scripts")
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, bare)
    shutil.move(bare / "scripts" / "real-setup.sh", bare / "scripts" / "setup.sh")
    commands = shown_commands(script(bare, "setup.sh", "--dry-run").stdout)
    assert commands[0] == [sys.executable, "-m", "venv", "--clear", ".venv"]
    pip = [words[3:] for words in commands if words[1:3] == ["-m", "pip"]]
    (project,) = (words for words in pip if words[0] == "install")
    pins = "--no-compile -c .venv/constraints.txt torch==2.13.0"
    extras = "report,tensorboard,corpora,completion,pretrained,export,serve,docs,dev"
    assert project == f"install {pins} -e .[{extras}]".split()
    *_, bytecode, setup = commands
    assert setup[1:] == ["-m", "tdo_plugin", "setup"] and bytecode[1] == "-c"
    assert not (bare / ".venv").exists()
    whole = shown_commands(script(bare, "setup.sh", "--dry-run", "--eval").stdout)
    more, eval_setup = (words for words in whole if words not in commands)
    assert more[-1] == f".[{extras},eval]" and eval_setup == [*setup, "--eval"]
    assert len(whole) == len(commands) and not (bare / ".venv").exists()
    settings = {"TDO_TORCH": "torch==2.11.0 --index-url there"}  # first, alone, without our pins
    commands = shown_commands(script(bare, "setup.sh", "--dry-run", **settings).stdout)
    (chosen,) = (words for words in commands if words[0] == "env")
    assert chosen[-4:] == ["--no-compile", "torch==2.11.0", "--index-url", "there"]
    assert not any("torch==2.13.0" in words for words in commands)
    (bare / ".venv").mkdir()
    (bare / ".venv" / "chosen-eval").write_text("eval\n")
    assert shown_commands(script(bare, "setup.sh", "--dry-run").stdout) == whole
    shutil.rmtree(bare / ".venv")
    wrong = script(bare, "setup.sh", "--dry", code=1).stderr
    assert wrong == "setup.sh: error: `--dry` is not an option of this script; --help lists them\n"


TIERS = {
    "--unit": ["tests/unit", "tests/parity", "-m", "not full"],
    "": ["-m", "not full"],
    "--full": [],
}


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_of_the_tests(clone, tier):
    words = [*filter(None, [tier]), "--dry-run", "-k", "x or y"]
    shown = shown_commands(script(clone, "test.sh", *words).stdout)
    assert shown[0] == ["bash", str(clone / "scripts" / "setup.sh"), "--eval"]
    types = [] if tier == "--unit" else [[".venv/bin/mypy"]]
    *checks, tests = shown[1:]
    assert checks[2:] == types
    assert [words[1:] for words in checks[:2]] == [["check", "."], ["format", "--check", "."]]
    assert tests[1:7] == ["-m", "pytest", "-n", "2", "--dist", "worksteal"]
    assert tests[7:] == [*TIERS[tier], "-k", "x or y"]


@pytest.mark.parametrize(("types", "tests", "code"), [(0, 0, 0), (1, 0, 1), (0, 5, 5), (2, 5, 1)])
def test_wrong_types_and_failed_tests_both_count(types, tests, code, clone, tmp_path):
    """Though they are checked at the same time, and the tests go on."""
    folder = tmp_path / "clone"
    shutil.copytree(clone / "scripts", folder / "scripts")
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name, ends in {"ruff": 0, "mypy": types, "python": tests}.items():
        program = folder / ".venv" / "bin" / name
        program.write_text(f'#!/bin/sh\necho "{name} has run"\nexit {ends}\n')
        program.chmod(0o755)
    words = ["bash", folder / "scripts" / "test.sh"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert {"mypy has run", "python has run"} <= set(done.stdout.splitlines())
    assert ("mypy failed" in done.stdout) == bool(types)


def test_dry_runs_print_and_touch_nothing(clone, data, tmp_path):
    config = "tdo/ted19/tdo-prefix"
    printed = script(
        clone, "train.sh", config, data.root, "--gpus", 2, "--dry-run", "--seed", 7, cwd=tmp_path
    )
    (command,) = shown_commands(printed.stdout)
    assert command[:4] == ["torchrun", "--standalone", "--nproc-per-node", "2"]
    assert command[-2:] == ["--seed", "7"]
    assert torchrun(command).nproc_per_node == "2"
    assert "2 GPU(s) x 4000 tokens x update-freq 4 = 32000 tokens" in printed.stdout
    slurm = script(
        clone, "train.sh", config, data.root, "--gpus", 4, "--nodes", 2, "--slurm", "--dry-run"
    )
    printed_script = slurm.stdout[slurm.stdout.index("#!") :].replace("\\\n", "")
    assert {"#SBATCH --nodes=2", "#SBATCH --gpus-per-node=4"} <= set(printed_script.splitlines())
    inner = shlex.split(re.search(r"-m tdo_plugin train (.*?) \|\|", printed_script, re.S)[1])  # type: ignore[index]
    assert inner[-2:] == ["--rendezvous", "$rendezvous"]
    node = script(clone, "train.sh", *inner[:-1], "first:29500", "--dry-run")
    (command,) = shown_commands(node.stdout)
    launcher = torchrun(command)
    assert (launcher.nnodes, launcher.rdzv_endpoint) == ("2", "first:29500")
    assert not list(tmp_path.iterdir())
    checkpoint = saved(tmp_path / "m.pt", langs=["en", "de", "fr"])
    words = [data.root, "--path", checkpoint, "--out", "o", "--cpu", "--dry-run"]
    assert len(shown_commands(script(clone, "generate.sh", *words, cwd=tmp_path).stdout)) == 6
    assert [path.name for path in tmp_path.iterdir()] == ["m.pt"]


SLURM = {
    "sbatch": """
export SLURM_JOB_NODELIST=two
until bash "$1"; do [[ $(wc -l <"$SEEN") == "${turn:=1}" && $turn == 1 ]] || exit; turn=2; done
""",
    "srun": """
shift
"$@" & one=$!
"$@" & two=$!
code=0
wait $one || code=$?
wait $two || code=$?
exit $code
""",
    "scontrol": 'if [[ $1 == show ]]; then echo 127.0.0.1; else echo "$@" >>"$SEEN"; fi',
}


@pytest.mark.full
def test_slurm_trains_in_two_turns(clone, tmp_path):
    """Stand-ins for Slurm's commands; its warning comes to the launcher of one machine of two."""
    from support.commands import logged
    from support.ending import FLAGS, free_port, trouble
    from support.prepared import prepared

    tools = tmp_path / "tools"
    tools.mkdir()
    for name, body in SLURM.items():
        (tools / name).write_text(f"#!/usr/bin/env bash\n{body}")
        (tools / name).chmod(0o755)
    config, seen = tmp_path / "small.conf", tmp_path / "seen"
    seen.touch()
    words = [word for word in FLAGS if word != "--cpu"]
    starts = [place for place, word in enumerate(words) if word.startswith("--")]
    lines = [words[a:b] for a, b in itertools.pairwise([*starts, len(words)])]
    config.write_text("gpus 2\n" + "\n".join(map(shlex.join, lines)))
    common = [config, prepared().root, "--cpu", "--langs", "en,de,fr", "--disable-validation"]
    common += ["--lang-pairs", "en-de,de-en", "--max-tokens", 300, "--max-update", 6]
    common += ["--update-freq", 1]
    expected = script(clone, "train.sh", *common, "--save-dir", tmp_path / "one", "--workers", 2)
    save = tmp_path / "a folder"
    words = [*common, "--save-dir", save, "--nodes", 2, "--sbatch=--time=9"]
    code = "os.kill(os.getppid(), signal.SIGTERM); time.sleep(3)"  # until it has been handed on
    words += trouble(tmp_path, code, update=2)
    settings = {"PATH": f"{tools}:{os.environ['PATH']}", "SEEN": seen}
    settings["SLURM_JOB_ID"] = 40000 + free_port() - 20000
    shown = script(clone, "slurm.sh", *words, "--dry-run", **settings)
    assert not save.exists()
    done = script(clone, "slurm.sh", *words, **settings)
    assert shown.stdout.endswith((save / "slurm.sh").read_text())
    assert seen.read_text() == f"requeue {settings['SLURM_JOB_ID']}\n"
    assert done.stderr.count("ended by a signal after update") == 1
    assert logged(done.stdout, "loss") == logged(expected.stdout, "loss")
    assert len(logged(done.stdout, "loss")) == 6


def test_multi30k_trains_some_rows_unless_others_are_named(clone):
    words = ["--form", "disjoint", "--average", 5, "--dry-run"]
    usual = script(clone, "multi30k.sh", *words).stdout
    names = re.findall(r"--save-dir \S*/disjoint/(\S+)/checkpoints", usual)
    assert names == ["transformer", "prefix-decoder-only", "tdo+instrucl-recipe"]
    assert "--variant disjoint" in usual and usual.count("--last 5") == 3
    words += ["--rows", "tdo-adaptation-instrucl-authors"]
    assert script(clone, "multi30k.sh", *words).stdout.count("+ tdo train") == 1


BUILDING = """
import os, shlex, sys
from fairseq import options
from tdo_plugin.models.config import spec_from_args
from tdo_plugin.modules.builder import Builder
for line in sys.stdin:
    name, command = line.split(" ", 1)
    os.environ["SOURCE_READING"] = name
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, shlex.split(command)[1:])
    builder = Builder
    if args.arch == "tdo_source_reading":
        from source_reading import ReadingBuilder as builder
    spec = spec_from_args(args)
    model = builder(spec, 1).build(20, 20)
    print(name, spec.topology, spec.adaptation_dim, args.max_update, type(model).__name__)
"""


@pytest.mark.full
def test_the_experiments_models_can_be_built(data, tmp_path):
    run = ROOT / "benchmarks" / "source_reading" / "run.py"
    words = [sys.executable, run, data.root, "--updates", "400", "--dry-run"]
    printed = heard(finished(words, cwd=tmp_path))
    names = re.findall(r"^with SOURCE_READING=(\S+)", printed, re.M)
    commands = [shlex.join(command) for command in shown_commands(printed)]
    assert len(set(names)) == len(names) == len(commands) == 9
    built = subprocess.run(
        [sys.executable, "-c", BUILDING],
        input="\n".join(f"{name} {command}" for name, command in zip(names, commands, strict=True)),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert built.returncode == 0, built.stderr
    for name, line in zip(names, built.stdout.splitlines(), strict=True):
        topology = "encoder-decoder" if name == "encoder-decoder" else "decoder-only"
        assert line.startswith(f"{name} {topology} 0 400 "), line
    assert not list(tmp_path.iterdir())


def test_precision_follows_the_machine(data, capsys):
    from tdo_plugin.cli import main

    train = ["train", CONFIG, str(data.root), "--dry-run"]
    for words, flag in (
        (["--cpu", "--precision", "fp32"], None),
        (["--cpu", "--bf16"], "--bf16"),
        (["--cpu", "--precision", "bf16"], "--bf16"),
        (["--gpus", "1", "--precision", "fp16"], "--fp16"),
    ):
        assert main([*train, *words]) == 0
        (command,) = shown_commands(capsys.readouterr().out)
        assert {"--fp16", "--bf16"} & set(command) == ({flag} if flag else set())


def test_a_training_gets_the_variables_that_are_printed(data, tmp_path, monkeypatch, capsys):
    from tdo_plugin.cli import main
    from tdo_plugin.launch.environment import KEEP_MEMORY

    for name in [name for name in os.environ if name.startswith(("GLIBC_TUNABLES", "MALLOC_"))]:
        monkeypatch.delenv(name)
    seen: list[dict[str, str]] = []

    def become(file: str, words: list[str], environment: dict[str, str]) -> None:
        seen.append(environment)
        raise SystemExit

    monkeypatch.setattr(os, "execvpe", become)
    with pytest.raises(SystemExit):
        main(["train", CONFIG, str(data.root), "--cpu", "--save-dir", str(tmp_path / "s")])
    assert f"with GLIBC_TUNABLES={KEEP_MEMORY}\n+ fairseq-train" in capsys.readouterr().out
    assert [environment["GLIBC_TUNABLES"] for environment in seen] == [KEEP_MEMORY]


@pytest.mark.long
def test_text_to_table(clone, tmp_path):
    """Own text, prepared, trained, decoded and scored with the scripts alone."""
    words = {language: numbers.split() for language, numbers in NUMBERS.items()}
    text, run = tmp_path / "text", tmp_path / "run"
    text.mkdir()
    meanings = list(itertools.product(range(7), repeat=3))

    def write(name: str, language: str, chosen: list[tuple[int, ...]]) -> None:
        lines = (" ".join(words[language][digit] for digit in meaning) for meaning in chosen)
        (text / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    for target in ("de", "fr"):
        for language in ("en", target):
            write(f"train.en-{target}.{language}", language, meanings[:300])
            write(f"valid.en-{target}.{language}", language, meanings[300:310])
    for language in ("en", "de", "fr"):
        write(f"test.{language}", language, meanings[310:316])
    preprocess = ["preprocess.sh", text, run / "data", "--vocab-size", 60]
    shown = shown_commands(script(clone, *preprocess, "--dry-run").stdout)
    assert not run.exists()
    made = shown_commands(script(clone, *preprocess).stdout)
    assert [words[:9] for words in made] == [words[:9] for words in shown]
    assert len([words for words in made if words[0] == "fairseq-preprocess"]) == 3
    again = script(clone, *preprocess).stdout
    assert "is already complete" in again and not shown_commands(again)
    refused = script(clone, *preprocess[:-1], 50, code=2)
    assert "must be a new folder, or `--fresh` given" in refused.stderr

    config = "quickstart/tdo-instrucl"
    script(
        clone, "train.sh", config, run / "data", "--cpu", "--save-dir", run / "save",
        "--max-update", 3, "--tdo-layers", 2, "--tdo-target-layer", 1, "--instrucl-layer", 2,
        "--num-workers", 0,
    )  # fmt: skip
    checkpoint = run / "save" / "checkpoint_last.pt"
    arguments = ["generate.sh", run / "data", "--path", checkpoint, "--out", run / "out", "--cpu"]
    arguments += ["--beam", 1, "--pairs", "en-de,de-fr", "--max-len-b", 5, "--whole-search"]
    assert "2 of 2 directions," in script(clone, *arguments).stderr
    assert "2 of 2 directions are already complete" in script(clone, *arguments).stderr
    scores = run / "report" / "scores.json"
    systems = [f"tdo={run / 'out'}", "--data", run / "data", "--directions", "en-de,de-fr"]
    for command in (["score", *systems], ["report", scores]):
        words = [sys.executable, "-m", "tdo_plugin", *map(str, command), "--out"]
        done = subprocess.run(
            [*words, str(run / "report")], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert "zero-shot" in done.stdout and (run / "report" / "index.html").is_file()
