"""The model for Hugging Face transformers: training, `generate`, loading and saving.

The source passes its layers once per sentence; beams share its keys and values.

Shapes: B sentences, R = B * beams rows, S source, T target, D model width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from tdo_plugin.export.remote_code.cache_tdo import TdoCache
from tdo_plugin.export.remote_code.configuration_tdo import TdoConfig
from tdo_plugin.export.remote_code.encoder_tdo import TdoEncoder, TdoEncoderOutput, masked
from tdo_plugin.export.remote_code.generation_tdo import TdoGenerationMixin
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.language_pairs import LanguagePairs
from tdo_plugin.modules.methods.neuron_masks import NeuronMasks
from tdo_plugin.modules.positions import SinusoidalPositions
from tdo_plugin.modules.source_state import SourceState
from tdo_plugin.modules.translation_model import TranslationModel

IGNORED = -100  # the label that transformers leaves out of the loss
# settings of `generate`, and why they must be off
UNSUPPORTED = {
    "output_attentions": "attention weights are not kept",
    "output_hidden_states": "states of the target's layers are not kept",
    "prompt_lookup_num_tokens": "proposals cannot be taken back",
    "assistant_early_exit": "proposals cannot be taken back",
}


@dataclass
class TdoOutput(ModelOutput):
    """The result of a forward pass.

    Attributes:
        loss: mean cross-entropy of the labels, if given.
        logits: (R, T, V).
        cache: the target so far; also as ``past_key_values``, its name in transformers 4.
        encoder_last_hidden_state: as in :class:`TdoEncoderOutput`.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    cache: TdoCache | None = None
    encoder_last_hidden_state: Tensor | None = None

    @property
    def past_key_values(self) -> TdoCache | None:
        return self.cache


