"""Linguistic preference of the source states of one sentence, by layer (ours).

The measure is equation 11 of Qu et al., with the similarity that their code computes for a single
sentence, a correlation of the mean states; the published figures average it over a test set. Here
the model's own translation takes the place of the reference translation, which a typed sentence
does not have (ours). So the score is only as meaningful as the translation: where it is off target,
the state is compared with a sentence of another language.

Shapes: S source, D model width.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tdo_plugin.analysis.preference.measure import Preference, measure
from tdo_plugin.analysis.preference.pooled import pooled_outputs
from tdo_plugin.analysis.preference.similarity import forms
from tdo_plugin.modules.token_context import TokenContext
from tdo_plugin.modules.translation_model import TranslationModel

FORM = "sentence"
# given languages of a sentence and of its tag: the sentence (1, S), and its context (1,)
Source = Callable[[str, str], tuple[Tensor, TokenContext]]


def sentence_preference(
    core: TranslationModel, source_of: Source, direction: str
) -> tuple[Preference, ...]:
    """The preference of each source layer, from layer 1; NaN where a state does not vary.

    Args:
        core: in evaluation mode.
        source_of: returns the sentence in a language, with the tag of a language.
        direction: such as `de-fr`.
    """
    layers = range(1, core.spec.source_layers + 1)

    def read(language: str, tag: str) -> dict[int, Tensor]:
        tokens, context = source_of(language, tag)
        batch = torch.zeros(1, dtype=torch.long), tokens, context
        return pooled_outputs(core, [batch], layers, 1)

    return measure(read, [direction], {FORM: forms(1.0)[FORM]}).preferences
