"""Keeps translation during training from affecting the training."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


@contextmanager
def preserve_training_state(model: Any) -> Iterator[None]:
    """Restore the model's mode and all random states afterwards; no gradients inside."""
    training, parameter = model.training, next(model.parameters())
    devices = [parameter.device] if parameter.is_cuda else []
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices), torch.no_grad():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        model.train(training)
