"""The planned comparisons of systems and their settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

OURS, CONCATENATING, STOCK = "two-stream", "concatenating", "stock"
BASELINES = CONCATENATING, STOCK
ALL = (OURS, *BASELINES)
# encoder-decoders of equal size, with the same weights but for stock
ENCODER_DECODER, INT8 = "encoder-decoder", "encoder-decoder int8"
CTRANSLATE2, CTRANSLATE2_INT8 = "ctranslate2", "ctranslate2 int8"
ENGINES = (ENCODER_DECODER, STOCK, CTRANSLATE2, INT8, CTRANSLATE2_INT8)
ENGINE_PAIRS = (
    (ENCODER_DECODER, STOCK),
    (ENCODER_DECODER, CTRANSLATE2),
    (INT8, ENCODER_DECODER),
    (INT8, CTRANSLATE2_INT8),
)

METRICS = {
    "training": "training",
    "decoding": "decoding",
    "memory": "peak training memory",
    "tree memory": "peak memory of a training's processes",
    "decoding memory": "peak decoding memory",
    "model size": "model size",
}
TRAINING_BYTES, DECODING_BYTES = ("memory", "tree memory"), ("decoding memory", "model size")
BYTES = TRAINING_BYTES + DECODING_BYTES  # kinds of which less is better
DECODES = "decoding", "decoding memory"
# kinds by the first word of the command
CHOSEN = {
    "train": ("training",),
    "memory": TRAINING_BYTES,
    "decode": (*DECODING_BYTES, "decoding"),
}
MEANINGLESS = {
    "training": ("sentences", "beam", "threads"),
    "memory": ("sentences", "beam", "threads"),
    "tree memory": ("sentences", "beam", "threads", "instrucl"),
    "decoding": ("batch_tokens", "instrucl"),
    "decoding memory": ("batch_tokens", "instrucl", "threads"),
    "model size": ("batch_tokens", "instrucl", "threads", "sentences", "beam", "sentence_length"),
}
"""Fields of a setting that are irrelevant for a kind of comparison."""


@dataclass(frozen=True)
class Setting:
    """Sizes of model and data.

    Attributes:
        depth: total layers, half of them in each stage, or in encoder and decoder.
        vocabulary: entries of the dictionary without tags.
        batch_tokens: maximum target tokens of a training batch.
        sentence_length: approximate positions of source and target; in decoding, the exact number
            of steps.
        sentences: sentences in a decoding batch.
        instrucl: train with InstruCL.
        threads: in decoding; 0: one per core.
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
    threads: int = 0


@dataclass(frozen=True)
class Comparison:
    """Systems at one setting.

    Attributes:
        kind: a name in `METRICS`.
        systems: their names; options of fairseq-train stand for our system with these options.
        axis: the field that varies in a series of comparisons.
        chosen_pairs: pairs of systems to compare; by default the first with each of the others.
    """

    kind: str
    setting: Setting
    systems: tuple[str, ...] = ALL
    axis: str | None = None
    chosen_pairs: tuple[tuple[str, str], ...] = ()

    @property
    def pairs(self) -> Sequence[tuple[str, str]]:
        """Pairs of a system and the system that it is compared with."""
        first, *others = self.systems
        return self.chosen_pairs or [(first, other) for other in others]

    @property
    def metric(self) -> str:
        """A description of the measured quantity."""
        return METRICS[self.kind] + (" with InstruCL" if self.setting.instrucl else "")

    @property
    def title(self) -> str:
        """The metric and the distinguishing settings of the comparison."""
        setting = self.setting
        if self.axis:
            name = self.axis.replace("_", " ")
            return f"{self.metric}, {name} {getattr(setting, self.axis):,}"
        parts = [self.metric]
        if self.kind in DECODES:
            sentences = "1 sentence" if setting.sentences == 1 else f"{setting.sentences} sentences"
            parts.append(f"{sentences}, beam {setting.beam}")
        elif self.kind != "model size":
            parts.append(f"{setting.batch_tokens:,} tokens")
        parts.append(f"vocabulary {setting.vocabulary:,}")
        if setting.threads:
            parts.append("1 thread" if setting.threads == 1 else f"{setting.threads} threads")
        return ", ".join(parts)

    def settings(self) -> dict[str, object]:
        """The axis, and the relevant settings for this kind."""
        fields = {"axis": self.axis, **asdict(self.setting)}
        return {name: fields[name] for name in fields if name not in MEANINGLESS[self.kind]}


Axes = Mapping[str, Sequence[int]]

SMALL = Setting(model_dim=64, ffn_dim=256, heads=4, depth=2, vocabulary=500, batch_tokens=300)
TABLE = {"paper": Setting(), "small": replace(SMALL, sentences=4)}
# settings of the plot for the table
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
THREADS, LOADS = (1, 2), {"paper": (1, 16, 64), "small": (1, 4)}  # against CTranslate2
GPU_TOKENS, GPU_SENTENCES = (4000, 16_000), 128

# Options of fairseq-train that disable an optimisation, by the metric that shows its effect.
LOSS, SEARCH = "--cross-entropy whole", "--whole-search"
OLD_ADAM = "--use-old-adam"  # fairseq's own, step by step
PLAIN = {
    "training": (
        LOSS,
        *map(
            "--reference-ops {}".format, ("products", "streams", "projections", "norms", "dropout")
        ),
        OLD_ADAM,
    ),
    "training with InstruCL": ("--reference-ops streams", "--reference-ops tags"),
    "decoding": (SEARCH, "--reference-ops weights"),
    "peak training memory": (
        LOSS,
        *map("--reference-ops {}".format, ("projections", "norms", "dropout")),
        OLD_ADAM,
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
        *(Comparison("tree memory", base, (OURS, STOCK)) for base in weighed if device == "cpu"),
    ]


def against_ctranslate2(size: str) -> Iterator[Comparison]:
    """Decoding, its peak memory and the size of the model, for each vocabulary."""
    base = TABLE[size]
    for entries in sorted({min(8000, base.vocabulary), base.vocabulary}):
        usual = replace(base, vocabulary=entries)
        for threads in THREADS:
            for sentences in LOADS[size]:
                setting = replace(usual, sentences=sentences, threads=threads)
                yield Comparison("decoding", setting, ENGINES, chosen_pairs=ENGINE_PAIRS)
        for kind in ("decoding memory", "model size"):
            yield Comparison(kind, usual, ENGINES, chosen_pairs=ENGINE_PAIRS)


def _both(kind: str, settings: Sequence[Setting]) -> Iterator[Comparison]:
    """Comparisons without and with InstruCL, which the stock model does not support."""
    for setting in settings:
        yield Comparison(kind, setting)
        yield Comparison(kind, replace(setting, instrucl=True), (OURS, CONCATENATING))


def each(size: str, device: str) -> Iterator[Comparison]:
    """Our system compared with itself without each of its optimisations, and without all."""
    for comparison in table(size, device):
        if comparison.kind == "tree memory":  # of a user's command, which has all optimisations
            continue
        ways = PLAIN.get(comparison.metric, ())
        if device == "cuda" and comparison.metric == "training":
            ways += ON_GPU
        further = SEARCH if comparison.kind == "decoding" else f"{LOSS} {OLD_ADAM}"
        for way in (*ways, f"{further} --reference-ops all"):
            yield replace(comparison, systems=(OURS, way))


def plotted(size: str) -> list[Comparison]:
    """The comparisons of the plot for the table."""
    return list(_series("training", *PLOT[size]))


def growth(size: str) -> list[Comparison]:
    """Comparisons that show the growth of time and memory."""
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
