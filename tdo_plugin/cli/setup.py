"""`tdo setup`: install what pip's resolver cannot install, and check the result."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from tdo_plugin.cli import doctor
from tdo_plugin.errors import UserError
from tdo_plugin.installation import (
    COMET,
    CONSTRAINTS,
    DIGESTS,
    FAIRSEQ,
    STARTUP,
    STARTUP_LINE,
    install_again,
    line,
    startup_file,
)

HELP = "install fairseq, which pip alone cannot resolve, and check the installation"
EXAMPLE = "tdo setup --eval"

# Packages that pip installs without an error may still fail on import.
EVAL_CHECK = (
    "import bert_score, comet, fasttext, langdetect, sacremoses, "
    "sentencepiece.sentencepiece_model_pb2; "
    "from sacrebleu.tokenizers import tokenizer_ja_mecab as ja, tokenizer_ko_mecab as ko; "
    "ja.TokenizerJaMecab(), ko.TokenizerKoMecab()"
)
NOT_FOUND = re.compile(r"No matching distribution found for (\S+)")
FAIRSEQ_CHECK = f"import {', '.join(('tdo_compat.patches', *doctor.EXTENSIONS))}"


@dataclass(frozen=True)
class Action:
    """A command of this Python that changes or checks the environment.

    Attributes:
        text: description shown to the user.
        words: arguments of the Python interpreter.
        variables: environment variables added to the current ones.
        given: standard input.
    """

    text: str
    words: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    given: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--eval",
        action="store_true",
        help="also install what `tdo score` needs beyond BLEU, chrF++ and TER: BERTScore, COMET, "
        "language detectors, Japanese and Korean tokenizers (1 GB)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only print the commands")
    parser.add_argument(
        "--remove",
        action="store_true",
        help=f"instead: remove {STARTUP}, with which each start of this Python prepares the "
        "patches of fairseq",
    )


def run(args: argparse.Namespace) -> int:
    """Install what is missing; 1 if `tdo doctor` finds something wrong afterwards."""
    if args.remove:
        return _remove_startup(args)
    with tempfile.TemporaryDirectory(prefix="tdo-setup-") as folder:
        pins = Path(folder) / "constraints.txt"
        actions = [*_fairseq(), *(_evaluation(pins) if args.eval else ())]
        if args.dry_run:
            _show(actions)
            print(f"set-up: {STARTUP} beside fairseq")
            return 0
        if actions and find_spec("pip") is None:
            raise UserError(
                f"`pip` must be installed in this Python; it is not "
                f"({shlex.quote(sys.executable)} -m ensurepip)"
            )
        pins.write_text("\n".join(_pins_of_new_packages()) + "\n", encoding="utf-8")
        for action in actions:
            _do(action)
    _write_startup()
    return _check()


def _write_startup() -> None:
    """Let each start of this Python prepare the patches of fairseq."""
    path = startup_file()
    try:
        if path.is_file() and path.read_text(encoding="utf-8") == STARTUP_LINE:
            return
        path.write_text(STARTUP_LINE, encoding="utf-8")
    except OSError as error:
        raise UserError(f"`{path}` must be writable; it is not: {error.strerror}") from None
    remove = line("tdo", "setup", "--remove")
    print(f"set-up: {path}: each start of this Python prepares the patches ({remove} undoes this)")


def _remove_startup(args: argparse.Namespace) -> int:
    if args.eval:
        raise UserError("`--eval` must be left out with `--remove`; both are given")
    path = startup_file()
    if not path.is_file():
        raise UserError(f"`--remove` must find {path}; it does not")
    if args.dry_run:
        print(f"+ rm {shlex.quote(str(path))}")
        return 0
    try:
        path.unlink()
    except OSError as error:
        raise UserError(f"`{path}` must be removable; it is not: {error.strerror}") from None
    print(f"set-up: {path} is removed")
    return 0


def _fairseq() -> list[Action]:
    """Return the actions that install fairseq; none if fairseq is installed and works."""
    if _works(FAIRSEQ_CHECK) and doctor.is_pinned(FAIRSEQ):
        print(f"set-up: {FAIRSEQ} is installed")
        return []
    tools = build_tools()
    anew = ["--force-reinstall", "--no-cache-dir"] if doctor.is_pinned(FAIRSEQ) else []
    # Versions for the isolated build as well: older pips read the first variable, newer ones the
    # second. Both are split at spaces, so the path is relative to where the command runs.
    constraints = {"PIP_CONSTRAINT": CONSTRAINTS.name, "PIP_BUILD_CONSTRAINT": CONSTRAINTS.name}
    text = f"{FAIRSEQ} (compiles for half a minute)"
    return [_checked(FAIRSEQ, text, anew, {**tools, **constraints})]


def _checked(
    package: str, text: str, options: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> Action:
    """Return the action that installs a package alone, if pip gets the file with its digest."""
    words = ["-m", "pip", "install", "--no-deps", *options, "-r", "/dev/stdin"]
    return Action(text, words, variables or {}, f"{package} --hash={DIGESTS[package]}")


def _evaluation(pins: Path) -> list[Action]:
    """Return the actions that install the extra `eval` and COMET; none if both are installed."""
    missing = {check.name for check in doctor.missing_of_evaluation()}
    if not missing:
        print(f"set-up: the evaluation is installed, with {COMET}")
        return []
    requirements = doctor.requirements_of("eval")
    if not requirements:
        raise UserError(f"`tdo_plugin` must be installed; it is not ({install_again()})")
    # Drop requirements on tdo_plugin itself, which pip would look up in a package index.
    words = ["-m", "pip", "install", "-c", str(pins), *requirements]
    packages = [Action("BERTScore, language detectors, tokenizers", words)]
    return [
        *(packages if missing - {COMET.partition("==")[0]} else ()),
        _checked(COMET, COMET),
        Action("check of the evaluation", ["-W", "ignore", "-c", EVAL_CHECK]),
    ]


def build_tools() -> dict[str, str]:
    """Return the environment variables needed to compile fairseq's three C++ modules.

    Raises:
        UserError: there is no compiler, or the Python headers are missing.
    """
    names = (os.environ.get("CXX", "c++").split()[0], "c++", "g++", "clang++")
    compiler = next(filter(shutil.which, names), None)
    if compiler is None:
        raise UserError(
            "`c++` must be a C++ compiler, to compile fairseq; none is installed "
            "(Debian, Ubuntu: apt-get install g++)"
        )
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.is_file():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise UserError(
            f"`{header}` must be there, to compile fairseq; the headers of Python {version} are "
            f"not installed (Debian, Ubuntu: apt-get install python{version}-dev)"
        )
    # By default, extensions are built with the compiler that Python was built with.
    usual = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return {} if shutil.which(usual.split()[0]) else {"CC": compiler, "CXX": compiler}


def _pins_of_new_packages() -> list[str]:
    """Pin packages that are not installed yet, so that installed packages keep their versions."""
    names = (distribution.metadata["Name"] for distribution in metadata.distributions())
    # Leftovers of an interrupted pip have no name.
    installed = {name.lower().replace("_", "-") for name in names if name}
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    return [
        pin for pin in lines if pin.partition("==")[0].lower().replace("_", "-") not in installed
    ]


def _works(code: str) -> bool:
    """Whether this code runs without an error in a new Python process."""
    words = [sys.executable, "-W", "ignore", "-c", code]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _show(actions: Sequence[Action]) -> None:
    for action in actions:
        print(f"set-up: {action.text}")
        settings = [f"{name}={value}" for name, value in action.variables.items()]
        if settings:
            print(f"+ cd {shlex.quote(str(CONSTRAINTS.parent))}")
        words = [*(["env", *settings] if settings else []), sys.executable, *action.words]
        given = f"echo {shlex.quote(action.given)} | " if action.given else ""
        print(f"+ {given}{shlex.join(words)}")


def _do(action: Action) -> None:
    """Run a command without showing its output.

    Raises:
        UserError: the command failed; the message names the file with its output.
    """
    print(f"set-up: {action.text}", flush=True)
    quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    done = subprocess.run(
        [sys.executable, *action.words],
        cwd=CONSTRAINTS.parent if action.variables else None,
        env={**os.environ, **quiet, **action.variables},
        input=action.given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return
    if missing := NOT_FOUND.search(done.stdout):
        raise UserError(
            f"`{missing[1]}` must come from a package index; pip finds it in no index that it can "
            f"reach ({line('pip', 'config', 'list')} shows the configured indexes)"
        )
    lines = [text.strip() for text in done.stdout.splitlines() if text.strip()]
    errors = [text for text in lines if text.lower().startswith("error")] or lines
    said = errors[-1] if errors else f"exit code {done.returncode}"
    with tempfile.NamedTemporaryFile(
        "w", prefix="tdo-setup-", suffix=".log", delete=False, encoding="utf-8"
    ) as log:
        log.write(done.stdout)
    raise UserError(f"`{action.text}` must succeed; it says {said} (full output: {log.name})")


def _check() -> int:
    """Run `tdo doctor` in a new Python process and print the problems that it finds."""
    words = [sys.executable, "-m", "tdo_plugin", "doctor", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    try:
        checks = [doctor.Check(**check) for check in json.loads(done.stdout)["checks"]]
    except ValueError:
        said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise UserError(f"`tdo doctor` must succeed; it says {said}") from None
    for check in checks:
        if check.status == "wrong":
            doctor.show(check)
    wrong = done.returncode != 0
    print("set-up: something is wrong: see the lines above" if wrong else "set-up: done")
    return done.returncode
