"""Bytes of weights, gradients and optimizer's state that a worker of sharded training holds.

    python benchmarks/sharded_bytes.py [--workers 1,2,4] [--keep]

Workers are processes on the CPU that communicate through gloo. Each trains a two-stage model for
two updates on tokens at random, and counts the bytes of its tensors: those that it stores after an
update (its part of the weights, of the gradients and of Adam's averages), and the largest sum of
gathered weights and of their gradients at any layer of the forward and the backward pass. Numbers
are of the worker with the most.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, distributed, nn

from tdo_compat.sharded_model import ShardedModel
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.translation_model import TranslationModel
from tdo_plugin.runtime.jobs import run_jobs

SPEC = ModelSpec(
    topology="decoder-only",
    num_layers=12,
    target_layer=6,
    model_dim=256,
    num_heads=4,
    stage1_ffn_dim=1024,
    stage2_ffn_dim=1024,
    norm="pre",
)
VOCABULARY, SENTENCES, LENGTH, PADDING = 8000, 8, 20, 1
PARTS = ("weights", "gradients", "averages", "gathered weights", "gathered gradients")
MIB = 1 << 20


class Trained(nn.Module):
    """A model whose forward pass is the loss of a batch."""

    def __init__(self, core: TranslationModel) -> None:
        super().__init__()
        self.core = core

    def forward(self, tokens: Tensor) -> Tensor:
        """The cross-entropy of copying ``tokens`` (B, S)."""
        _, features = self.core([SourceRequest(tokens)], tokens)
        return self.core.cross_entropy(features, tokens, 0.1)[0]

    def sharded_units(self) -> list[nn.Module]:
        """The layers."""
        return self.core.stack.separate_layers()


def measure(rank: int, workers: int, meeting: str, keep: bool) -> dict[str, int]:
    """Train in one of the workers; returns bytes by part."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    trained = Trained(Builder(SPEC, PADDING).build(VOCABULARY, VOCABULARY))
    model: Any = trained
    most: Counter[str] = Counter()
    if workers > 1:
        distributed.init_process_group(
            "gloo", init_method=f"file://{meeting}", rank=rank, world_size=workers
        )
        model = ShardedModel(trained, distributed.group.WORLD, torch.device("cpu"), keep)

    def note(*_: Any) -> None:
        parts = [part for part in trained.parameters() if not hasattr(part, "to_local")]
        gradients = [part.grad for part in parts if part.grad is not None]
        for name, tensors in (("gathered weights", parts), ("gathered gradients", gradients)):
            most[name] = max(most[name], _bytes(tensors))

    def watch(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        note()
        for tensor in inputs[1:]:
            if tensor.requires_grad:
                tensor.register_hook(note)

    for layer in trained.core.stack.every_layer if workers > 1 else ():
        layer.register_forward_pre_hook(watch)
    optimizer = torch.optim.AdamW(model.parameters())
    for update in range(2):
        tokens = torch.randint(4, VOCABULARY, (SENTENCES, LENGTH))
        optimizer.zero_grad()
        model(tokens).backward()
        if workers > 1:
            model.all_reduce_grads()
        if update:
            optimizer.step()
    most["weights"] = _bytes(model.parameters())
    most["gradients"] = _bytes(part.grad for part in model.parameters())
    states = optimizer.state.values()
    most["averages"] = _bytes(value for state in states for value in state.values() if value.dim())
    return dict(most)


def _bytes(tensors: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def rows(counts: list[int], keep: bool) -> Iterator[str]:
    """Lines of a Markdown table."""
    yield f"| MiB of a worker | {' | '.join(PARTS)} |"
    yield "|---" * (len(PARTS) + 1) + "|"
    for workers in counts:
        with tempfile.TemporaryDirectory() as folder:
            jobs = [
                (rank, partial(measure, rank, workers, f"{folder}/meeting", keep))
                for rank in range(workers)
            ]
            results = [result for _, result in run_jobs(jobs, workers)]
        most = [max(result.get(part, 0) for result in results) for part in PARTS]
        cells = " | ".join(f"{count / MIB:.1f}" for count in most)
        yield f"| {workers} worker{'s' * (workers > 1)} | {cells} |"


def main() -> None:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--workers", default="1,2,4", metavar="N,...", help="numbers of workers")
    parser.add_argument("--keep", action="store_true", help="as --no-reshard-after-forward")
    args = parser.parse_args()
    for row in rows([int(count) for count in args.workers.split(",")], args.keep):
        print(row)


if __name__ == "__main__":
    main()
