"""The frozen, validated specification of a translation model."""

from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from tdo_plugin.modules.declared_options import Option, option, options_of
from tdo_plugin.modules.spec_rules import problems

Topology = Literal["decoder-only", "encoder-decoder"]
SourceAttention = Literal["prefix", "causal"]
NormOrder = Literal["pre", "post"]
PositionCount = Literal["independent", "continuous"]
PositionEmbedding = Literal["sinusoidal", "learned", "rotary", "none"]
EmbeddingSharing = Literal["all", "decoder", "none"]
DecoderAttention = Literal["separate", "merged"]
LanguageNorms = Literal["none", "source", "target", "both"]
LanguageTransformations = Literal["none", "identity", "xavier", "authors"]
ZeroShotNeurons = Literal["union", "general"]
TargetAttention = Literal["none", "cross", "all"]
FFNExperts = Literal["none", "target"]
TokenGate = Literal["none", "relaxed-bernoulli", "hard-concrete"]

# How layers are initialised: at most one way to draw weights, and parts that start as the identity.
INITIALIZERS = MappingProxyType(
    {
        "standard": "matrices drawn as in fairseq",
        "depth-scaled": "drawn Xavier-uniform, divided by the square root of the layer's depth "
        "(DS-Init)",
        "depth-scaled-quarter": "divided by its fourth root (the authors' code)",
        "identity-stage1": "zero what attention and FFNs of the first stage, or of the encoder, "
        "add to the residual stream (ours)",
        "identity-adaptation": "zero what the adaptation modules add (ours)",
        "identity-all": "zero what all layers add (ours)",
    }
)


class SpecError(ValueError):
    """Values of a specification are invalid; the message lists all problems."""

    one_line = True


