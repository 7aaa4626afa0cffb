"""GPU hours of the trainings of a run that are not done."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from tdo_plugin.costs.training_hours import (
    Estimate,
    assumption,
    assumption_options,
    check_assumptions,
    report,
)
from tdo_plugin.costs.training_hours import estimate as estimate_training
from tdo_plugin.errors import UserError
from tdo_plugin.experiments.runner import there
from tdo_plugin.launch.parser import RaisingParser

if TYPE_CHECKING:
    from tdo_plugin.experiments.plan import Plan


def estimate(plan: Plan) -> int:
    """Print the estimate of each training, and their sum; also those that have none, and why."""
    trainings = [step for step in plan.graph if step.kind == "training"]
    to_come = [step for step in trainings if not there(plan.graph, step)]
    estimates: list[tuple[int, Estimate]] = []
    assumed: list[str] = []
    for step in to_come:
        name = step.name.removesuffix("/training")
        try:
            args = _assumptions(plan, name)
            config = plan.system(name).config(plan.twins.described)
            estimates.append((1, estimate_training(name, config, args)))
            assumed.append(assumption(args))
        except UserError as error:
            print(f"{name}: not in the estimate: {error}")
    if done := len(trainings) - len(to_come):
        print(f"{done} of {len(trainings)} trainings are done")
    if estimates:
        for line in report(estimates, assumed):
            print(line)
    return 0


def _assumptions(plan: Plan, name: str) -> argparse.Namespace:
    """What the corpus says of estimates, and the updates that a training goes on behind."""
    system = plan.system(name)
    corpus = plan.setting.document.corpora[system.corpus]
    template = plan.setting.of_scale(corpus.estimate, "")
    scope = system.scope.with_values(**corpus.let)
    parser = RaisingParser(prog="estimate", add_help=False, allow_abbrev=False)
    assumption_options(parser)
    args = parser.parse_args(shlex.split(scope.text(template)))
    if system.continues == "restore" and system.before is not None:
        before = plan.system(system.before).config(plan.twins.described)
        args.done = before.integer("--max-update", 1)
    check_assumptions(args)
    return args
