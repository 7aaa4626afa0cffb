"""Language identification of sentences by several detectors, and the off-target rate."""

from tdo_plugin.metrics.language_id.choosing import identifier
from tdo_plugin.metrics.language_id.fasttext import FastText
from tdo_plugin.metrics.language_id.langdetect import LangDetect
from tdo_plugin.metrics.language_id.ngrams import (
    CharacterNgrams,
    from_references,
    from_training_side,
)
from tdo_plugin.metrics.language_id.protocol import UNDETECTABLE, Identifier
from tdo_plugin.metrics.language_id.shares import Shares, shares

__all__ = [
    "UNDETECTABLE",
    "CharacterNgrams",
    "FastText",
    "Identifier",
    "LangDetect",
    "Shares",
    "from_references",
    "from_training_side",
    "identifier",
    "shares",
]
