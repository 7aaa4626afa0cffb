"""Settings of transformers' `generate` that make its search the one of `tdo translate`.

Both searches divide a finished hypothesis' log-probability by a power of its length, end symbol
included, keep the best 2K continuations of K beams at every step, accept an end symbol among the
first K, and stop with K finished hypotheses. They differ in a hypothesis that reaches the maximum
length, whose end symbol has its own probability in fairseq and 1 in transformers, and in a forced
tag of the target, which counts with its own probability in fairseq and 1 in transformers, as with
`tdo translate --free-tag`.
"""

from __future__ import annotations

from typing import Any

from tdo_plugin.export.opened_model import OpenedModel

BEAM, LONGEST = 4, 200  # defaults of `tdo translate`; the end symbol is not counted


def generation_settings(opened: OpenedModel) -> dict[str, Any]:
    """The content of `generation_config.json`."""
    rows = {symbol: row for row, symbol in enumerate(opened.symbols)}
    end, padding = rows["</s>"], rows["<pad>"]
    return {
        "bos_token_id": rows["<s>"],
        "eos_token_id": end,
        "pad_token_id": padding,
        "decoder_start_token_id": end,
        "forced_eos_token_id": end,
        "suppress_tokens": [padding],
        "num_beams": BEAM,
        "length_penalty": 1.0,
        "early_stopping": True,
        "min_new_tokens": 1,
        "max_new_tokens": LONGEST + 1,
    }
