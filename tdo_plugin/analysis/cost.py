"""The cost of a model: parameters by part, and floating-point operations by a formula.

FLOPs follow the two streams: the source passes its layers once per sentence (in the last layer
only keys and values are needed); target queries read [source ; target so far]. A multiply-add
counts as two operations. Matrix products are counted, and in attention the query-key pairs that
the mask admits; norms, softmax, averages and additions are not. Symbols: S source positions, T
target positions, d model width, f inner size of an FFN, V vocabulary.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from functools import lru_cache

import torch
from torch import nn

from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.methods.adaptation import Adaptation
from tdo_plugin.modules.methods.language_transformation import LanguageTransformation
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.stack import DecoderOnlyStack
from tdo_plugin.modules.translation_model import TranslationModel

# In table order. Stage 1 is an encoder-decoder's encoder, stage 2 its decoder; "other" is empty for
# all current models.
PARTS = (
    "embeddings",
    "positions",
    "stage1_layers",
    "stage2_layers",
    "adaptation",
    "adapters",
    "lalt",
    "tpdm",
    "final_norms",
    "other",
)

# For each type of target layer: whether it attends to the target (0: it averages), and the number
# of d x d projections per target position. The source's keys and values are a cost of the source.
TARGET_LAYERS = {
    ("decoder-only", "separate"): (1, 4),
    ("encoder-decoder", "separate"): (1, 6),
    ("encoder-decoder", "merged"): (0, 3),
}


@lru_cache(maxsize=4)  # nobody changes it, and estimates of one training ask several times
def outline(spec: ModelSpec, source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
    """The model without memory for its parameters (on torch's meta device).

    Raises:
        SpecError: the vocabularies do not fit the sharing of embeddings.
    """
    with torch.device("meta"):
        return Builder(spec, padding_idx=1).build(source_vocabulary, target_vocabulary)


@dataclass(frozen=True)
class ParameterCount:
    """Numbers of parameters; shared ones are counted once."""

    by_part: dict[str, int]
    trainable: int
    frozen: int

    @property
    def total(self) -> int:
        """The number of all parameters."""
        return self.trainable + self.frozen


def count_parameters(model: TranslationModel) -> ParameterCount:
    """The number of parameters in each of ``PARTS``."""
    by_part: Counter[str] = Counter(dict.fromkeys(PARTS, 0))
    by_state: Counter[bool] = Counter()
    for name, parameter in model.named_parameters():
        by_part[_part(model, name)] += parameter.numel()
        by_state[parameter.requires_grad] += parameter.numel()
    return ParameterCount(dict(by_part), by_state[True], by_state[False])


def _part(model: TranslationModel, name: str) -> str:
    """The part that a parameter belongs to."""
    place = name.split(".")
    if "pre_ffn" in place:
        return "tpdm"
    if "adapters" in place:
        return "adapters"
    if place[0] == "embeddings":
        return "embeddings"
    if place[0] in ("source_positions", "target_positions"):
        return "positions"
    if place[:2] == ["stack", "encoder_layers"]:
        return "stage1_layers"
    if place[:2] == ["stack", "decoder_layers"]:
        return "stage2_layers"
    if place[:2] == ["stack", "layers"]:
        assert isinstance(model.stack, DecoderOnlyStack)
        return "stage1_layers" if int(place[2]) < model.stack.target_layer else "stage2_layers"
    if place[:2] in (["stack", "bridge"], ["stack", "output_block"]):
        module = model.get_submodule(".".join(place[:3]))
        if isinstance(module, Adaptation):
            return "adaptation"
        if isinstance(module, LanguageTransformation):
            return "lalt"
        if isinstance(module, nn.LayerNorm):
            return "final_norms"
    return "other"


@dataclass(frozen=True)
class Flops:
    """Operations of a pass, by kind.

    Attributes:
        layers: attention projections and FFNs.
        attention: scores and weighted sums.
        adaptation: the adaptation modules.
        vocabulary: the output projection.
        lalt: the language-aware transformation of the source.
        tpdm: the heads and gate of TPDM; in training also its generator and losses.
        adapters: adapters of language pairs, at the end of layers.
    """

    layers: int = 0
    attention: int = 0
    adaptation: int = 0
    vocabulary: int = 0
    lalt: int = 0
    tpdm: int = 0
    adapters: int = 0

    @property
    def total(self) -> int:
        """The sum over all kinds."""
        return sum(astuple(self))

    def __add__(self, other: "Flops") -> "Flops":
        return Flops(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, times: int) -> "Flops":
        return Flops(*(times * value for value in astuple(self)))

    __rmul__ = __mul__

    def as_dict(self) -> dict[str, int]:
        """By kind, and ``total``."""
        kinds: dict[str, int] = {kind.name: getattr(self, kind.name) for kind in fields(self)}
        return {**kinds, "total": self.total}


class FlopModel:
    """FLOPs of one sentence through a model.

    The first target symbol that sources see (``source_sees_start``) is not counted.

    Args:
        spec: of the model.
        target_vocabulary: V of the output projection.
    """

    def __init__(self, spec: ModelSpec, target_vocabulary: int) -> None:
        self.spec = spec
        self.target_vocabulary = target_vocabulary
        self._unit = spec.model_dim**2  # a d x d projection costs twice this per position

    def training(self, source_length: int, target_length: int) -> Flops:
        """Forward and backward; a backward pass costs as much as two forward passes."""
        passes = 3 * self.forward(source_length, target_length)
        return passes + self._tpdm_training(source_length)

    def _tpdm_training(self, length: int) -> Flops:
        """The additional cost of TPDM's losses: positional head, gate, and twice the generator.

        The generator's own step needs no gradient for its inputs h and p; in the model's step its
        weights need none. Similarities are of p to G(h) in both steps, and of p to the anchors.
        """
        spec = self.spec
        if not spec.tpdm_layer:
            return Flops()
        inner = self._source_ffns()[spec.tpdm_layer - 1]
        heads = 4 * self._unit + (spec.tpdm_gate != "none") * 2 * (self._unit + spec.model_dim)
        weights = 5 * (10 * self._unit + self._ffn(inner)) - 6 * self._unit
        generator = length * weights + 6 * self._pairs(length)
        similarities = 8 * 2 * length * length * spec.model_dim
        return Flops(tpdm=3 * length * heads + generator + similarities)

    def instrucl(self, source_length: int, target_length: int, layer: int) -> Flops:
        """The additional cost of InstruCL in training: the identity pair's source (tag and target).

        It passes the layers up to ``layer``, from 1, forward and backward; in ``layer`` itself only
        the tag does, with the keys and values of all. If this is the last layer, of which the
        target needs only keys and values, the tag of the original source passes it as well.
        """
        length, spec = target_length + 1, self.spec
        added = self.source_layer_outputs(length, layer - 1) + Flops(layers=4 * length * self._unit)
        if spec.entry_layer == layer - 1 > 0:
            added += self._entry(length)
        added += self._tag_state(length, layer)
        if spec.topology == "decoder-only" and layer == spec.num_layers:
            added += self._tag_state(source_length, layer)
        if spec.topology == "encoder-decoder" and layer == spec.encoder_layers:
            added += 2 * self._entry(1)  # both tags in the encoder's output
        return 3 * added

    def reconstruction(self, length: int) -> Flops:
        """The additional cost of source reconstruction, for a source of ``length`` with its tag.

        The last layer and the output block are computed at all source positions, and all tokens
        but one have logits: in language modelling the last has no successor, in auto-encoding the
        tag is not predicted.
        """
        spec = self.spec
        if spec.topology == "decoder-only":
            state = self._last_layer_rest(length) + self._adaptation(length)
        else:
            state = self._entry(length)
        tokens = length - 1
        logits = Flops(vocabulary=2 * tokens * spec.model_dim * self.target_vocabulary)
        return 3 * (state + logits)

    def lexical(self, source_length: int, target_length: int) -> Flops:
        """The additional cost of the lexical loss, in an update in which it is on.

        The source's states pass the bridge once more. Each has logits over the vocabulary, for the
        normalization, which the backward pass computes again, and one for each target token.
        """
        logits = 2 * source_length * self.spec.model_dim
        summed = Flops(vocabulary=4 * logits * self.target_vocabulary + 3 * logits * target_length)
        return summed + 3 * self._entry(source_length)

    def _tag_state(self, length: int, layer: int) -> Flops:
        """A layer at one position, given keys and values at ``length`` positions."""
        inner = self._source_ffns()[layer - 1]
        return Flops(
            layers=4 * self._unit + self._ffn(inner),
            attention=4 * length * self.spec.model_dim,
            tpdm=(layer == self.spec.tpdm_layer) * 4 * self._unit,
            adapters=self._adapter(),
        )

    def generation(self, source_length: int, target_length: int, beam: int) -> Flops:
        """Incremental decoding of ``target_length`` steps; beams share the source.

        Keys and values are cached, so a row costs the same step by step as in one pass.
        """
        return self.source(source_length) + beam * self.target(source_length, target_length)

    def forward(self, source_length: int, target_length: int) -> Flops:
        """One forward pass with source, target and logits."""
        return self.source(source_length) + self.target(source_length, target_length)

    def source(self, length: int) -> Flops:
        """The source, as far as the target needs it."""
        passed = self.source_layer_outputs(length, self.spec.source_layers)
        if self.spec.topology == "encoder-decoder":
            memories = Flops(layers=4 * length * self._unit * self.spec.decoder_layers)
            return passed + self._entry(length) + memories
        return passed + -1 * self._last_layer_rest(length)

    def source_layer_outputs(self, length: int, layer: int) -> Flops:
        """The source up to the output of ``layer``, from 1, before any adaptation after it."""
        flops = sum(
            (self._joint_layer(length, inner) for inner in self._source_ffns()[:layer]), Flops()
        )
        if 0 < self.spec.tpdm_layer <= layer:
            flops += Flops(tpdm=length * 4 * self._unit)
        entered = 0 < self.spec.entry_layer < layer
        return flops + (self._entry(length) if entered else Flops())

    def target(self, source_length: int, target_length: int) -> Flops:
        """One target row through its layers, with logits."""
        spec, length = self.spec, target_length
        count = spec.decoder_layers or spec.num_layers - spec.target_layer
        self_attends, products = TARGET_LAYERS[spec.topology, spec.decoder_attention]
        pairs = length * source_length + self_attends * length * (length + 1) // 2
        layer = Flops(
            layers=length * (2 * products * self._unit + self._ffn(spec.stage2_ffn_dim)),
            attention=4 * pairs * spec.model_dim,
            adapters=length * self._adapter(),
        )
        logits = Flops(vocabulary=2 * length * spec.model_dim * self.target_vocabulary)
        return count * layer + self._adaptation(length) + logits

    def _source_ffns(self) -> Sequence[int]:
        """The FFN sizes of the layers that the source passes."""
        spec = self.spec
        below = [spec.stage1_ffn_dim] * spec.entry_layer
        return below + [spec.stage2_ffn_dim] * (spec.source_layers - spec.entry_layer)

    def _joint_layer(self, length: int, inner: int) -> Flops:
        """One layer at the source positions."""
        return Flops(
            layers=length * (8 * self._unit + self._ffn(inner)),
            attention=self._source_attention(length),
            adapters=length * self._adapter(),
        )

    def _last_layer_rest(self, length: int) -> Flops:
        """The part of a joint layer that the target does not need: all but keys and values."""
        return Flops(
            layers=length * (4 * self._unit + self._ffn(self.spec.stage2_ffn_dim)),
            attention=self._source_attention(length),
            adapters=length * self._adapter(),
        )

    def _source_attention(self, length: int) -> int:
        causal = self.spec.source_attention == "causal"
        return self._pairs(length, causal)

    def _pairs(self, length: int, causal: bool = False) -> int:
        """Scores and weighted sums of ``length`` queries and keys."""
        pairs = length * (length + 1) // 2 if causal else length * length
        return 4 * pairs * self.spec.model_dim

    def _ffn(self, inner: int) -> int:
        """An FFN at one position."""
        return 4 * self.spec.model_dim * inner

    def _adapter(self) -> int:
        """A layer's adapter at one position; 0 without adapters."""
        return self._ffn(self.spec.adapter_dim)

    def _entry(self, length: int) -> Flops:
        """The bridge: adaptation and transformation of the source where the target enters."""
        aware = self.spec.lalt != "none"
        return self._adaptation(length) + Flops(lalt=aware * length * 2 * self._unit)

    def _adaptation(self, length: int) -> Flops:
        """One of the two adaptation modules; 0 without them."""
        return Flops(adaptation=length * self._ffn(self.spec.adaptation_dim))
