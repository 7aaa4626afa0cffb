"""The papers' protocols, as the notes and papers have them."""

import pytest

from tdo_plugin.evaluation.protocols import DEFAULT, PROTOCOLS, protocol
from tdo_plugin.evaluation.score_sheet import METRICS

DECODING = {
    "tdo": (4, 1.0, "length", 0, 200, "best-5", "zh-ja-ko"),
    "opus100": (4, 0.6, "gnmt", 1, 50, "last-5", "13a"),
    "tpdm": (5, 1.0, "length", 0, 200, "best-1", "zh-ja-ko"),
    "tlm": (4, 0.6, "gnmt", 1, 50, "best-1", "moses"),
    "neurons": (4, 0.6, "length", 0, 200, "best-1", "13a"),
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_decoding_and_tokens(name):
    chosen = protocol(name)
    search = (chosen.beam, chosen.length_penalty, chosen.penalty_form)
    limits = (chosen.max_len_a, chosen.max_len_b)
    assert DECODING[name] == (*search, *limits, chosen.checkpoints, chosen.tokenizer)
    assert set(chosen.metrics) <= set(METRICS)
    assert chosen.source


def test_what_is_peculiar_to_one():
    def those(holds):
        return [name for name, settings in PROTOCOLS.items() if holds(settings)]

    assert those(lambda settings: settings.skip_zeros) == ["tdo"]
    assert those(lambda settings: settings.lowercase) == ["tpdm"]
    assert those(lambda settings: settings.detector == "langdetect") == ["opus100"]
    assert those(lambda settings: settings.pooled and settings.perplexity) == ["tlm"]


def test_names(refused):
    assert protocol(None) is DEFAULT
    with refused.raised("another name", names="--protocol"):
        protocol("nllb")