class TdoForConditionalGeneration(TdoGenerationMixin, PreTrainedModel):
    """A translation model of tdo_plugin: decoder-only, two-stage (TDO) or encoder-decoder."""

    config_class = TdoConfig
    base_model_prefix = ""
    main_input_name = "input_ids"
    _supports_sdpa = True

    def __init__(self, config: TdoConfig) -> None:
        super().__init__(config)
        self.core = core_of(config)
        self.encoder = TdoEncoder(self.core, config)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: TdoEncoderOutput | None = None,
        cache: TdoCache | None = None,
        labels: Tensor | None = None,
        src_lang_id: Tensor | None = None,
        tgt_lang_id: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        past_key_values: TdoCache | None = None,
    ) -> TdoOutput:
        """Logits of the next tokens, and the loss of labels.

        Args:
            input_ids: sources (B, S) as the tokenizer makes them, padded on either side.
            attention_mask: (B, S), 0 at positions that are not read.
            decoder_input_ids: targets (R, T), each beginning with the end symbol; with a cache only
                the new positions. None: made from the labels.
            decoder_attention_mask: (R, T), 0 at positions that are not read.
            encoder_outputs: of sources that have already been encoded.
            cache: earlier target positions, from the output of the last call.
            labels: (R, T); -100 and padding are left out of the loss.
            src_lang_id: index of each source language in ``config.languages`` (B,), if the model
                has parts for language pairs; default: from the tag in the source, if any.
            tgt_lang_id: the same for target languages, if the model has parts for languages.
            use_cache: return a cache for further positions.
            output_attentions: must be off.
            output_hidden_states: compute all layers of the source whole.
            return_dict: ignored; the output is always a :class:`TdoOutput`.
            past_key_values: another name of ``cache``.

        Raises:
            ValueError: the language of a sentence is needed, and neither given nor in its tag.
            LookupError: the model has adapters, but not for the pair of a sentence.
        """
        if encoder_outputs is None:
            encoder_outputs = self.encoder(
                input_ids,
                attention_mask,
                src_lang_id,
                tgt_lang_id,
                output_attentions,
                output_hidden_states,
            )
        tokens = self._target_tokens(decoder_input_ids, decoder_attention_mask, labels)
        state = _with_beams(encoder_outputs, len(tokens))
        cache = cache or past_key_values
        if use_cache and cache is None:
            cache = TdoCache(self.core.new_cache(state.beams))
        logits = self._logits(tokens, state, cache)
        return TdoOutput(
            loss=None if labels is None else self._loss(logits, labels),
            logits=logits,
            cache=cache,
            encoder_last_hidden_state=encoder_outputs.last_hidden_state,
        )

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Labels (R, T) shifted to the right, after the end symbol that begins every target."""
        start = labels.new_full((len(labels), 1), self.config.decoder_start_token_id)
        shifted = torch.cat([start, labels[:, :-1]], 1)
        return shifted.masked_fill(shifted.eq(IGNORED), self.config.pad_token_id)

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        """As in :class:`TdoGenerationMixin`, without assisted generation."""
        if kwargs.get("assistant_model") is not None:
            raise ValueError(
                "`assistant_model` must be left out: its proposals cannot be taken back"
            )
        return super().generate(*args, **kwargs)

    def prepare_inputs_for_generation(
        self,
        input_ids: Tensor,
        encoder_outputs: TdoEncoderOutput | None = None,
        cache: TdoCache | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The arguments of :meth:`forward` in the next step of a search.

        Args:
            input_ids: targets so far (R, T).
            encoder_outputs: of the sources.
            cache: of earlier steps.
            use_cache: return a cache.
            kwargs: ignored; the encoder has read them.
        """
        done = 0 if cache is None else cache.get_seq_length()
        return {
            "decoder_input_ids": input_ids[:, done:],
            "encoder_outputs": encoder_outputs,
            "cache": cache,
            "use_cache": use_cache,
        }

    def get_encoder(self, *args: Any, **kwargs: Any) -> TdoEncoder:
        """The source stream."""
        return self.encoder

    def get_input_embeddings(self) -> nn.Module:
        """The source embedding, (V, D)."""
        return self.core.embeddings.source

    def get_output_embeddings(self) -> None:
        """None: the model shares its output projection itself, if it is shared."""
        return None

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Module:
        """Not possible: tags stand at the end of the vocabulary."""
        raise NotImplementedError("the vocabulary is fixed; `tdo extend` adds languages")

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """As in transformers, which leaves computed tables undefined.

        Raises:
            ValueError: parameters are missing, or have another shape.
        """
        wants_info = kwargs.pop("output_loading_info", False)
        model, info = super().from_pretrained(*args, output_loading_info=True, **kwargs)
        if missing := [*info["missing_keys"], *info["mismatched_keys"]]:
            raise ValueError(f"the weights must be complete; {missing[0]} is missing or misfits")
        model.restore_tables()
        return (model, info) if wants_info else model

    def restore_tables(self) -> None:
        """Compute what the weights' file does not have: positions, and masks of single gates."""
        for part in self.core.modules():
            if isinstance(part, SinusoidalPositions):
                part.rebuild()
        neurons = self.core.neurons
        if neurons is not None:
            neurons.take(neurons.masks, neurons.general, neurons.pairs, neurons.digest)

    def _init_weights(self, module: nn.Module) -> None:
        """Nothing: the builder has initialised the parameters."""

    def _target_tokens(
        self, ids: Tensor | None, attention_mask: Tensor | None, labels: Tensor | None
    ) -> Tensor:
        """Targets (R, T) as they are read, made from the labels if they are not given."""
        if ids is None:
            if labels is None:
                raise ValueError("`decoder_input_ids` or `labels` must be given; neither is")
            ids = self.prepare_decoder_input_ids_from_labels(labels)
        return masked(ids, attention_mask, self.config.pad_token_id)

    def _logits(self, tokens: Tensor, state: SourceState, cache: TdoCache | None) -> Tensor:
        """Logits (R, T, V) after the tokens (R, T), which are added to the cache if there is one.

        Entries that are left out of the softmax (``masked_tags``) have minus infinity.
        """
        if cache is None:
            features = self.core.decode(tokens, state)
        else:
            features = self.core.decode(cache.append(tokens), state, cache.store)
        logits = self.core.logits(features)
        return F.pad(logits, (0, self.core.spec.masked_tags), value=-torch.inf)

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Mean cross-entropy, in at least single precision."""
        targets = labels.masked_fill(labels.eq(self.config.pad_token_id), IGNORED).flatten()
        wide = torch.promote_types(logits.dtype, torch.float32)
        return F.cross_entropy(logits.flatten(0, 1).to(wide), targets, ignore_index=IGNORED)

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        """No: the first forward pass makes a cache of the model's own."""
        return False

    def _prepare_generation_config(self, *args: Any, **kwargs: Any) -> Any:
        """As in transformers, without what a search of this model cannot do."""
        prepared = super()._prepare_generation_config(*args, **kwargs)
        for name, reason in UNSUPPORTED.items():
            if getattr(prepared[0], name, None):
                raise ValueError(f"`{name}` must be off in `generate`: {reason}")
        return prepared

    def _update_model_kwargs_for_generation(
        self, outputs: TdoOutput, model_kwargs: dict[str, Any], **kwargs: Any
    ) -> dict[str, Any]:
        updated: dict[str, Any] = super()._update_model_kwargs_for_generation(
            outputs, model_kwargs, **kwargs
        )
        if outputs.cache is not None:
            # the search reorders what has the first name in transformers 4, the second in 5
            updated["past_key_values"] = updated["cache"] = outputs.cache
        return updated


def _with_beams(encoder_outputs: TdoEncoderOutput, rows: int) -> SourceState:
    """The encoded sources, which ``rows`` rows of targets read: as many rows each."""
    state = encoder_outputs.state
    assert state is not None
    return replace(state, beams=rows // state.sentences)


def core_of(config: TdoConfig) -> TranslationModel:
    """The model without transformers, freshly initialised."""
    spec = config.spec
    core = Builder(spec, config.pad_token_id).build(config.vocab_size, config.vocab_size)
    if spec.num_pairs:
        core.pairs = LanguagePairs(config.languages, config.pairs)
    if spec.neuron_masks:
        core.neurons = NeuronMasks(core.stack, len(config.languages), spec.zero_shot_neurons)
        # in the shapes of the weights' file
        masks, pairs = core.neurons.masks, core.neurons.pairs
        core.neurons.masks = masks.new_zeros(config.masked_pairs, masks.size(1))
        core.neurons.pairs = pairs.new_zeros(config.masked_pairs, 2)
    return core
