"""Builds a model from a specification: the only module that chooses parts."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from torch import Tensor, nn

from tdo_plugin.modules.attention import MultiheadAttention, best_kernel
from tdo_plugin.modules.cross_attention_layer import CrossAttentionLayer
from tdo_plugin.modules.dropout import Dropout, PlainDropout
from tdo_plugin.modules.embeddings import Embeddings
from tdo_plugin.modules.initializers import DRAWS, start_as_identity
from tdo_plugin.modules.layer import (
    FeedForward,
    JointLayer,
    PostNormResidual,
    PreNormResidual,
    Residual,
    TargetLayer,
)
from tdo_plugin.modules.linear import LayerNorm, Linear, Projection, project_packed
from tdo_plugin.modules.methods.adaptation import Adaptation
from tdo_plugin.modules.methods.adapters import AdaptedResidual, PairAdapters
from tdo_plugin.modules.methods.disentangler import Disentangler, Gate, Head
from tdo_plugin.modules.methods.expert_ffn import ExpertFeedForward
from tdo_plugin.modules.methods.language_norm import LanguageNorm
from tdo_plugin.modules.methods.language_transformation import LanguageTransformation
from tdo_plugin.modules.methods.merged_layer import MergedAttentionLayer
from tdo_plugin.modules.methods.residual_cut import Cut
from tdo_plugin.modules.methods.target_attention import TargetProjection, project_for_targets
from tdo_plugin.modules.positions import (
    LearnedPositions,
    NoPositions,
    RotaryPositions,
    SinusoidalPositions,
)
from tdo_plugin.modules.source_part import SourcePart
from tdo_plugin.modules.spec import ModelSpec, SpecError
from tdo_plugin.modules.stack import DecoderOnlyStack, EncoderDecoderStack, NormRows, Parts
from tdo_plugin.modules.translation_model import TranslationModel

RESIDUALS: dict[str, type[Residual]] = {"pre": PreNormResidual, "post": PostNormResidual}
Layer = TypeVar("Layer", bound=TargetLayer)
# the streams that pass through a part
SOURCE, TARGET = frozenset({"source"}), frozenset({"target"})
BOTH = SOURCE | TARGET
AWARE = {"none": frozenset[str](), "source": SOURCE, "target": TARGET, "both": BOTH}


class Builder:
    """Makes the parts that a specification requires.

    The class attributes choose implementations that give the same results; benchmarks and tests
    override them to compare.
    """

    model_type = TranslationModel
    dropout_type: type[PlainDropout] = Dropout
    kernel = staticmethod(best_kernel)
    project = staticmethod(project_packed)
    recompute_norms = True  # in the backward pass, instead of keeping their outputs
    whole_layers = False  # or only the requested tokens of a layer that nothing else reads

    def __init__(self, spec: ModelSpec, padding_idx: int) -> None:
        self.spec = spec
        self.padding_idx = padding_idx

    def build(self, source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
        """A freshly initialised model.

        Args:
            source_vocabulary: rows of the source embedding.
            target_vocabulary: rows of the target embedding and of the output.

        Raises:
            SpecError: all embeddings are to be shared, but the vocabularies differ in size.
        """
        source_positions, target_positions = self.positions()
        return self.model_type(
            self.spec,
            self.stack(),
            self.embeddings(source_vocabulary, target_vocabulary),
            source_positions,
            target_positions,
            self.dropout(self.spec.dropout),
        )

    def embeddings(self, source_vocabulary: int, target_vocabulary: int) -> Embeddings:
        """Source and target embeddings and output projection, shared as specified."""
        sharing = self.spec.share_embeddings
        if sharing == "all" and source_vocabulary != target_vocabulary:
            raise SpecError(
                "`--tdo-share-embeddings` must be decoder or none when source and target have "
                f"separate vocabularies ({source_vocabulary} and {target_vocabulary} entries);"
                " it is all"
            )
        embeddings = Embeddings(
            self.embedding(source_vocabulary),
            None if sharing == "all" else self.embedding(target_vocabulary),
            self.output(target_vocabulary) if sharing == "none" else None,
            self.spec.masked_tags,
        )
        if self.spec.freeze_embeddings:
            embeddings.requires_grad_(False)
        return embeddings

    def output(self, vocabulary: int) -> nn.Linear:
        """An unshared output projection, initialised N(0, 1 / D)."""
        output = nn.Linear(self.spec.model_dim, vocabulary, bias=False)
        nn.init.normal_(output.weight, std=self.spec.model_dim**-0.5)
        return output

    def embedding(self, vocabulary: int) -> nn.Embedding:
        """An embedding initialised N(0, 1 / D) with a zero row for padding, as in fairseq."""
        embedding = nn.Embedding(vocabulary, self.spec.model_dim, self.padding_idx)
        nn.init.normal_(embedding.weight, std=self.spec.model_dim**-0.5)
        nn.init.zeros_(embedding.weight[self.padding_idx])
        return embedding

    def positions(self) -> tuple[nn.Module, nn.Module | None]:
        """Position embeddings of source and target; None for the target if they share a table."""
        spec = self.spec
        if spec.position_embedding in ("none", "rotary"):  # rotary positions act in the attention
            return NoPositions(), None
        if spec.position_embedding == "sinusoidal":
            return SinusoidalPositions(spec.model_dim, self.padding_idx), None
        # the source of an identity pair is a tag and a whole target
        source_length = max(spec.max_source_positions, spec.max_target_positions + 1)
        if spec.positions == "continuous":
            return self.learned_positions(source_length + spec.max_target_positions), None
        return (
            self.learned_positions(source_length),
            self.learned_positions(spec.max_target_positions),
        )

    def learned_positions(self, length: int) -> LearnedPositions:
        """A learned table for ``length`` positions."""
        return LearnedPositions(self.spec.model_dim, self.padding_idx, length)

    def stack(self) -> DecoderOnlyStack | EncoderDecoderStack:
        """All layers, with the bridge and the output block."""
        spec = self.spec
        how = spec.source_attention == "causal", self.whole_layers
        if spec.topology == "encoder-decoder":
            encoder = [self.source_layer(number) for number in range(1, spec.encoder_layers + 1)]
            decoder = [self.decoder_layer() for _ in range(spec.decoder_layers)]
            return EncoderDecoderStack(
                self.started(encoder, stage1=len(encoder)),
                self.started(decoder, stage1=0),
                self.bridge(),
                self.output_block(),
                *how,
            )
        layers = [self.source_layer(number) for number in range(1, spec.target_layer + 1)]
        while len(layers) < spec.num_layers:
            layers.append(self.second_stage_layer(len(layers) + 1))
        bridge, output_block = self.bridge(), self.output_block()
        layers = self.started(layers, stage1=spec.target_layer)
        return DecoderOnlyStack(
            layers, spec.target_layer, bridge, output_block, *how, self.norm_rows()
        )

    def started(self, layers: list[Layer], stage1: int) -> list[Layer]:
        """Layers of one stack, from the first, with weight matrices initialised as specified.

        Args:
            layers: freshly built.
            stage1: number of leading layers that belong to the first stage or the encoder.
        """
        init = self.spec.init
        for draw in (DRAWS[name] for name in init if name in DRAWS):
            for depth, layer in enumerate(layers, start=1):
                draw(layer, depth)
        if "identity-stage1" not in init:
            stage1 = 0
        for layer in layers if "identity-all" in init else layers[:stage1]:
            start_as_identity(layer)
        return layers

    def norm_rows(self) -> NormRows:
        """In norms of joint layers, the stream that LALN leaves out uses an extra last row."""
        left_out = BOTH - AWARE[self.spec.laln]
        if left_out in (BOTH, frozenset()):
            return NormRows()
        return NormRows(**dict.fromkeys(left_out, self.spec.num_languages))

    def bridge(self) -> Parts:
        """On the source where the target enters: final norm (pre-norm), adaptation, LALT."""
        if self.spec.entry_layer == 0:
            return Parts()
        return Parts(*self.final_norm(SOURCE), *self.adaptation(), *self.language_transformation())

    def output_block(self) -> Parts:
        """On the target after the last layer: adaptation, then the final norm (pre-norm)."""
        return Parts(*self.adaptation(), *self.final_norm(TARGET))

    def final_norm(self, streams: frozenset[str]) -> list[nn.Module]:
        """The norm at the end of a pre-norm stack; empty for post-norm."""
        return [self.norm(streams)] if self.spec.norm == "pre" else []

    def language_transformation(self) -> list[nn.Module]:
        """The transformation for each target language (LALT); empty if off."""
        spec = self.spec
        if spec.lalt == "none":
            return []
        return [LanguageTransformation(spec.num_languages, spec.model_dim, spec.lalt)]

    def adaptation(self) -> list[nn.Module]:
        """An adaptation module; empty if off."""
        if self.spec.adaptation_dim == 0:
            return []
        adaptation = Adaptation(
            self.feed_forward(self.spec.adaptation_dim), self.dropout(self.spec.dropout)
        )
        if "identity-adaptation" in self.spec.init:
            start_as_identity(adaptation)
        return [adaptation]

    def joint_layer(self, number: int, ffn_dim: int, streams: frozenset[str]) -> JointLayer:
        """Self-attention and FFN, with the parts that the source's layer ``number`` has in between.

        Layers are counted from 1; number 0 is a layer outside the source's stack.
        """
        return JointLayer(
            self.attention(rotary=number > 0),
            self.layer_ffn(ffn_dim),
            self.attention_residual(streams),
            self.last_residual(streams),
            Cut() if 0 < number == self.spec.cut_residual else None,
            self.disentangler() if 0 < number == self.spec.tpdm_layer else None,
        )

    def source_layer(self, number: int) -> JointLayer:
        """A layer for the source stream alone."""
        return self.joint_layer(number, self.spec.stage1_ffn_dim, SOURCE)

    def second_stage_layer(self, number: int) -> JointLayer:
        """A layer for both streams."""
        return self.joint_layer(number, self.spec.stage2_ffn_dim, BOTH)

    def disentangler(self) -> SourcePart:
        """TPDM: the semantic and the positional head, and the gate if the model has one."""
        return Disentangler(
            Head(self.square(), self.norm(SOURCE), self.square(), self.norm(SOURCE)),
            Head(self.square(), self.norm(SOURCE), self.square()),
            None if self.spec.tpdm_gate == "none" else self.gate(),
        )

    def gate(self) -> Gate:
        """The gate of GTPDM, computed from the state of each token."""
        return Gate(self.square(), Linear(self.spec.model_dim, 1))

    def square(self) -> Linear:
        """A linear transformation from the model width to itself."""
        return Linear(self.spec.model_dim, self.spec.model_dim)

    def decoder_layer(self) -> TargetLayer:
        """An encoder-decoder's decoder layer."""
        kinds: dict[str, Callable[[], TargetLayer]] = {
            "separate": self.cross_attention_layer,
            "merged": self.merged_attention_layer,
        }
        return kinds[self.spec.decoder_attention]()

    def cross_attention_layer(self) -> CrossAttentionLayer:
        """Self-attention, cross-attention and FFN."""
        return CrossAttentionLayer(
            self.attention(),
            self.attention(cross=True),
            self.layer_ffn(self.spec.stage2_ffn_dim),
            self.attention_residual(TARGET),
            self.attention_residual(TARGET),
            self.last_residual(TARGET),
        )

    def merged_attention_layer(self) -> MergedAttentionLayer:
        """Merged attention and FFN."""
        return MergedAttentionLayer(
            self.attention(cross=True),
            self.layer_ffn(self.spec.stage2_ffn_dim),
            self.attention_residual(TARGET),
            self.last_residual(TARGET),
        )

    def attention(self, cross: bool = False, rotary: bool = False) -> MultiheadAttention:
        """Multi-head attention, with projections for each target language if specified.

        Args:
            cross: whether it is cross-attention or merged attention.
            rotary: whether it rotates queries and keys when positions are rotary.
        """
        spec = self.spec
        sizes = spec.model_dim, spec.num_heads, self.attention_dropout()
        turns = rotary and spec.position_embedding == "rotary"
        positions = RotaryPositions(spec.model_dim // spec.num_heads) if turns else None
        project: Callable[..., list[Tensor]] = self.project
        projection: Callable[..., Projection] = Projection
        if spec.target_attention == "all" or (spec.target_attention == "cross" and cross):
            project = project_for_targets
            projection = partial(TargetProjection, spec.num_languages)
        return MultiheadAttention(*sizes, project, projection, positions, self.kernel)

    def feed_forward(self, inner_dim: int) -> FeedForward:
        """A feed-forward network."""
        return FeedForward(
            self.spec.model_dim, inner_dim, self.dropout(self.spec.activation_dropout)
        )

    def layer_ffn(self, inner_dim: int) -> FeedForward:
        """A layer's feed-forward network, one for each target language if specified."""
        spec = self.spec
        if spec.ffn_experts == "none":
            return self.feed_forward(inner_dim)
        sizes = spec.num_languages, spec.model_dim, inner_dim
        return ExpertFeedForward(*sizes, self.dropout(spec.activation_dropout))

    def residual(self, streams: frozenset[str]) -> Residual:
        """Norm, dropout and residual connection of a sublayer, in pre-norm or post-norm order."""
        return RESIDUALS[self.spec.norm](self.norm(streams), self.dropout(self.spec.dropout))

    def attention_residual(self, streams: frozenset[str]) -> Residual:
        """The residual connection around an attention."""
        return self.residual(streams)

    def last_residual(self, streams: frozenset[str]) -> Residual:
        """The residual connection around a layer's last sublayer, followed by any adapters."""
        spec, residual = self.spec, self.residual(streams)
        if spec.adapter_dim == 0:
            return residual
        adapters = PairAdapters(spec.num_pairs, spec.model_dim, spec.adapter_dim)
        return AdaptedResidual(residual, adapters)

    def attention_dropout(self) -> PlainDropout | None:
        """Dropout on attention weights; None if the rate is zero."""
        rate = self.spec.attention_dropout
        return self.dropout_type(rate) if rate else None

    def dropout(self, rate: float) -> nn.Module:
        """Dropout; the identity if the rate is zero."""
        return self.dropout_type(rate) if rate else nn.Identity()

    def norm(self, streams: frozenset[str]) -> LayerNorm:
        """Layer norm, with parameters for each language if LALN is on for these streams."""
        spec, aware = self.spec, AWARE[self.spec.laln] & streams
        if not aware:
            return LayerNorm(spec.model_dim, self.recompute_norms)
        rows = spec.num_languages + (aware != streams)
        return LanguageNorm(spec.model_dim, rows, self.recompute_norms)
