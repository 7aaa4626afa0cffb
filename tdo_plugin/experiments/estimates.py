"""Estimated GPU hours of training in experiments."""

from __future__ import annotations

import shlex
from argparse import Namespace
from typing import TYPE_CHECKING

from tdo_plugin.costs import training_hours
from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from tdo_plugin.experiments.plan import Plan
    from tdo_plugin.experiments.systems import ResolvedSystem, Setting


def usual_assumptions(setting: Setting, system: ResolvedSystem) -> list[str]:
    """Options of `tdo estimate`: the corpus', and the updates before a continued training."""
    words: list[str] = []
    corpus = setting.document.corpora.get(system.corpus)
    if corpus is not None:
        template = setting.of_scale(corpus.estimate, "")
        words += shlex.split(system.scope.with_values(**corpus.let).text(template))
    if system.continues == "restore" and system.before is not None:
        before = setting.resolve(system.before).config(lambda expression, scope: None)
        words += ["--done", str(before.integer("--max-update", 1))]
    return words


def estimate(plan: Plan) -> int:
    """Print the estimate of each training that is not done, or why there is no estimate."""
    from tdo_plugin.experiments.runner import there

    trainings = [step for step in plan.graph if step.kind == "training"]
    to_come = [step for step in trainings if not there(plan.graph, step)]
    estimates: list[tuple[int, training_hours.Estimate]] = []
    assumed: list[str] = []
    for step in to_come:
        name = step.name.removesuffix("/training")
        system = plan.system(name)
        try:
            args = training_hours.assumptions(Namespace(), usual_assumptions(plan.setting, system))
            config = system.config(plan.twins.described)
            estimates.append((1, training_hours.estimate(name, config, args)))
            assumed.append(training_hours.assumption(args))
        except UserError as error:
            print(f"{name}: not in the estimate: {error}")
    if done := len(trainings) - len(to_come):
        print(f"{done} of {len(trainings)} training runs are done")
    if estimates:
        for line in training_hours.report(estimates, assumed):
            print(line)
    return 0
