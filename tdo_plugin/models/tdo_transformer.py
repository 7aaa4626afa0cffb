"""The models for fairseq: the source stream is its encoder, the target stream its decoder.

Shapes: B sentences, R = B * beams rows, S source, T target, V vocabulary.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import (
    FairseqEncoder,
    FairseqEncoderDecoderModel,
    FairseqIncrementalDecoder,
    register_model,
)
from torch import Tensor, nn

from tdo_plugin.errors import UserError
from tdo_plugin.models.config import TdoConfig, spec_from_args
from tdo_plugin.models.languages import check_task, context_of, grown
from tdo_plugin.models.mask_files import add_neuron_masks, with_masks
from tdo_plugin.models.trained_pairs import add_pairs, trained_pairs, with_pairs
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.checkpoint_upgrade import upgraded
from tdo_plugin.modules.dropout import PlainDropout
from tdo_plugin.modules.source_state import SourceRequest, SourceState
from tdo_plugin.modules.spec import ModelSpec, SpecError
from tdo_plugin.modules.target_store import TargetStore
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext
from tdo_plugin.modules.translation_model import TranslationModel

MODEL_NAME = "tdo_transformer"
ONE_MORE = " (--source-noise bert adds one, --back-translated-tag too)"
SourceLoss = Callable[[TranslationModel, SourceState], Any]
CACHE = "tdo_target_cache"  # the cache's key in fairseq's incremental state


def sentence_context(
    core: TranslationModel, src_lang_id: Tensor | None, tgt_lang_id: Tensor | None
) -> TokenContext:
    """:func:`.context_of` if the model has parts that need languages; otherwise empty."""
    needed = core.spec.language_aware or core.spec.pair_aware
    return context_of(core, src_lang_id, tgt_lang_id) if needed else NO_CONTEXT


class _Borrowed:
    """Gives encoder and decoder access to the core without registering its parameters twice."""

    _core: tuple[TranslationModel]

    @property
    def core(self) -> TranslationModel:
        return self._core[0]


class SourceStream(_Borrowed, FairseqEncoder):
    """fairseq's encoder: tokens to a :class:`SourceState`."""

    def __init__(self, dictionary: Dictionary, core: TranslationModel) -> None:
        super().__init__(dictionary)
        self._core = (core,)

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        src_lang_id: Tensor | None = None,
        tgt_lang_id: Tensor | None = None,
    ) -> SourceState:
        """Encode the source (B, S); language ids are ignored if the model does not need them."""
        context = sentence_context(self.core, src_lang_id, tgt_lang_id)
        return self.core.encode(src_tokens, context=context)

    def reorder_encoder_out(self, encoder_out: SourceState, new_order: Tensor) -> SourceState:
        """The state for target rows in a new order (R'); beams of a sentence share its state."""
        return encoder_out.reorder(new_order)

    def max_positions(self) -> int:
        return self.core.spec.max_source_positions


class TargetStream(_Borrowed, FairseqIncrementalDecoder):
    """fairseq's decoder: shifted target and source state to logits."""

    def __init__(self, dictionary: Dictionary, core: TranslationModel) -> None:
        super().__init__(dictionary)
        self._core = (core,)

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: SourceState,
        incremental_state: dict[str, Any] | None = None,
        features_only: bool = False,
    ) -> tuple[Tensor, dict[str, Any]]:
        """Logits (R, T, V) of all positions, or of those not yet in the incremental state.

        With an incremental state, logits cover the whole vocabulary, as fairseq's search expects;
        otherwise masked tags are left out.
        """
        cache = None
        if incremental_state is not None:
            cache = incremental_state.setdefault(CACHE, self.core.new_cache(encoder_out.beams))
        features = self.core.decode(prev_output_tokens, encoder_out, cache)
        if features_only:
            return features, {"attn": [None]}
        masked = 0 if cache is None else self.core.spec.masked_tags
        logits = self.core.logits(features)
        return F.pad(logits, (0, masked), value=float("-inf")), {"attn": [None]}

    def extract_features(
        self, prev_output_tokens: Tensor, encoder_out: SourceState, **state: Any
    ) -> tuple[Tensor, dict[str, Any]]:
        """As :meth:`forward`, without the output projection: features (R, T, D)."""
        return self.forward(prev_output_tokens, encoder_out, features_only=True, **state)

    def output_layer(self, features: Tensor) -> Tensor:
        """Features (..., D) to logits (..., V)."""
        return self.core.logits(features)

    def reorder_incremental_state_scripting(
        self, incremental_state: dict[str, Any], new_order: Tensor
    ) -> None:
        cache = incremental_state.get(CACHE)
        if isinstance(cache, TargetStore):
            cache.reorder(new_order)

    def get_normalized_probs(
        self, net_output: tuple[Tensor, Any], log_probs: bool, sample: Any = None
    ) -> Tensor:
        """Probabilities over the vocabulary, in at least single precision."""
        logits = net_output[0]
        dtype = torch.promote_types(logits.dtype, torch.float32)
        normalize = torch.log_softmax if log_probs else torch.softmax
        return normalize(logits, -1, dtype=dtype)

    def max_positions(self) -> int:
        return self.core.spec.max_target_positions


