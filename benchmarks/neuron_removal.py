"""How well importance predicts the effect of a neuron's removal on the loss.

    python benchmarks/neuron_removal.py --path CKPT --data DATA --importance FILE --pair SRC-TGT
        [--neurons N] [--sentences N] [--split train|valid|test] [--seed N] [--json FILE]

For every kind of neuron, a sample is removed one neuron at a time, by setting its output to 0 at
all positions, and the loss on the same sentences is recomputed. The absolute change is correlated
(Spearman, Pearson) with theta of the file, and with |sum over positions of gradient * activation|.
The latter is the first-order change; theta takes the absolute value at each position before the
mean (Xie et al., 2021, equation 7), so that positions do not cancel out. The difference between the
two correlations shows the effect of this choice.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tdo_plugin.analysis.neurons.neuron_importance import Method, NeuronMeans, RealPositions
from tdo_plugin.cli.importance_jobs import unlike_sides
from tdo_plugin.data.databin import read_data_folder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.inspected_model import Cut, EvalModel, Sampling
from tdo_plugin.modules.methods.neurons import neuron_outputs
from tdo_plugin.neuron_files import Importance, place_of

SIGNED = Method(True, lambda activation, gradient: activation * gradient)
LONGEST, TOKENS = 256, 4000


def losses(model: EvalModel, samples: Sequence[dict[str, Any]], smoothing: float) -> list[Any]:
    """The real positions of each batch, and a function that computes its loss."""
    batches = []
    for sample in samples:
        fed, target, pad = unlike_sides(model, sample)
        real = RealPositions(fed["src_tokens"].ne(pad), fed["prev_output_tokens"].ne(pad))

        def loss(fed: Any = fed, target: Any = target) -> torch.Tensor:
            return model.model(**fed, smoothed_target=(target, smoothing))[1]["cross_entropy"][0]

        batches.append((real, loss))
    return batches


def removed(model: EvalModel, batches: Sequence[Any], name: str, neuron: int) -> float:
    """The loss without a neuron."""

    def hook(_: Any, __: Any, output: torch.Tensor) -> torch.Tensor:
        kept = output.clone()
        kept[..., neuron] = 0
        return kept

    handle = neuron_outputs(model.core.stack)[name].register_forward_hook(hook)
    try:
        return whole(batches)
    finally:
        handle.remove()


def whole(batches: Sequence[Any]) -> float:
    """The loss of all batches."""
    with torch.no_grad():
        return sum(float(loss()) for _, loss in batches)


def kind_of(name: str) -> str:
    """The kind of a module, such as `decoder cross_attention value`."""
    place = place_of(name)
    return f"{place.stack} {place.part} {place.neurons}"


def sampled(widths: Mapping[str, int], count: int, seed: int) -> list[tuple[str, int]]:
    """At most `count` random neurons of every kind, from all its layers."""
    kinds: dict[str, list[tuple[str, int]]] = {}
    for name, width in widths.items():
        kinds.setdefault(kind_of(name), []).extend((name, neuron) for neuron in range(width))
    drawn = np.random.default_rng(seed)
    return [
        neurons[place]
        for neurons in kinds.values()
        for place in sorted(drawn.permutation(len(neurons))[:count].tolist())
    ]


def ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks from 0; ties have the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts + 1) / 2)[place]


def correlations(predicted: Sequence[float], change: Sequence[float]) -> dict[str, float | None]:
    """Spearman's and Pearson's correlation; None for a constant variable."""

    def pearson(x: np.ndarray, y: np.ndarray) -> float | None:
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            return None
        return float(np.corrcoef(x, y)[0, 1])

    return {
        "spearman": pearson(ranks(predicted), ranks(change)),
        "pearson": pearson(np.asarray(predicted), np.asarray(change)),
    }


def measure(args: argparse.Namespace, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """A record for each removed neuron."""
    importance = Importance.read(args.importance, "--importance")
    if args.pair not in importance.pairs:
        raise UserError(f"`--pair` must be one of {', '.join(importance.pairs)}; it is {args.pair}")
    row = list(importance.pairs).index(args.pair)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    # differences of losses require more digits than single precision has
    model = EvalModel(args.path, read_data_folder(args.data.resolve()), device, torch.float64)
    sampling = Sampling(args.sentences, LONGEST, args.seed)
    samples = list(model.samples(args.pair, Cut(args.split), sampling, TOKENS))
    batches = losses(model, samples, importance.about["settings"]["label_smoothing"])
    signed = NeuronMeans(neuron_outputs(model.core.stack), SIGNED)
    before = sum(signed.add(*batch) for batch in batches)
    means = signed.means
    neurons = sampled({name: len(mean) for name, mean in means.items()}, args.neurons, args.seed)
    records = []
    for number, (name, neuron) in enumerate(neurons, start=1):
        change = removed(model, batches, name, neuron) - before
        signed_sum = float(means[name][neuron]) * signed.positions[name]
        records.append(
            {
                "module": name,
                "neuron": neuron,
                "change": change,
                "theta": float(importance.modules[name][row, neuron]),
                "signed": abs(signed_sum),
            }
        )
        if number % 100 == 0:
            say(f"{number} of {len(neurons)} neurons")
    return records


def summary(records: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Correlations by kind, and overall."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        for kind in (kind_of(record["module"]), "all"):
            kinds.setdefault(kind, []).append(record)
    return {
        kind: {
            "neurons": len(kind_records),
            **{
                what: correlations(
                    [record[what] for record in kind_records],
                    [abs(record["change"]) for record in kind_records],
                )
                for what in ("theta", "signed")
            },
        }
        for kind, kind_records in sorted(kinds.items(), key=lambda item: item[0] == "all")
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    for name in ("path", "data", "importance"):
        add(f"--{name}", type=Path, required=True)
    add("--pair", required=True)
    add("--neurons", type=int, default=20, help="neurons of each kind (default 20)")
    add("--sentences", type=int, default=200)
    add("--split", choices=("train", "valid", "test"), default="train")
    add("--seed", type=int, default=1)
    add("--json", type=Path)
    args = parser.parse_args()
    records = measure(args, lambda line: print(line, flush=True))
    by_kind = summary(records)
    print(f"{'kind':38}{'neurons':>8}{'theta: rho':>12}{'r':>7}{'|sum|: rho':>12}{'r':>7}")
    for kind, figures in by_kind.items():
        cells = [figures[what][name] for what in ("theta", "signed") for name in figures[what]]
        shown = ["-" if cell is None else f"{cell:.3f}" for cell in cells]
        widths = zip(shown, (12, 7, 12, 7), strict=True)
        row = "".join(cell.rjust(width) for cell, width in widths)
        print(f"{kind:38}{figures['neurons']:>8}{row}")
    if args.json:
        content = {"summary": by_kind, "neurons": records}
        args.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