def _listed(names: MappingProxyType[str, str]) -> str:
    return "; ".join(f"{name} ({what})" for name, what in names.items())


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """The numbers and choices that define a model; the options document the fields.

    Decoder-only models count ``num_layers`` over both stages (the paper's 2N); the target enters
    at layer ``target_layer`` (M): 0 is a plain decoder-only model, N is TDO. Encoder-decoders set
    ``encoder_layers`` and ``decoder_layers`` instead. ``num_languages`` and ``num_pairs`` are set
    if a part has parameters for each language or pair, and are 0 otherwise.

    Raises:
        SpecError: values are unknown or contradictory; one message lists all problems.
    """

    topology: Topology = option(
        "one stack for source and target, or encoder and decoder", on_command_line="decoder-only"
    )
    num_layers: int = option(
        "decoder-only: number of layers in both stages (the paper's 2N)", 0, flag="--tdo-layers"
    )
    target_layer: int = option(
        "decoder-only: number of layers before the target enters (M); 0: one stage", 0
    )
    encoder_layers: int = option("encoder-decoder: number of encoder layers (N)", 0)
    decoder_layers: int = option("encoder-decoder: number of decoder layers", 0)
    source_attention: SourceAttention = option(
        "source positions attend to the whole source (prefix) or to earlier positions (causal)",
        "prefix",
    )
    source_sees_start: bool = option(
        "decoder-only: source positions also attend to the target's first symbol in the layers "
        "that the target passes, as in the TDO authors' training scripts; if M is the number of "
        "layers minus 1, this affects only losses on the last layer's source states",
        False,
    )
    model_dim: int = option("model width (d)", on_command_line=512)
    num_heads: int = option("number of attention heads", flag="--tdo-heads", on_command_line=8)
    stage1_ffn_dim: int = option(
        "inner FFN size of layers before the target enters, or of the encoder; 0: --tdo-ffn-dim",
        on_command_line=0,
    )
    stage2_ffn_dim: int = option(
        "inner FFN size of layers that the target passes, or of the decoder; 0: --tdo-ffn-dim",
        on_command_line=0,
    )
    adaptation_dim: int = option("inner size of the two adaptation modules (TDO); 0: none", 0)
    norm: NormOrder = option(
        "layer norm before each sublayer (pre), or after its residual connection (post)", "post"
    )
    decoder_attention: DecoderAttention = option(
        "encoder-decoder: decoder with separate self- and cross-attention, or merged into one "
        "sublayer (MATT: the mean of the target's own values is added to the cross-attention)",
        "separate",
    )
    init: tuple[str, ...] = option(
        "initialisation of layers, comma-separated names: " + _listed(INITIALIZERS),
        ("standard",),
        on_command_line="standard",
    )
    dropout: float = option(
        "dropout rate on embeddings and on every sublayer's output",
        0.0,
        flag="--dropout",
        on_command_line=0.1,
    )
    attention_dropout: float = option(
        "dropout rate on attention weights", 0.0, flag="--attention-dropout"
    )
    activation_dropout: float = option(
        "dropout rate after the ReLU", 0.0, flag="--activation-dropout"
    )
    positions: PositionCount = option(
        "positions of source and target counted separately, or continuously as one sequence",
        "independent",
    )
    position_embedding: PositionEmbedding = option(
        "type of position embedding; rotary (RoPE on queries and keys): decoder-only models only",
        "sinusoidal",
    )
    share_embeddings: EmbeddingSharing = option(
        "all: one matrix for source, target and output; decoder: one for target and output; none: "
        "three",
        "all",
    )
    freeze_embeddings: bool = option("do not train the embeddings", False)
    laln: LanguageNorms = option(
        "language-aware layer norm (LALN): gain and bias for each target language at source "
        "positions, target positions, or both (the OPUS-100 paper's)",
        "none",
        needs="languages",
        title="LALN",
    )
    lalt: LanguageTransformations = option(
        "language-aware linear transformation (LALT): a matrix for each target language on the "
        "source states that the target reads; initialised as identity, Xavier-uniform (xavier), "
        "or with the far smaller uniform range of the authors' code (authors)",
        "none",
        needs="languages",
        title="LALT",
    )
    target_attention: TargetAttention = option(
        "target-specific attention: projections (query, key, value, output) for each target "
        "language, in the encoder-decoder's cross-attention (cross) or in all attentions (all)",
        "none",
        needs="languages",
        title="attention",
    )
    ffn_experts: FFNExperts = option(
        "a feed-forward network for each target language in every layer (ours)",
        "none",
        needs="languages",
        title="FFN",
    )
    adapter_dim: int = option(
        "inner size of the adapters, one for each trained language pair at the end of every layer; "
        "0: none",
        0,
        needs="pairs",
        off=0,
        title="adapters",
    )
    cut_residual: int = option(
        "source layer, from 1, without the residual connection around its attention (MNMT-RC); "
        "0: none",
        0,
    )
    tpdm_layer: int = option(
        "source layer, from 1, with the module that disentangles position from meaning (TPDM); "
        "train it with --criterion label_smoothed_cross_entropy_tpdm; 0: none",
        0,
        off=0,
        title="the positional head",
        trained_by="tpdm",
    )
    tpdm_gate: TokenGate = option(
        "TPDM: a learned gate per token that decides whether the token is disentangled (GTPDM), "
        "and its distribution",
        "none",
    )
    neuron_masks: str = option(
        "file from `tdo neurons allocate` with the neurons that each language pair uses; all other "
        "neurons are zero in training and decoding",
        "",
        needs="both languages",
        off="",
        title="neurons",
    )
    zero_shot_neurons: ZeroShotNeurons = option(
        "neurons of pairs without a mask: the union of the masks of all pairs with the same source "
        "language and all with the same target language, or the general neurons alone",
        "union",
    )
    masked_tags: int = option(
        "leave this many entries at the end of the target dictionary (language tags and padding "
        "symbols after them) out of the softmax",
        0,
    )
    num_languages: int = 0
    num_pairs: int = 0
    max_source_positions: int = 1024
    max_target_positions: int = 1024

    def __post_init__(self) -> None:
        if wrong := problems(self, {"init": INITIALIZERS}):
            raise SpecError("; ".join(wrong))

    @classmethod
    def flag(cls, name: str) -> str:
        """The flag that sets a field, for error messages."""
        declared = options_of(cls).get(name)
        return "--" + name.replace("_", "-") if declared is None else declared.flag

    def needing(self, *needs: str) -> dict[str, Option]:
        """The options that are on and need one of these from the task or a batch, by field."""
        return {
            name: declared
            for name, declared in options_of(self).items()
            if declared.needs in needs and getattr(self, name) != declared.off
        }

    def same_for_all(self) -> "ModelSpec":
        """The same model without the parts specific to languages or pairs."""
        needing = self.needing("languages", "pairs", "both languages")
        off: dict[str, Any] = {name: declared.off for name, declared in needing.items()}
        return replace(self, **off, num_languages=0, num_pairs=0, zero_shot_neurons="union")

    @cached_property
    def language_aware(self) -> bool:
        """Whether any part needs the target language."""
        return bool(self.needing("languages"))

    @cached_property
    def pair_aware(self) -> bool:
        """Whether any part needs both languages of a sentence."""
        return bool(self.needing("pairs", "both languages"))

    @cached_property
    def groups_tokens(self) -> bool:
        """Whether any part multiplies the tokens of each language or pair by other weights."""
        return bool(self.needing("languages", "pairs").keys() - {"laln"})

    @cached_property
    def source_layers(self) -> int:
        """The number of layers that a source can pass; the range of source layer indices."""
        return self.num_layers if self.topology == "decoder-only" else self.encoder_layers

    @property
    def entry_layer(self) -> int:
        """The number of source layers before the target enters (M; N of an encoder-decoder)."""
        return self.target_layer if self.topology == "decoder-only" else self.encoder_layers

    @property
    def read_layers(self) -> int:
        """The number of source layers whose output a target reads, directly or indirectly.

        From the last joint layer the target reads only keys and values, made of the layer's input.
        """
        return self.source_layers - (self.topology == "decoder-only")