@register_model(MODEL_NAME)
class TdoTransformer(FairseqEncoderDecoderModel):
    """Encoder-decoder, causal and prefix decoder-only, and two-stage decoder-only (TDO) models.

    ``builder`` makes the parts; experiments may replace it.
    """

    builder: type[Builder] = Builder
    for_training = True  # or for inference only; set by the task that builds the model

    def __init__(self, encoder: SourceStream, decoder: TargetStream) -> None:
        super().__init__(encoder, decoder)
        self.core = encoder.core

    @classmethod
    def builder_of(cls, args: Namespace) -> Callable[[ModelSpec, int], Builder]:
        """The constructor of builders, called with a specification and the padding index."""
        return cls.builder

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:
        gen_parser_from_dataclass(parser, TdoConfig(), delete_default=True)

    @classmethod
    def build_model(cls, args: Namespace, task: Any) -> "TdoTransformer":
        languages = list(getattr(task, "langs", ()))
        spec = spec_from_args(args, len(languages), len(trained_pairs(args)))
        check_task(spec, args, task)
        source, target = task.source_dictionary, task.target_dictionary
        if spec.share_embeddings == "all" and source != target:
            raise UserError(
                "`--tdo-share-embeddings` must be decoder or none if source and target have "
                "separate dictionaries; it is all"
            )
        try:
            core = cls.builder_of(args)(spec, source.pad()).build(len(source), len(target))
        except SpecError as error:
            raise UserError(str(error)) from None
        add_pairs(core, args, languages)
        add_neuron_masks(core, task)
        for layer in core.stack.every_layer:
            layer.checkpointed = getattr(args, "checkpoint_activations", False)
        model = cls(SourceStream(source, core), TargetStream(target, core))
        model.for_training = getattr(task, "training", True)
        return model

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        prev_output_tokens: Tensor | None = None,
        src_lang_id: Tensor | None = None,
        tgt_lang_id: Tensor | None = None,
        source_layer_outputs: Collection[int] = (),
        source_token_states: Sequence[tuple[int, Tensor]] = (),
        side_sources: Sequence[SourceRequest] = (),
        source_capture: Collection[str] = (),
        smoothed_target: tuple[Tensor, float] | tuple[Tensor, float, int | None] | None = None,
        source_losses: Sequence[SourceLoss] = (),
    ) -> tuple[Tensor, dict[str, Any]]:
        """Logits (B, T, V), and the outputs that a criterion requests.

        Args:
            src_tokens: (B, S).
            src_lengths: ignored; padding marks the lengths.
            prev_output_tokens: (B, T), the shifted target.
            src_lang_id: (B, 1), index of each sentence's source language, from 1.
            tgt_lang_id: (B, 1), index of each sentence's target language, from 1.
            source_layer_outputs: layers, from 1, whose source output is returned in the extra
                dictionary under ``source``, a :class:`SourceState` (without keys and values if
                the target has read them in the same pass).
            source_token_states: pairs of a layer, from 1, and one position (B,) per sentence,
                whose outputs are returned in the same state.
            side_sources: further sources with the batch's target languages; their states are
                returned under ``side_sources``.
            source_capture: names of tensors inside the source's layers, returned in the state.
            smoothed_target: target (B, T), label smoothing, and possibly the number of tokens, as
                for :func:`.linear_cross_entropy`. If given, summed cross-entropy and negative
                log-likelihood are returned under ``cross_entropy``, and features (B, T, D) instead
                of logits.
            source_losses: functions of the core and the source's state that use parameters of the
                model, since wrappers of distributed training require that parameters are used in
                this pass. Results are returned under ``source_losses``.
        """
        context = sentence_context(self.core, src_lang_id, tgt_lang_id)
        request = SourceRequest(
            src_tokens,
            source_layer_outputs,
            source_token_states,
            context=context,
            capture=source_capture,
        )
        side_requests = [replace(side, context=context) for side in side_sources]
        assert prev_output_tokens is not None  # None only in fairseq's signature
        (source, *sides), features = self.core([request, *side_requests], prev_output_tokens)
        extra: dict[str, Any] = {"attn": [None], "source": source, "side_sources": sides}
        extra["source_losses"] = [loss(self.core, source) for loss in source_losses]
        if smoothed_target is None:
            return self.core.logits(features), extra
        extra["cross_entropy"] = self.core.cross_entropy(features, *smoothed_target)
        return features, extra

    def source_state(
        self, net_input: Mapping[str, Any], layer_outputs: Collection[int]
    ) -> SourceState:
        """The state of a batch's sources, with the outputs of some layers, from 1."""
        ids = (net_input.get(key) for key in ("src_lang_id", "tgt_lang_id"))
        context = sentence_context(self.core, *ids)
        return self.core.encode(net_input["src_tokens"], layer_outputs, context)

    def sharded_units(self) -> list[nn.Module]:
        """The layers, which sharded training gathers and frees one after another.

        The other parameters are gathered for a whole training step.
        """
        return self.core.stack.separate_layers()

    def prepare_for_inference_(self, cfg: Any) -> None:
        """As fairseq's; ``--retain-dropout`` keeps all dropout on, or that of named modules.

        On a CPU the weights are converted to the decoding layout; a later change discards it.
        """
        super().prepare_for_inference_(cfg)
        self.core.pack()
        if getattr(cfg.generation, "retain_dropout", False):
            names = getattr(cfg.generation, "retain_dropout_modules", None)
            self._check_dropout_modules(names or ())
            for module in self.core.modules():
                if names is None or type(module).__name__ in names:
                    for part in module.modules() if names else [module]:
                        if isinstance(part, PlainDropout):
                            part.retained = True

    def _check_dropout_modules(self, names: Sequence[str]) -> None:
        """Raise UserError for a name that no module with dropout has."""
        known = {
            type(module).__name__
            for module in self.core.modules()
            if any(isinstance(part, PlainDropout) for part in module.modules())
        }
        for name in names:
            if name not in known:
                raise UserError(
                    f"`--retain-dropout-modules` must name modules with dropout, "
                    f"{', '.join(sorted(known))}; it has {name}"
                )

    @contextmanager
    def packed(self) -> Iterator[None]:
        """Context manager for decoding between updates: weights are in the decoding layout."""
        self.core.pack()
        try:
            yield
        finally:
            self.core.unpack()

    def load_state_dict(
        self,
        state_dict: Mapping[str, Any],
        strict: bool = True,
        model_cfg: Any = None,
        args: Namespace | None = None,
    ) -> Any:
        """As torch's method; parameters that do not fit are reported in one line.

        Norms and projections of a checkpoint without language-aware parts are copied to every
        language.

        Raises:
            UserError: the dictionaries, languages or architecture differ.
        """
        command = args or model_cfg
        if strict:  # before renaming, since the masks' digest is over the checkpoint's names
            state_dict = with_masks(state_dict, self.core, command, self.for_training)
        state_dict = upgraded(state_dict)
        if strict:
            state_dict = grown(with_pairs(state_dict, self.core), self.core, command)
        model_state = self.state_dict()
        for name in ("core.embeddings.source.weight", "core.embeddings.target.weight"):
            stored, present = state_dict.get(name), model_state.get(name)
            if stored is not None and present is not None and len(stored) != len(present):
                raise UserError(
                    "the checkpoint must fit the dictionary of the data; it has "
                    f"{len(stored)} entries, the dictionary {len(present)}"
                    + (ONE_MORE if abs(len(stored) - len(present)) == 1 else "")
                )
        misfits = sorted(
            [name for name in state_dict if name not in model_state]
            + [
                name
                for name in model_state
                if name not in state_dict or state_dict[name].shape != model_state[name].shape
            ]
        )
        if strict and misfits:
            raise UserError(
                f"the checkpoint must fit the architecture; {len(misfits)} parameters do not, "
                f"the first is {misfits[0]}"
            )
        return super().load_state_dict(state_dict, strict, model_cfg, args)
