"""Identical systems, which are trained and tested once.

A training or test that several systems of a file share is named after the first of them in the
file, regardless of the requested tables, so that later runs find it again.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tdo_plugin.experiments.expressions import Scope
from tdo_plugin.experiments.references import referred
from tdo_plugin.experiments.rows import systems_of

if TYPE_CHECKING:
    from tdo_plugin.experiments.plan import Plan


class Twins:
    """The first of identical systems.

    Args:
        plan: the plan that has the systems.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._trainings: dict[str, Hashable] = {}

    def trained_as(self, name: str) -> str:
        """The first system with the same training: equal corpus, flags and start."""
        return self._trained.setdefault(self.training(name), name)

    def tested_as(self, name: str) -> str:
        """The first system with the same tested checkpoint and translations."""
        return self._tested.setdefault(self.test(name), name)

    def training(self, name: str) -> Hashable:
        """A key of a system's training; equal keys mean the same training."""
        if name not in self._trainings:
            system = self._plan.system(name)
            lines = sorted(system.config(self.described).lines())
            before: Hashable = None
            if system.before is not None:
                begins_with = self.training if system.continues == "restore" else self.test
                before = (system.continues, begins_with(system.before))
            self._trainings[name] = (system.corpus, tuple(lines), before)
        return self._trainings[name]

    def test(self, name: str) -> Hashable:
        """A key of a system's tested checkpoint and its translation options."""
        translate = self._plan.setting.said("translate") or ""
        chosen = self._plan.system(name).test
        return (self.training(name), self.text(name, chosen), self.text(name, translate))

    def text(self, name: str, template: str, names: Mapping[str, Any] | None = None) -> str:
        """A template of a system, filled in."""
        scope = self._plan.system(name).scope.with_values(**(names or {}))
        return scope.referring(self.described).text(template)

    def described(self, expression: str, scope: Scope) -> Any:
        """A reference as text for comparison: the path of made files, the name of others."""
        reference = referred(expression, scope)
        if reference is None:
            return None
        kind, name, target = reference
        if kind != "made":
            return f"{kind} {name} {target}"
        if target is not None:
            scope = self._plan.system(target).scope.referring(self.described)
        return f"made {scope.text(self._plan.description(name).at)}"

    @cached_property
    def _firsts(self) -> tuple[dict[Hashable, str], dict[Hashable, str]]:
        """The first systems of the file, by keys of training and of test."""
        trained: dict[Hashable, str] = {}
        tested: dict[Hashable, str] = {}
        for name in systems_of(self._plan):
            trained.setdefault(self.training(name), name)
            tested.setdefault(self.test(name), name)
        return trained, tested

    @property
    def _trained(self) -> dict[Hashable, str]:
        return self._firsts[0]

    @property
    def _tested(self) -> dict[Hashable, str]:
        return self._firsts[1]
