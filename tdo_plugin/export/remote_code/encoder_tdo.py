"""The source stream for Hugging Face transformers: the encoder that `generate` calls once.

Shapes: B sentences, S source, D model width.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor, nn
from transformers.utils import ModelOutput

from tdo_plugin.export.remote_code.configuration_tdo import TdoConfig
from tdo_plugin.export.remote_code.generation_tdo import languages
from tdo_plugin.modules.source_state import SourceRequest, SourceState
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext
from tdo_plugin.modules.translation_model import TranslationModel


@dataclass
class TdoEncoderOutput(ModelOutput):
    """The source after its layers.

    Attributes:
        last_hidden_state: (B, S, D), output of the last layer that the target reads as a whole; of
            a decoder-only model the last but one, since the target reads only keys and values of
            the last.
        hidden_states: output of every layer (B, S, D), if requested.
        attentions: always None.
        state: what the target reads: keys and values of every layer.
    """

    last_hidden_state: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: None = None
    state: SourceState | None = None


class TdoEncoder(nn.Module):
    """The source stream of a model, which registers the parameters itself."""

    main_input_name = "input_ids"

    def __init__(self, core: TranslationModel, config: TdoConfig) -> None:
        super().__init__()
        self._core = (core,)  # a tuple, so that parameters are registered once
        self.config = config

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        src_lang_id: Tensor | None = None,
        tgt_lang_id: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> TdoEncoderOutput:
        """Encode sources (B, S); see :meth:`TdoForConditionalGeneration.forward`."""
        if output_attentions:
            raise ValueError("`output_attentions` must be off: attention weights are not kept")
        (core,) = self._core
        spec = core.spec
        tokens = masked(input_ids, attention_mask, self.config.pad_token_id)
        last = spec.read_layers or spec.source_layers
        layers = range(1, spec.source_layers + 1) if output_hidden_states else [last]
        context = self._context(core, tokens, src_lang_id, tgt_lang_id)
        (state,) = core.encode_all([SourceRequest(tokens, layers, context=context)])
        outputs = state.layer_outputs
        return TdoEncoderOutput(
            last_hidden_state=outputs[last],
            hidden_states=tuple(outputs.values()) if output_hidden_states else None,
            state=replace(state, layer_outputs={}),
        )

    def _context(
        self, core: TranslationModel, tokens: Tensor, src: Tensor | None, tgt: Tensor | None
    ) -> TokenContext:
        if not (core.spec.language_aware or core.spec.pair_aware):
            return NO_CONTEXT
        sources = languages(self.config, "src", src, tokens) if core.spec.pair_aware else None
        return core.language_context(sources, languages(self.config, "tgt", tgt, tokens))


def masked(tokens: Tensor, attention_mask: Tensor | None, padding_idx: int) -> Tensor:
    """Token ids with padding wherever the attention mask of the same shape is 0."""
    if attention_mask is None:
        return tokens
    return tokens.masked_fill(attention_mask.eq(0), padding_idx)
