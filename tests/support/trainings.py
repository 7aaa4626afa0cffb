"""Trainings that stop and are resumed, their last checkpoints, and what these translate."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from support.commands import hypotheses, scores
from support.data import BOTH_WAYS, LANGUAGES, generate, train

LIMITS = {"max_source_positions": 40, "max_target_positions": 50}


def last_state(folder: Path) -> dict[str, Any]:
    """The last checkpoint of a training."""
    return torch.load(folder / "checkpoint_last.pt", weights_only=False)


def parameters(folder: Path) -> dict[str, torch.Tensor]:
    """The parameters in it."""
    return last_state(folder)["model"]


def assert_same_parameters(first: Path, second: Path, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Two trainings have the same parameters in the end, bit for bit if nothing else is said."""
    torch.testing.assert_close(parameters(first), parameters(second), rtol=rtol, atol=atol)


def stopped_and_resumed(
    folder: Path, *flags: str, stop: int, end: int, data: Path | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The logs of a training until it stops and then.

    They are those of one without a stop, and so are the parameters in the end, bit for bit.

    It stops behind the update ``stop``; ``end`` is the last of all. Checkpoints are in the folder's
    `parts` and, of the training without a stop, `through`.
    """

    def trained(name: str, updates: int) -> list[dict[str, Any]]:
        return train(folder / name, *flags, "--max-update", str(updates), data=data)

    through = trained("through", end)
    first, second = trained("parts", stop), trained("parts", end)
    assert first and second and first + second == through
    assert_same_parameters(folder / "through", folder / "parts")
    return first, second


PRECISIONS = ("--bf16", "--fp16 --fp16-no-flatten-grads")


def half_precision_is_near(
    folder: Path, precision: str, *flags: str, keys: Sequence[str] = ("loss",), rel: float = 0.03
) -> None:
    """A training in half precision logs nearly what the same one in single precision logs."""
    half = train(folder / "half", *flags, *precision.split())
    full = train(folder / "full", *flags)
    for key in keys:
        assert [log[key] for log in half] == pytest.approx([log[key] for log in full], rel=rel), key
    assert half[-1]["loss"] != full[-1]["loss"]


def found_by_both_searches(checkpoint: Path, *flags: str) -> dict[int, str]:
    """What fairseq-generate finds, in the best candidates as in the whole vocabulary."""
    narrow = generate("--path", checkpoint, *flags)
    whole = generate("--path", checkpoint, *flags, "--whole-search")
    assert hypotheses(narrow) == hypotheses(whole)
    assert scores(narrow) == pytest.approx(scores(whole), abs=1e-3)
    return hypotheses(narrow)


def saved(path: Path, task: str = "tdo_translation", **settings: object) -> str:
    """A checkpoint of a training with these options, and no model."""
    usual = {"task": task, "lang_pairs": BOTH_WAYS.split(","), "langs": list(LANGUAGES)}
    usual |= {"lang_tok_style": "multilingual", **LIMITS}
    cfg = {"task": Namespace(**{**usual, **settings}), "model": {"_name": "tdo_transformer"}}
    torch.save({"model": {}, "cfg": cfg}, path)
    return str(path)
