"""The steps that tables require.

    data -> [made] -> training -> checkpoint -> output -> translation -> scores -> report, drawings

A training may continue another training, or start from a file that a command makes from
checkpoints. Tables share common steps.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdo_plugin.data.databin import MARK
from tdo_plugin.errors import UserError
from tdo_plugin.experiments.document import Made
from tdo_plugin.experiments.expressions import Scope
from tdo_plugin.experiments.references import referred
from tdo_plugin.experiments.steps import SCRIPT, Command, Graph, Step, device_of
from tdo_plugin.experiments.systems import ResolvedSystem, Setting
from tdo_plugin.experiments.twins import Twins
from tdo_plugin.launch.training_config import IMPORTING
from tdo_plugin.runtime.files import sha256

OWN_SCRIPT = re.compile(r"benchmarks/\w+\.py")
SELDOM = 50  # updates between two lines of a training's log, at most


@dataclass(frozen=True)
class Inputs:
    """The user's inputs besides options.

    Attributes:
        paths: paths by the names of inputs.
        lid: options of `tdo score` that choose the language detector.
    """

    paths: dict[str, Path]
    lid: Command = ()


class Plan:
    """The steps of some tables.

    Args:
        setting: scale and options.
        run: the run folder.
        inputs: the user's inputs.
        seeds: number of training runs per system.
    """

    def __init__(self, setting: Setting, run: Path, inputs: Inputs, seeds: int = 1) -> None:
        self.setting, self.inputs, self.seeds = setting, inputs, seeds
        self.graph = Graph(run)
        self._document = setting.document
        self._systems: dict[str, ResolvedSystem] = {}
        self.twins = Twins(self)

    def system(self, name: str) -> ResolvedSystem:
        """A system by its name."""
        if name not in self._systems:
            self._systems[name] = self.setting.resolve(name)
        return self._systems[name]

    # ------------------------------------------------------------------ steps

    def data(self, corpus: str) -> str:
        """The step that makes a corpus' data folder."""
        name = f"{corpus}/data"
        if name in self.graph:
            return name
        description = self._document.corpora[corpus]
        if description.data:
            mark = self.data_folder(corpus) / MARK
            return self.graph.add(Step(name, "data", (), of=sha256(mark) if mark.is_file() else ""))
        commands = self.setting.of_scale(description.make)
        if not commands:
            raise UserError(
                f"{self._document.path.name}: corpora.{corpus} must have `make` for the scale "
                f"{self.setting.scale}; it has none"
            )
        needs: list[str] = []
        references = References(self, needs, data=corpus)
        scope = self.setting.scope(description.let, f"corpora.{corpus}").referring(references)
        folder = self.folder(corpus)
        step = Step(
            name,
            "data",
            words_of(commands, scope),
            tuple(dict.fromkeys(needs)),
            (folder / "data", folder / "text"),
        )
        return self.graph.add(step)

    def data_folder(self, corpus: str) -> Path:
        """The data folder of a corpus."""
        description = self._document.corpora.get(corpus)
        if description is None or not description.data:  # a system without corpus is rejected later
            return self.folder(corpus) / "data"
        scope = self.setting.scope(description.let, f"corpora.{corpus}")
        references = References(self, [], data=corpus)
        return Path(scope.referring(references).text(description.data)).resolve()

    def folder(self, name: str) -> Path:
        """The folder of a corpus or a system."""
        return self.graph.run / name

    def training(self, name: str) -> str:
        """The step that trains a system, or an identical system."""
        name = self.twins.trained_as(name)
        system = self.system(name)
        folder = self.folder(name)
        step_name = f"{name}/training"
        if step_name in self.graph:
            return step_name
        if not system.corpus:
            raise UserError(f"{self._document.path.name}: system {name} must have a corpus")
        needs = [self.data(system.corpus)]
        references = References(self, needs, system=name)
        config = system.config(references)
        start: Command = ()
        if system.before is not None:
            start = self._start(system, references)
        file = folder / "system.conf"
        checkpoints = folder / "checkpoints"
        data = self.data_folder(system.corpus)
        command = ("train", str(file), str(data), "--save-dir", str(checkpoints))
        updates = int(float((config.flags.get("--max-update") or ["0"])[0]))
        # a slow training says soon how long it takes
        interval = min(SELDOM, updates // 100 or 1) if updates else SELDOM
        step = Step(
            step_name,
            "training",
            (command,),
            tuple(dict.fromkeys(needs)),
            (checkpoints, folder / "average.pt", folder / "output"),
            {file: "\n".join(config.lines()) + "\n"},
            start,
            checkpoints / "checkpoint_last.pt",
            "train",
            ("--log-format", "simple", "--log-interval", str(interval)),
            updates,
        )
        return self.graph.add(step)

    def _start(self, system: ResolvedSystem, references: References) -> Command:
        assert system.before is not None
        if system.continues == "restore":
            return "--restore-file", references.path("last", system.before)
        return "--finetune-from-model", references.path("checkpoint", system.before)

    def checkpoint(self, name: str) -> str:
        """The step that makes a system's tested checkpoint."""
        name = self.twins.tested_as(name)
        step_name = f"{name}/checkpoint"
        if step_name in self.graph:
            return step_name
        system = self.system(name)
        training = self.training(name)
        folder = self.folder(name)
        trained = self.folder(self.twins.trained_as(name)) / "checkpoints"
        chosen = shlex.split(system.scope.text(system.test)) or ["--last", "1"]
        command = ("average", "--path", str(trained), *chosen)
        step = Step(
            step_name,
            "checkpoint",
            ((*command, "--out", str(folder / "average.pt"), "--fresh"),),
            (training,),
            (folder / "average.pt", folder / "output"),
        )
        return self.graph.add(step)

    def description(self, name: str) -> Made:
        """The entry `made.NAME` of the experiment file."""
        if name not in self._document.made:
            raise UserError(f"{self._document.path.name}: made.{name} must exist; it does not")
        return self._document.made[name]

    def made(self, name: str, references: References, scope: Scope) -> tuple[str, Path]:
        """The step that makes a file for a system, and the file's path."""
        description = self.description(name)
        path = self.graph.place(scope.text(description.at))
        step_name = f"{path.relative_to(self.graph.run)}/made"
        needs: list[str] = []
        own = replace_needs(references, needs, path)
        commands = words_of(self.setting.of_scale(description.make), scope.referring(own))
        beside = [self.graph.place(scope.text(place)) for place in description.beside]
        step = Step(
            step_name,
            "made",
            commands,
            tuple(dict.fromkeys(needs)),
            (path, *beside),
            device=device_of(commands),
        )
        return self.graph.add(step), path


def words_of(commands: Any, scope: Scope) -> tuple[Command, ...]:
    """The words of one or several commands, each with or without a leading `tdo`.

    Commands are split before templates are filled in, so that a path may contain spaces; a word
    that is a single template with a list of words as its value becomes these words.
    """
    texts = [commands] if isinstance(commands, str) else list(commands)
    result = []
    for text in texts:
        words: list[str] = []
        for word in _split(text):
            value = scope.value(word)
            if isinstance(value, Words):
                words += value
            elif (filled := scope.text(word)) or word in ("", "''"):
                words.append(filled)
        result.append(_safe(tuple(words[1:] if words[0] == "tdo" else words)))
    return tuple(result)


def _safe(command: Command) -> Command:
    """The command; an experiment file must not run code from outside this clone.

    Raises:
        UserError: the command would run such code.
    """
    if any(word.partition("=")[0] == IMPORTING for word in command):
        raise UserError(
            f"a command of an experiment must be without `{IMPORTING}`, which imports code; it is "
            f"{shlex.join(command)}"
        )
    if command[0] == SCRIPT and not OWN_SCRIPT.fullmatch(command[1]):
        raise UserError(f"a script of an experiment must be in benchmarks/; it is {command[1]}")
    return command


class Words(list[str]):
    """Zero or more words of a command that replace a single word."""


def _split(text: str) -> list[str]:
    """The words of a command; spaces and quotes between braces belong to expressions."""
    words, word, depth, quote = [], "", 0, ""
    begun = False
    for mark in text.replace("\n", " "):
        depth += {"{": 1, "}": -1}.get(mark, 0)
        inside = depth > 0 or (mark == "}" and depth == 0)
        if inside:
            word, begun = word + mark, True
        elif quote:
            if mark == quote:
                quote = ""
            else:
                word += mark
        elif mark in "'\"":
            quote, begun = mark, True
        elif mark.isspace():
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word, begun = word + mark, True
    return [*words, word] if begun else words


class References:
    """Resolves references in templates, and collects the steps that make their files.

    Args:
        plan: the plan that has the steps.
        needs: receives the names of the steps.
        system: the system that the templates belong to.
        data: the corpus that the commands belong to.
        out: the output path, for {out}.
        further: values of further references by name.
    """

    def __init__(
        self,
        plan: Plan,
        needs: list[str],
        system: str | None = None,
        data: str | None = None,
        out: Path | None = None,
        further: dict[str, Any] | None = None,
    ) -> None:
        self.plan, self.needs = plan, needs
        self.system, self.data = system, data
        self.out, self.further = out, further or {}

    def __call__(self, expression: str, scope: Scope) -> Any:
        reference = referred(expression, scope, self.further)
        if reference is None:
            return None
        kind, name, target = reference
        if kind in self.further:
            return self.further[kind]
        if kind == "input":
            return self._input(name)
        if kind == "out":
            return str(self.out) if self.out else None
        if kind == "made":
            return self._made(name, target, scope)
        if kind in ("data", "text", "folder"):
            return self._of_corpus(kind, target)
        if kind in ("each", "scores"):
            return None
        return self.path(kind, target or self.system or "")

    def path(self, kind: str, system: str) -> str:
        """A system's tested checkpoint, its checkpoint folder, or its last checkpoint."""
        twins = self.plan.twins
        if kind == "checkpoint":
            self.needs.append(self.plan.checkpoint(system))
            return str(self.plan.folder(twins.tested_as(system)) / "average.pt")
        self.needs.append(self.plan.training(system))
        checkpoints = self.plan.folder(twins.trained_as(system)) / "checkpoints"
        return str(checkpoints / "checkpoint_last.pt" if kind == "last" else checkpoints)

    def _input(self, name: str) -> Any:
        description = self.plan.setting.document.inputs.get(name)
        if description is None:
            raise UserError(f"{self.plan.setting.document.path.name}: unknown input {name}")
        path = self.plan.inputs.paths.get(name)
        if path is None and description.needed:
            raise UserError(f"`--{name}` must be given for these rows; it is {description.help}")
        if not description.option:
            return str(path) if path else Words()
        return Words([description.option, str(path)]) if path else Words()

    def _made(self, name: str, target: str | None, scope: Scope) -> str:
        references = self
        if target is not None:
            system = self.plan.system(target)
            references = References(self.plan, self.needs, target)
            scope = system.scope.referring(references)
        step, path = self.plan.made(name, references, scope)
        self.needs.append(step)
        return str(path)

    def _of_corpus(self, kind: str, target: str | None) -> str:
        corpus = target or self.data
        if corpus is None:
            corpus = self.plan.system(self.system or "").corpus
        folder = self.plan.folder(corpus)
        if corpus != self.data:
            self.needs.append(self.plan.data(corpus))
        if kind == "data":
            return str(self.plan.data_folder(corpus))
        return str(folder if kind == "folder" else folder / kind)


def replace_needs(references: References, needs: list[str], out: Path) -> References:
    """The references with other needs and another output path."""
    plan = references.plan
    return References(plan, needs, references.system, references.data, out)
