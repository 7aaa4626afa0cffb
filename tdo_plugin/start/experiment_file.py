"""The experiment file that `tdo start` writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from tdo_plugin.runtime.files import write_text
from tdo_plugin.start.choices import ENCODER_DECODER, TWO_STAGE, Choices
from tdo_plugin.typed import read_json

FILE = "experiment.toml"
RECORD = "written.json"  # digest of the written file, to detect edits
TABLE = "comparison"


def experiment(title: str, data: Path, choices: Choices) -> str:
    """Return the content of the experiment file.

    Args:
        title: title of the report.
        data: path of the data folder.
        choices: sizes and settings of both systems.
    """
    parts = [_head(title, data, choices), _shared_flags(choices)]
    for name in choices.systems:
        parts += [SECTIONS[name](choices), _sizes(choices)]
    return "".join([*parts, _table(choices.systems)])


def _head(title: str, data: Path, choices: Choices) -> str:
    why = "\n".join(f"# - {name}: {text}" for name, text in choices.reasons.items())
    return f"""\
# Written by `tdo start`. Edit it as you like (docs/reproduce/experiments.md), then give the same
# `tdo start` command again, which uses an edited file as it is and repeats the steps that depend on
# the change. Reasons for the values:
{why}
title = {json.dumps(title, ensure_ascii=False)}
recommended = "{choices.recommended}"          # what `tdo serve` and other commands use of this run

[scales.own]
help = "your text"
test = "--last {choices.last}"                       # test the average of the last checkpoints

[corpora.own]
data = {json.dumps(str(data))}
estimate = "--vocab-size {choices.vocab_size}"

"""


def _shared_flags(choices: Choices) -> str:
    return f"""\
# Shared by all systems; the names are options of fairseq-train.
[flags]
gpus = 1                                  # number that max-tokens and update-freq are set for
precision = "{choices.machine.half}"                        # on a GPU
encoder-langtok = "tgt"                   # the source starts with the target language's tag
criterion = "label_smoothed_cross_entropy_terms"  # no extra loss terms by default
label-smoothing = 0.1
dropout = {choices.dropout}
optimizer = "adam"
adam-betas = "(0.9, 0.98)"
lr-scheduler = "inverse_sqrt"
lr = {choices.size.lr}
warmup-updates = {choices.warmup}
weight-decay = 0.0001
sampling-method = "temperature"           # small pairs are oversampled
sampling-temperature = 5
max-tokens = {choices.max_tokens}                         # tokens per batch, of the longer side
update-freq = {choices.update_freq}                           # batches per update
max-update = {choices.updates}
save-interval-updates = {choices.every}
keep-interval-updates = 5
no-epoch-checkpoints = true
max-valid-steps = 20                      # batches per validation, for speed
seed = 1

"""


def _encoder_decoder(choices: Choices) -> str:
    layers = choices.size.layers
    return f"""\
# The usual encoder-decoder Transformer.
[systems.{ENCODER_DECODER}]
corpus = "own"
[systems.{ENCODER_DECODER}.flags]
task = "tdo_translation"
arch = "tdo_encoder_decoder"
tdo-encoder-layers = {layers}
tdo-decoder-layers = {layers}
tdo-norm = "pre"                          # `tdo export --to ctranslate2` requires it
"""


def _two_stage(choices: Choices) -> str:
    layers = choices.size.layers
    return f"""\
# A two-stage decoder-only model (TDO) with InstruCL, our recipe (docs/guide/own-data.md).
# On Multi30k, whose pairs share their English sentences, InstruCL added little to zero-shot
# directions and cost about 1 BLEU on trained ones. To train
# without InstruCL, set loss-terms = "lexical" and remove the options instrucl-*.
[systems.{TWO_STAGE}]
corpus = "own"
[systems.{TWO_STAGE}.flags]
task = "tdo_translation"
arch = "tdo_transformer"
tdo-layers = {2 * layers}
tdo-target-layer = {layers}                      # the target enters after the first stage
tdo-source-attention = "prefix"
tdo-norm = "post"
tdo-adaptation-dim = 0
tdo-init = "identity-stage1"              # the first stage is initialised as the identity
loss-terms = "instrucl,lexical"
lexical-updates = {choices.warmup * 5 // 2}                     # 2.5 times the warm-up
instrucl-layer = {-(-3 * layers // 2)}                        # the middle of the second stage
instrucl-temperature = 0.1
instrucl-weight = 0.3
instrucl-weighting = "tag-share"
instrucl-scale = "per-token"
"""


SECTIONS: dict[str, Callable[[Choices], str]] = {
    ENCODER_DECODER: _encoder_decoder,
    TWO_STAGE: _two_stage,
}


def _sizes(choices: Choices) -> str:
    """Return the flags that every system has, the last of its section."""
    scores = ""
    if choices.eval_sentences:
        scores = (
            'eval-translation = "supervised"            # log BLEU of trained directions\n'
            f"eval-sentences = {choices.eval_sentences}\n"
        )
    return f"""\
tdo-model-dim = {choices.size.dim}
tdo-ffn-dim = {choices.size.ffn}
tdo-heads = {choices.size.heads}
tdo-share-embeddings = "all"
tdo-positions = "independent"
tdo-position-embedding = "sinusoidal"
{scores}
"""


def _table(systems: Sequence[str]) -> str:
    labels = {TWO_STAGE: f"{TWO_STAGE} (recipe)"}
    rows = "".join(f'"{name}" = "{labels.get(name, name)}"\n' for name in systems)
    return f"""\
[tables.{TABLE}]
title = "all directions with a test set"
[tables.{TABLE}.rows]
{rows}"""


def write_experiment(run: Path, text: str) -> bool:
    """Write the file, unless the user has edited it.

    Returns:
        True if the file has this text; False if the user's edited file was kept.
    """
    path, record = run / FILE, run / RECORD
    if path.is_file() and _digest(path.read_text(encoding="utf-8")) not in (
        _recorded(record),
        _digest(text),
    ):
        return False
    write_text(path, text.splitlines())
    write_text(record, [json.dumps({FILE: _digest(text)})])
    return True


def _recorded(record: Path) -> str:
    try:
        return str(read_json(record)[FILE])
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
