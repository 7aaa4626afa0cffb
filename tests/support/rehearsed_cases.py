"""Trainings to rehearse: every method, loss term and choice of the package is in one of them."""

from __future__ import annotations

from support.rehearsed import NEURONS, ON_GPU, SMALL

CRITERION = (
    *("--criterion", "label_smoothed_cross_entropy_terms", "--label-smoothing", "0.1"),
    *("--clip-norm", "1"),
)
BASE = ("--task", "tdo_translation", *ON_GPU, *SMALL)
ROBT = ("--task", "tdo_robt", *ON_GPU, *SMALL)
TWO_STAGE = (
    *("--arch", "tdo_transformer", "--tdo-layers", "3", "--tdo-target-layer", "1"),
    *("--tdo-adaptation-dim", "6"),
)
PREFIX = ("--arch", "tdo_prefix_decoder_only", "--tdo-layers", "2")
CAUSAL = ("--arch", "tdo_causal_decoder_only", "--tdo-layers", "2")
ENCODER_DECODER = (
    *("--arch", "tdo_encoder_decoder", "--tdo-encoder-layers", "2", "--tdo-decoder-layers", "1"),
)
VARIED = (
    *("--tdo-share-embeddings", "none", "--tdo-position-embedding", "learned"),
    *("--max-source-positions", "24", "--max-target-positions", "24"),
)
ALL_TERMS = (
    *("--loss-terms", "instrucl,tpdm,reconstruction,lexical", "--tdo-tpdm-layer", "1"),
    *("--lexical-updates", "50", "--max-update", "100"),
)
AGAIN = "--checkpoint-activations"
DROPOUT = ("--attention-dropout", "0.1", "--activation-dropout", "0.1")
TRAININGS = {
    "two-stage": (*BASE, *TWO_STAGE, *CRITERION),
    "prefix, pre-norm": (*BASE, *PREFIX, *CRITERION, "--tdo-norm", "pre", *DROPOUT, AGAIN),
    "causal, continuous": (
        *(*BASE, *CAUSAL, *CRITERION, "--tdo-positions", "continuous"),
        *("--tdo-position-embedding", "learned", "--tdo-share-embeddings", "decoder"),
    ),
    "encoder-decoder": (
        *(*BASE, *ENCODER_DECODER, *CRITERION, "--tdo-position-embedding", "none"),
        *("--tdo-share-embeddings", "none", "--cross-entropy", "whole", "--report-accuracy"),
    ),
    "rotary, source sees start": (
        *(*BASE, *TWO_STAGE, *CRITERION, "--tdo-source-sees-start"),
        *("--tdo-position-embedding", "rotary", "--tdo-freeze-embeddings"),
    ),
    "all terms": (*BASE, *TWO_STAGE, *CRITERION, *ALL_TERMS),
    "all terms, other choices": (
        *(*BASE, *ENCODER_DECODER, *CRITERION, *ALL_TERMS, "--source-noise", "bert"),
        *("--instrucl-weighting", "tag-share", "--instrucl-scale", "per-token"),
        *("--tpdm-anchor", "sinusoidal", "--tdo-tpdm-gate", "relaxed-bernoulli"),
        *("--tpdm-detach-positional", "--tpdm-new-generator", "--reconstruction-task", "ae"),
        *("--reconstruction-schedule", "linear", "--reconstruction-tau", "50"),
        *("--reconstruction-normalization", "mean", "--ignore-prefix-size", "1"),
    ),
    "hard gates": (
        *(*BASE, *CAUSAL, *CRITERION, "--loss-terms", "tpdm,reconstruction"),
        *("--tdo-tpdm-layer", "1", "--tdo-tpdm-gate", "hard-concrete", "--max-update", "100"),
        *("--reconstruction-schedule", "exponential", "--reconstruction-tau", "50"),
        "--sentence-avg",
    ),
    "language-aware": (
        *(*BASE, *TWO_STAGE, *CRITERION, "--tdo-laln", "both", "--tdo-lalt", "xavier"),
        *("--tdo-cut-residual", "1"),
    ),
    "language-aware source": (
        *(*BASE, *TWO_STAGE, *CRITERION, "--tdo-laln", "source", "--tdo-lalt", "authors"),
        *("--tdo-ffn-experts", "target", "--loss-terms", "instrucl"),
    ),
    "merged": (
        *(*BASE, *ENCODER_DECODER, *CRITERION, "--tdo-decoder-attention", "merged"),
        *("--tdo-laln", "target", "--tdo-lalt", "identity"),
    ),
    "target attention": (
        *(*BASE, *ENCODER_DECODER, *CRITERION, "--tdo-target-attention", "cross"),
    ),
    "target attention in all": (
        *(*BASE, *TWO_STAGE, *CRITERION, "--tdo-target-attention", "all"),
        *("--tdo-masked-tags", "2"),
    ),
    "adapters": (*BASE, *PREFIX, *CRITERION, "--tdo-adapter-dim", "4"),
    "neurons": (*BASE, *TWO_STAGE, *CRITERION, *NEURONS),
    "general neurons": (
        *(*BASE, *ENCODER_DECODER, *CRITERION, *NEURONS, "--tdo-zero-shot-neurons", "general"),
    ),
    "back-translation": (*ROBT, *TWO_STAGE, *CRITERION, *VARIED),
    "back-translation with a beam": (*ROBT, *TWO_STAGE, *CRITERION, *VARIED, "--robt-beam", "2"),
    "a loss scale too large": (*BASE, *TWO_STAGE, *CRITERION, "--fp16-init-scale", "16777216"),
}
LANGUAGE_AWARE = (*TWO_STAGE, "--tdo-laln", "both", "--tdo-lalt", "xavier")
# flags, beam, and whether in half precision
SEARCHES = {
    "beam": ((*BASE, *TWO_STAGE, *CRITERION), 3, False),
    "beam, language-aware": ((*BASE, *LANGUAGE_AWARE, *CRITERION), 3, False),
    "beam, merged": (
        (*BASE, *ENCODER_DECODER, *CRITERION, "--tdo-decoder-attention", "merged"),
        *(3, False),
    ),
    "greedy": ((*BASE, *ENCODER_DECODER, *CRITERION), 1, False),
    "beam in half precision": ((*BASE, *TWO_STAGE, *CRITERION), 3, True),
    "greedy in half precision": ((*BASE, *TWO_STAGE, *CRITERION), 1, True),
}
