"""Trainings that stop and are resumed, their last checkpoints, and what these translate."""

from pathlib import Path
from typing import Any

import pytest
import torch
from support.commands import hypotheses, scores
from support.data import generate, train


def last_state(folder: Path) -> dict[str, Any]:
    """The last checkpoint of a training."""
    state: dict[str, Any] = torch.load(folder / "checkpoint_last.pt", weights_only=False)
    return state


def parameters(folder: Path) -> dict[str, torch.Tensor]:
    """The parameters in it."""
    model: dict[str, torch.Tensor] = last_state(folder)["model"]
    return model


def assert_same_parameters(first: Path, second: Path, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Two trainings have the same parameters in the end, bit for bit if nothing else is said."""
    one, two = parameters(first), parameters(second)
    assert one.keys() == two.keys()
    for name, value in one.items():
        torch.testing.assert_close(value, two[name], rtol=rtol, atol=atol)


def stopped_and_resumed(
    folder: Path, *flags: str, stop: int, end: int, data: Path | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The logs of a training until it stops and then, which are those of one without a stop.

    Args:
        folder: for checkpoints: `parts` of this training, `through` of the one without a stop.
        flags: of fairseq-train.
        stop: the last update before the stop.
        end: the last update of all.
        data: the binarised data; default: the small one of the tests.
    """

    def trained(name: str, updates: int) -> list[dict[str, Any]]:
        return train(folder / name, *flags, "--max-update", str(updates), data=data)

    through = trained("through", end)
    first, second = trained("parts", stop), trained("parts", end)
    assert first and second and first + second == through
    return first, second


def found_by_both_searches(checkpoint: Path, *flags: str) -> dict[int, str]:
    """What fairseq-generate finds, in the best candidates as in the whole vocabulary."""
    narrow, whole = (
        generate("--path", checkpoint, *flags, *more) for more in ((), ("--whole-search",))
    )
    assert hypotheses(narrow) == hypotheses(whole)
    assert scores(narrow) == pytest.approx(scores(whole), abs=1e-3)
    return hypotheses(narrow)
