"""Tables of position probing; all accuracies and shares are in percent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from tdo_plugin.analysis.probing.accuracy import by_class, risen, shares
from tdo_plugin.analysis.probing.probing_results import CheckpointOutcome, TestTokens

Models = Mapping[str, Sequence[CheckpointOutcome]]  # by updates; the last represents the model


@dataclass(frozen=True)
class Rows:
    """A table: headings, and rows of names and numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def updates(models: Models) -> Rows:
    """Accuracy over updates at the layer that represents a model (TPDM, figure 1 right)."""
    rows = [
        (name, outcome.updates, outcome.layer, *_spread(outcome.chosen.accuracies))
        for name, outcomes in models.items()
        for outcome in outcomes
    ]
    return Rows(("model", "updates", "layer", "accuracy", "least", "most"), tuple(rows))


def layers(models: Models) -> Rows:
    """Accuracy by layer, for each model's last checkpoint."""
    rows = [
        (name, outcomes[-1].updates, layer, *_spread(outcome.accuracies))
        for name, outcomes in models.items()
        for layer, outcome in outcomes[-1].layers.items()
    ]
    return Rows(("model", "updates", "layer", "accuracy", "least", "most"), tuple(rows))


def classes(models: Models, test: TestTokens) -> Rows:
    """Accuracy by class of token, for each model's last checkpoint (TPDM, figure 2).

    With the accuracy of the baseline that sees only the word.
    """
    rights = {name: outcomes[-1].chosen.right for name, outcomes in models.items()}
    rights["by_word"] = test.by_word
    rows: list[tuple[Any, ...]] = [
        (
            "all",
            "all",
            len(test.tokens),
            *(_percent(float(r.double().mean())) for r in rights.values()),
        )
    ]
    for group, members in test.groups.items():
        accuracies = [by_class(right, members) for right in rights.values()]
        rows += [
            (group, name, int(mask.sum()), *(_percent(accuracy[name]) for accuracy in accuracies))
            for name, mask in members.items()
        ]
    return Rows(("group", "class", "tokens", *models, "guess_by_word"), tuple(rows))


def type_shares(models: Models, against: str, test: TestTokens) -> Rows:
    """Shares of classes among types of the vocabulary (TPDM, table 4).

    Among all types, the types in the test tokens, and for each model the types whose accuracy is
    higher than with the model it is compared with.
    """
    members = {name: mask for group in test.type_classes.values() for name, mask in group.items()}
    members = {name: mask for name, mask in members.items() if mask.any()}
    chosen: dict[str, Tensor] = {"vocabulary": test.types, "tested": test.tested_types}
    accuracy = {
        name: test.accuracy_by_type(outcomes[-1].chosen.right) for name, outcomes in models.items()
    }
    for name in models:
        if name != against:
            rose = risen(accuracy[name], accuracy[against]) & test.types
            chosen[f"{name} > {against}"] = rose
    rows = [
        (name, int(types.sum()), *map(_percent, shares(types, members).values()))
        for name, types in chosen.items()
    ]
    return Rows(("among", "types", *members), tuple(rows))


def types(models: Models, test: TestTokens) -> Rows:
    """Accuracy of every type in the test tokens, most frequent first."""
    counts = test.tokens.bincount(minlength=len(test.symbols)).tolist()
    accuracies = [
        test.accuracy_by_type(outcomes[-1].chosen.right).tolist() for outcomes in models.values()
    ]
    groups = {
        group: {name: mask.tolist() for name, mask in members.items()}
        for group, members in test.type_classes.items()
    }
    tested = test.tested_types.nonzero()[:, 0].tolist()
    rows = [
        (
            test.symbols[type_id],
            counts[type_id],
            *(
                " ".join(name for name, mask in members.items() if mask[type_id])
                for members in groups.values()
            ),
            *(_percent(accuracy[type_id]) for accuracy in accuracies),
        )
        for type_id in sorted(tested, key=lambda type_id: (-counts[type_id], type_id))
    ]
    return Rows(("piece", "tokens", *groups, *models), tuple(rows))


def _spread(accuracies: Sequence[float]) -> tuple[float, float, float]:
    mean = sum(accuracies) / len(accuracies)
    return _percent(mean), _percent(min(accuracies)), _percent(max(accuracies))


def _percent(share: float) -> float:
    return round(100 * share, 4)
