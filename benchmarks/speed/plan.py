"""What is measured: comparisons of systems, at a setting each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

OURS, CONCATENATING, STOCK = "two-stream", "concatenating", "stock"
BASELINES = CONCATENATING, STOCK
ALL = (OURS, *BASELINES)

METRICS = {"training": "training", "decoding": "decoding", "memory": "peak training memory"}
MEANINGLESS = {
    "training": ("sentences", "beam"),
    "memory": ("sentences", "beam"),
    "decoding": ("batch_tokens", "instrucl"),
}
"""Fields of a setting that say nothing about a kind of comparison."""


@dataclass(frozen=True)
class Setting:
    """Sizes of model and data.

    Attributes:
        depth: layers of both stages, or of encoder and decoder, half of them each.
        vocabulary: entries of the dictionary without the tags.
        batch_tokens: target tokens of a training batch, at most.
        sentence_length: positions of source and target, about; in decoding the steps, exactly.
        sentences: in a batch that is decoded.
        instrucl: train with InstruCL.
    """

    model_dim: int = 512
    ffn_dim: int = 2048
    heads: int = 8
    depth: int = 12
    vocabulary: int = 50_000
    languages: int = 4
    sentence_length: int = 30
    batch_tokens: int = 1000
    sentences: int = 16
    beam: int = 4
    instrucl: bool = False


@dataclass(frozen=True)
class Comparison:
    """Systems at one setting; the first is held against each of the others.

    Attributes:
        kind: `training`, `decoding` or `memory`.
        systems: their names; options of fairseq-train are our own system with them.
        axis: the field that a series of comparisons differ in.
    """

    kind: str
    setting: Setting
    systems: tuple[str, ...] = ALL
    axis: str | None = None

    @property
    def metric(self) -> str:
        """What is measured, for people."""
        return METRICS[self.kind] + (" with InstruCL" if self.setting.instrucl else "")

    @property
    def title(self) -> str:
        """The metric and what sets the comparison apart."""
        setting = self.setting
        if self.axis:
            name = self.axis.replace("_", " ")
            return f"{self.metric}, {name} {getattr(setting, self.axis):,}"
        load = (
            f"{setting.sentences} sentences, beam {setting.beam}"
            if self.kind == "decoding"
            else f"{setting.batch_tokens:,} tokens"
        )
        return f"{self.metric}, {load}, vocabulary {setting.vocabulary:,}"

    def settings(self) -> dict[str, object]:
        """The axis, and the numbers that matter for this kind."""
        fields = {"axis": self.axis, **asdict(self.setting)}
        return {name: fields[name] for name in fields if name not in MEANINGLESS[self.kind]}


Axes = Mapping[str, Sequence[int]]

SMALL = Setting(model_dim=64, ffn_dim=256, heads=4, depth=2, vocabulary=500, batch_tokens=300)
TABLE = {"paper": Setting(), "small": replace(SMALL, sentences=4)}
# of the plot that comes with the table
PLOT: Mapping[str, tuple[Setting, Axes]] = {
    "paper": (
        Setting(model_dim=256, ffn_dim=1024, heads=4, vocabulary=8000),
        {
            "sentence_length": (10, 30, 60, 120),
            "batch_tokens": (250, 500, 1000, 2000),
            "languages": (4, 20, 100),
        },
    ),
    "small": (
        SMALL,
        {"sentence_length": (15, 30), "batch_tokens": (150, 300), "languages": (4, 8)},
    ),
}
GPU_TOKENS, GPU_SENTENCES = (4000, 16_000), 128

# What can be computed the plain way, as options of fairseq-train, by the metric that shows it.
LOSS, SEARCH = "--cross-entropy whole", "--whole-search"
PLAIN = {
    "training": (
        LOSS,
        *map("--reference-ops {}".format, ("streams", "projections", "norms", "dropout")),
    ),
    "training with InstruCL": ("--reference-ops streams", "--reference-ops tags"),
    "decoding": (SEARCH, "--reference-ops weights"),
    "peak training memory": (
        LOSS,
        *map("--reference-ops {}".format, ("projections", "norms", "dropout")),
    ),
}
ON_GPU = ("--reference-ops kernels", "--reference-ops masks")

GROWTH: Axes = {
    "languages": (4, 10, 25, 50, 100),
    "depth": (12, 24),
    "vocabulary": (8000, 16_000, 32_000, 64_000),
    "sentence_length": (10, 20, 40, 80, 120),
}
DECODING_GROWTH: Axes = {
    "sentence_length": (10, 20, 40, 80, 120),
    "beam": (1, 2, 4, 8),
}


def table(size: str, device: str) -> list[Comparison]:
    """The comparisons of the table."""
    base = TABLE[size]
    if device == "cuda":
        base = replace(base, sentences=GPU_SENTENCES)
        trained = weighed = [replace(base, batch_tokens=tokens) for tokens in GPU_TOKENS]
    else:
        trained, weighed = [base], [replace(base, batch_tokens=2 * base.batch_tokens)]
    vocabularies = sorted({min(8000, base.vocabulary), base.vocabulary})
    return [
        *_both("training", trained),
        *(Comparison("decoding", replace(base, vocabulary=entries)) for entries in vocabularies),
        *_both("memory", weighed),
    ]


def _both(kind: str, settings: Sequence[Setting]) -> Iterator[Comparison]:
    """Without InstruCL, and with it, which the stock model cannot be trained with."""
    for setting in settings:
        yield Comparison(kind, setting)
        yield Comparison(kind, replace(setting, instrucl=True), (OURS, CONCATENATING))


def each(size: str, device: str) -> Iterator[Comparison]:
    """Our system against itself without one of its faster ways, and without all of them."""
    for comparison in table(size, device):
        ways = PLAIN.get(comparison.metric, ())
        if device == "cuda" and comparison.metric == "training":
            ways += ON_GPU
        all_ = f"{SEARCH if comparison.kind == 'decoding' else LOSS} --reference-ops all"
        for way in (*ways, all_):
            yield replace(comparison, systems=(OURS, way))


def plotted(size: str) -> list[Comparison]:
    """The comparisons of the plot that comes with the table."""
    return list(_series("training", *PLOT[size]))


def growth(size: str) -> list[Comparison]:
    """How time and memory grow."""
    base = replace(TABLE[size], vocabulary=min(8000, TABLE[size].vocabulary))
    return [
        *_series("training", base, GROWTH),
        *_series("memory", base, GROWTH),
        *_series("decoding", base, DECODING_GROWTH),
    ]


def _series(kind: str, base: Setting, axes: Axes) -> Iterator[Comparison]:
    for axis, values in axes.items():
        for value in values:
            yield Comparison(kind, replace(base, **{axis: value}), axis=axis)
