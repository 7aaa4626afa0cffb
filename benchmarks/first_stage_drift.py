"""Drift of a first stage's states from the embeddings, and its gradients, over updates.

    python benchmarks/first_stage_drift.py DATA CHECKPOINT... [--direction de-en] [--sentences N]

CHECKPOINTs are from one training of a two-stage model (or an encoder-decoder), such as
checkpoints/checkpoint_*.pt; DATA is its data folder. For each checkpoint, in the order of updates,
on the validation set of one direction, without dropout:

- own word: percentage of source positions whose state after the first stage is nearest (by dot
  product, as in the softmax) to the output embedding of the position's own token. Before a target
  has learnt to read its source, only this space allows it to match tokens;
- cosine: mean cosine between that state and the embedding of the position's token;
- gradient: norm of the loss gradient with respect to the first stage's parameters, relative to
  that of the second stage, both divided by the square root of the number of parameters;
- bits: bits per target token.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import torch

from tdo_plugin.checkpoints import read
from tdo_plugin.data.databin import DataFolder, read_data_folder
from tdo_plugin.evaluation.decoding.loading import load_models, task_of

HEAD = ("update", "own word %", "cosine", "gradient", "bits")


def measure(path: Path, data: DataFolder, direction: str, sentences: int) -> list[float]:
    """The row of a checkpoint."""
    (model,), base = load_models([path], data)
    updates = read(path)["optimizer_history"][-1]["num_updates"]
    task = task_of(base, direction)
    task.load_dataset("valid")
    dataset = task.dataset("valid")
    sample = dataset.collater([dataset[number] for number in range(min(sentences, len(dataset)))])
    core = model.eval().core
    entry = core.spec.entry_layer
    _, extra = model(
        **sample["net_input"],
        source_layer_outputs=(entry,),
        smoothed_target=(sample["target"], 0.0),
    )
    loss, nll = extra["cross_entropy"]
    loss.backward()
    tokens = sample["net_input"]["src_tokens"]
    real = tokens.ne(core.padding_idx)
    with torch.no_grad():
        state = core.stack.bridge(extra["source"].layer_outputs[entry])[real]
        real_tokens = tokens[real]
        own_word = core.logits(state).argmax(-1).eq(real_tokens).float().mean()
        cosine = torch.cosine_similarity(state, core.embeddings.source(real_tokens)).mean()
    stages = gradients(core, entry)
    return [
        updates,
        100 * own_word.item(),
        cosine.item(),
        stages[0] / stages[1],
        nll.item() / math.log(2) / sample["ntokens"],
    ]


def gradients(core: Any, entry: int) -> tuple[float, float]:
    """Root mean squares of the gradients of both stages' layers."""
    if core.spec.topology == "encoder-decoder":
        stages = core.stack.encoder_layers, core.stack.decoder_layers
    else:
        stages = core.stack.layers[:entry], core.stack.layers[entry:]
    flat = [
        torch.cat(
            [
                parameter.grad.flatten()
                for parameter in stage.parameters()
                if parameter.grad is not None
            ]
        )
        for stage in stages
    ]
    first, second = (gradient.square().mean().sqrt().item() for gradient in flat)
    return first, second


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("checkpoints", type=Path, nargs="+")
    parser.add_argument("--direction", default="de-en")
    parser.add_argument("--sentences", type=int, default=100)
    args = parser.parse_args()
    data = read_data_folder(args.data.resolve())
    rows = sorted(measure(path, data, args.direction, args.sentences) for path in args.checkpoints)
    print("| " + " | ".join(HEAD) + " |")
    print("|---" * len(HEAD) + "|")
    for update, own_word, cosine, gradient, bits in rows:
        print(f"| {update:.0f} | {own_word:.1f} | {cosine:.2f} | {gradient:.3f} | {bits:.2f} |")


if __name__ == "__main__":
    main()
