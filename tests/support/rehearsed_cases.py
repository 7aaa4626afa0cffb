"""What is rehearsed: every method, loss term and choice of the package is in a training."""

import itertools
from collections.abc import Iterable

from support.covering import in_turn
from support.criterion_models import SMALL, TERMS
from support.rehearsed import NEURONS, ON_GPU
from support.robt_task import VARIED

CRITERION = (*TERMS, "--clip-norm", "1")
BASE = ("--task", "tdo_translation", *ON_GPU, *SMALL, *CRITERION)
ROBT = ("--task", "tdo_robt", *ON_GPU, *SMALL, *CRITERION)
TWO_STAGE = (
    *("--arch", "tdo_transformer", "--tdo-layers", "3", "--tdo-target-layer", "1"),
    *("--tdo-adaptation-dim", "6"),
)
PREFIX = ("--arch", "tdo_prefix_decoder_only", "--tdo-layers", "2")
CAUSAL = ("--arch", "tdo_causal_decoder_only", "--tdo-layers", "2")
ENCODER_DECODER = (
    *("--arch", "tdo_encoder_decoder", "--tdo-encoder-layers", "2", "--tdo-decoder-layers", "1"),
)
MERGED = (*ENCODER_DECODER, "--tdo-decoder-attention", "merged")
LANGUAGE_AWARE = (*TWO_STAGE, "--tdo-laln", "both", "--tdo-lalt", "xavier")
ALL_TERMS = (
    *("--loss-terms", "instrucl,tpdm,reconstruction,lexical", "--tdo-tpdm-layer", "1"),
    *("--lexical-updates", "50", "--max-update", "100"),
)
METHODS = {
    # of fp16 with its first loss scale far too large
    "back-translation with a beam": (
        *(*ROBT, *TWO_STAGE, *VARIED, "--robt-beam", "2", "--fp16-init-scale", "16777216"),
    ),
    "all terms": (*BASE, *TWO_STAGE, *ALL_TERMS),
    "all terms, other choices": (
        *(*BASE, *MERGED, *ALL_TERMS, "--tdo-laln", "target", "--tdo-lalt", "identity"),
        *("--instrucl-weighting", "tag-share", "--instrucl-scale", "per-token"),
        *("--tpdm-anchor", "sinusoidal", "--tdo-tpdm-gate", "relaxed-bernoulli"),
        *("--tpdm-detach-positional", "--tpdm-new-generator", "--reconstruction-task", "ae"),
        *("--reconstruction-schedule", "linear", "--reconstruction-tau", "50"),
        *("--reconstruction-normalization", "mean", "--ignore-prefix-size", "1"),
        *("--source-noise", "bert"),
    ),
    "adapters": (
        *(*BASE, *PREFIX, "--tdo-adapter-dim", "4", "--tdo-norm", "pre"),
        *("--attention-dropout", "0.1", "--activation-dropout", "0.1"),
    ),
    "hard gates": (
        *(*BASE, *CAUSAL, "--loss-terms", "tpdm,reconstruction", "--sentence-avg"),
        *("--tdo-tpdm-layer", "1", "--tdo-tpdm-gate", "hard-concrete", "--max-update", "100"),
        *("--reconstruction-schedule", "exponential", "--reconstruction-tau", "50"),
        *("--tdo-positions", "continuous", "--tdo-position-embedding", "learned"),
        *("--tdo-share-embeddings", "decoder"),
    ),
    "language-aware source": (
        *(*BASE, *TWO_STAGE, "--tdo-laln", "source", "--tdo-lalt", "authors"),
        *("--tdo-ffn-experts", "target", "--tdo-target-attention", "all"),
        *("--tdo-masked-tags", "2", "--tdo-source-sees-start", "--tdo-freeze-embeddings"),
        *("--tdo-position-embedding", "rotary", "--loss-terms", "instrucl"),
    ),
    "neurons": (*BASE, *LANGUAGE_AWARE, "--tdo-cut-residual", "1", *NEURONS),
    "general neurons, whole logits": (
        *(*BASE, *ENCODER_DECODER, "--tdo-position-embedding", "none"),
        *("--tdo-share-embeddings", "none", "--cross-entropy", "whole", "--report-accuracy"),
        *("--tdo-target-attention", "cross", *NEURONS, "--tdo-zero-shot-neurons", "general"),
    ),
    "back-translation": (*ROBT, *TWO_STAGE, *VARIED),
}
PRECISIONS = {"fp16": ("--fp16",), "fp32": (), "bf16": ("--bf16",)}
MEMORY = {"stored": (), "computed again": ("--checkpoint-activations",)}


def _trainings(cases: Iterable[tuple[str, str, str]]) -> dict[str, tuple[str, ...]]:
    return {
        f"{name}, {precision}, {memory}": (*METHODS[name], *PRECISIONS[precision], *MEMORY[memory])
        for name, precision, memory in cases
    }


TRAININGS = _trainings(in_turn(METHODS, PRECISIONS, MEMORY))
EVERY = TRAININGS | _trainings(itertools.product(METHODS, PRECISIONS, MEMORY))
# flags, beam, and whether in half precision
SEARCHES = {
    "beam": ((*BASE, *TWO_STAGE), 3, False),
    "beam, language-aware": ((*BASE, *LANGUAGE_AWARE), 3, False),
    "beam, merged": ((*BASE, *MERGED), 3, True),
    "greedy": ((*BASE, *TWO_STAGE), 1, False),
    "beam in half precision": ((*BASE, *TWO_STAGE), 3, True),
    "greedy in half precision": ((*BASE, *ENCODER_DECODER), 1, True),
}
ANALYSED = {"two-stage": (*BASE, *TWO_STAGE), "language-aware": (*BASE, *LANGUAGE_AWARE)}
