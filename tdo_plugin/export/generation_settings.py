"""Settings of transformers' `generate` that make its search the one of `tdo translate`.

Both searches divide a finished hypothesis' log-probability by a power of its length, end symbol
included, keep the best 2K continuations of K beams at every step, accept an end symbol among the
first K, and stop with K finished hypotheses. They differ in a hypothesis that reaches the maximum
length, whose end symbol has its own probability in fairseq and 1 in transformers, and in a forced
tag of the target, which counts with its own probability in fairseq and 1 in transformers, as with
`tdo translate --free-tag`. The code in the folder makes both count as in fairseq.
"""

from __future__ import annotations

from typing import Any

from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.export.opened_model import OpenedModel

USUAL = DecodingOptions(())  # the defaults of `tdo translate`
SEARCH = (
    f"the search of `tdo translate`: beam {USUAL.beam}, length penalty {USUAL.length_penalty:g}."
)


def generation_settings(opened: OpenedModel) -> dict[str, Any]:
    """The content of `generation_config.json`."""
    end, padding = opened.row("</s>"), opened.row("<pad>")
    return {
        "bos_token_id": opened.row("<s>"),
        "eos_token_id": end,
        "pad_token_id": padding,
        "decoder_start_token_id": end,
        "forced_eos_token_id": end,
        "suppress_tokens": [padding],
        "num_beams": USUAL.beam,
        "length_penalty": USUAL.length_penalty,
        "early_stopping": True,
        "min_new_tokens": USUAL.min_len,
        "max_new_tokens": longest_target(opened) + 1,  # with the end symbol
    }


def longest_target(opened: OpenedModel) -> int:
    """The maximum number of tokens of a hypothesis, without the end symbol."""
    return min(USUAL.max_len_b, opened.spec.max_target_positions - 1)
