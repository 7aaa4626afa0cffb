"""A task, a lively model for it, and what its hook makes."""

import torch
from support.built_models import varied
from support.data import (
    CROSS_ENTROPY,
    ENCODER_DECODER,
    LANGUAGES,
    TAG,
    TASK,
    TDO,
    TRAIN,
    built,
)
from support.robt_reference import read

ROBT = ("--task", "tdo_robt", *TASK, *TRAIN, *TDO)
PREFIX = ("--tdo-target-layer", "0", "--tdo-adaptation-dim", "0")
MERGED = (*ENCODER_DECODER, "--tdo-decoder-attention", "merged")
TOPOLOGIES = {
    "tdo": (),
    "prefix": PREFIX,
    "encoder-decoder": ENCODER_DECODER,
    "language-aware": ("--tdo-laln", "both", "--tdo-lalt", "xavier"),
    "merged, language-aware": (*MERGED, "--tdo-laln", "both", "--tdo-lalt", "xavier"),
}
STRATEGIES = {
    "tgt": TAG,
    "decoder": ("--decoder-langtok",),
    "tgt and decoder": (*TAG, "--decoder-langtok"),
    "src and decoder": ("--encoder-langtok", "src", "--decoder-langtok"),
}


END = 2.5  # makes the end as likely as is good for a test
# a model whose next word depends on where it stands, so that not all is repetition
VARIED = (
    *("--tdo-share-embeddings", "none", "--tdo-position-embedding", "learned"),
    *("--max-source-positions", "24", "--max-target-positions", "24"),
)


def lively(*flags, seed=10, data=None):
    """Task, float64 model in training mode, and criterion; translations vary, and most go on."""
    task, model, criterion = built(*ROBT, *CROSS_ENTROPY, *VARIED, *flags, data=data)
    torch.manual_seed(seed)
    varied(model)
    with torch.no_grad():
        model.core.embeddings.output_weight[task.target_dictionary.eos()] *= END
    return task, model.double().train(), criterion


def made_of(task, model, sample, update=5):
    (hook,) = task.step_hooks
    batches, logs = hook.batches(sample, model, update)
    assert batches[0] is sample
    return batches[1:], logs


def text(task, batch):
    """Each instance of a batch, as the reference has it."""
    fed, rows = batch["net_input"], []
    for k, tokens in enumerate(fed["src_tokens"]):
        languages = [LANGUAGES[int(fed[f"{side}_lang_id"][k, 0]) - 1] for side in ("src", "tgt")]
        rows.append((read(task.source_dictionary, tokens), *languages))
    return rows
