"""The frozen, validated description of one translation model."""

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

# How layers start: one way to draw their weights, and what starts as the identity.
INITIALIZERS = MappingProxyType(
    {
        "standard": "matrices drawn as in fairseq",
        "depth-scaled": "drawn Xavier-uniform, divided by the square root of the layer's depth "
        "(DS-Init)",
        "depth-scaled-quarter": "by the fourth root (the authors' code)",
        "identity-stage1": "what the first stage's (or the encoder's) attention and FFNs add to "
        "the residual stream at zero (ours)",
        "identity-adaptation": "what the adaptation modules add at zero (ours)",
        "identity-all": "what any layer adds at zero (ours)",
    }
)


class SpecError(ValueError):
    """One or more values of a specification are wrong; the message lists all of them."""

    one_line = True


def _listed(names: MappingProxyType[str, str]) -> str:
    return "; ".join(f"{name} ({what})" for name, what in names.items())


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """Numbers and choices that fix a model; each field says of itself what it is.

    Decoder-only models count ``num_layers`` over both stages (the paper's 2N); the target enters
    at layer ``target_layer`` (M): 0 is a plain decoder-only model, N is TDO. Encoder-decoders
    have ``encoder_layers`` and ``decoder_layers`` and leave those two alone. ``num_languages`` and
    ``num_pairs`` are counted where a part has parameters for each, and are 0 elsewhere.

    Raises:
        SpecError: on unknown or contradictory values, all of them in one message.
    """

    topology: Topology = option(
        "one stack for both streams, or encoder and decoder", on_command_line="decoder-only"
    )
    num_layers: int = option(
        "decoder-only: layers of both stages together (the paper's 2N)", 0, flag="--tdo-layers"
    )
    target_layer: int = option(
        "decoder-only: layers that the source passes before the target enters (M); 0: one stage", 0
    )
    encoder_layers: int = option("encoder-decoder: layers of the encoder (N)", 0)
    decoder_layers: int = option("encoder-decoder: layers of the decoder", 0)
    source_attention: SourceAttention = option(
        "source positions see the whole source, or earlier positions only", "prefix"
    )
    source_sees_start: bool = option(
        "decoder-only: in the layers that the target passes, source positions see its first "
        "symbol, too, which is always the same (as the released training scripts of TDO have it); "
        "where M is one less than all layers only a loss on the last one sees a difference",
        False,
    )
    model_dim: int = option("width of the model (d)", on_command_line=512)
    num_heads: int = option("attention heads", flag="--tdo-heads", on_command_line=8)
    stage1_ffn_dim: int = option(
        "inner size below the target's entry, or of the encoder; 0: --tdo-ffn-dim",
        on_command_line=0,
    )
    stage2_ffn_dim: int = option(
        "inner size from the target's entry on, or of the decoder; 0: --tdo-ffn-dim",
        on_command_line=0,
    )
    adaptation_dim: int = option("inner size of the two adaptation modules; 0: none", 0)
    norm: NormOrder = option(
        "layer norm before each sublayer, or after the residual connection", "post"
    )
    decoder_attention: DecoderAttention = option(
        "encoder-decoder: self- and cross-attention of the decoder as two sublayers or as one "
        "(MATT: the mean of the target so far is added to what it reads of the source)",
        "separate",
    )
    init: tuple[str, ...] = option(
        "how layers start, comma-separated: " + _listed(INITIALIZERS),
        ("standard",),
        on_command_line="standard",
    )
    dropout: float = option(
        "dropout on embeddings and on every sublayer's output",
        0.0,
        flag="--dropout",
        on_command_line=0.1,
    )
    attention_dropout: float = option(
        "dropout on attention weights", 0.0, flag="--attention-dropout"
    )
    activation_dropout: float = option("dropout after the ReLU", 0.0, flag="--activation-dropout")
    positions: PositionCount = option(
        "source and target are counted apart, or as one sequence", "independent"
    )
    position_embedding: PositionEmbedding = option(
        "what a position looks like; rotary: queries and keys of decoder-only models are turned",
        "sinusoidal",
    )
    share_embeddings: EmbeddingSharing = option(
        "one matrix for source, target and output; for target and output; or three", "all"
    )
    freeze_embeddings: bool = option("leave the embeddings as they start", False)
    laln: LanguageNorms = option(
        "language-aware layer norm: gain and bias of each target language at the positions of the "
        "source, of the target, or of both (the paper's)",
        "none",
        needs="languages",
        title="LALN",
    )
    lalt: LanguageTransformations = option(
        "language-aware linear transformation of the source where the target reads it, and how "
        "each matrix starts: identity, Xavier-uniform, or the authors' far smaller uniform",
        "none",
        needs="languages",
        title="LALT",
    )
    target_attention: TargetAttention = option(
        "target-specific attention: query, key, value and output projections of each target "
        "language, in an encoder-decoder's cross-attention or in all attentions",
        "none",
        needs="languages",
        title="attention",
    )
    ffn_experts: FFNExperts = option(
        "feed-forward networks of each target language in all layers (ours)",
        "none",
        needs="languages",
        title="FFN",
    )
    adapter_dim: int = option(
        "inner size of an adapter for each trained language pair at the end of every layer; 0: "
        "none",
        0,
        needs="pairs",
        off=0,
        title="adapters",
    )
    cut_residual: int = option(
        "layer of the source, from 1, without the residual connection around its attention "
        "(MNMT-RC); 0: none",
        0,
    )
    tpdm_layer: int = option(
        "layer of the source, from 1, in which a module disentangles position from meaning (TPDM), "
        "for --criterion label_smoothed_cross_entropy_tpdm; 0: none",
        0,
        off=0,
        title="the positional head",
        trained_by="tpdm",
    )
    tpdm_gate: TokenGate = option(
        "TPDM: whether each token is disentangled is drawn from its own learned probability "
        "(GTPDM), and how",
        "none",
    )
    neuron_masks: str = option(
        "file of `tdo neurons allocate` that says which neurons each language pair uses; all "
        "others are zero, in training and in decoding",
        "",
        needs="both languages",
        off="",
        title="neurons",
    )
    zero_shot_neurons: ZeroShotNeurons = option(
        "what pairs without a mask use: the neurons of all pairs with their source language and of "
        "all with their target language, or the general neurons alone",
        "union",
    )
    masked_tags: int = option(
        "so many language tags and symbols behind them, the last in the target's dictionary, take "
        "no part in the softmax",
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
        """The flag that sets a field, for messages that a user can act on."""
        declared = options_of(cls).get(name)
        return "--" + name.replace("_", "-") if declared is None else declared.flag

    def needing(self, *needs: str) -> dict[str, Option]:
        """The options that are on and need one of these of the task or a batch, by field."""
        return {
            name: declared
            for name, declared in options_of(self).items()
            if declared.needs in needs and getattr(self, name) != declared.off
        }

    def same_for_all(self) -> "ModelSpec":
        """The same model without parts for single languages and pairs."""
        needing = self.needing("languages", "pairs", "both languages")
        off: dict[str, Any] = {name: declared.off for name, declared in needing.items()}
        return replace(self, **off, num_languages=0, num_pairs=0, zero_shot_neurons="union")

    @cached_property
    def language_aware(self) -> bool:
        """Whether any part asks for the target language."""
        return bool(self.needing("languages"))

    @cached_property
    def pair_aware(self) -> bool:
        """Whether any part asks for both languages of a sentence."""
        return bool(self.needing("pairs", "both languages"))

    @cached_property
    def source_layers(self) -> int:
        """How many layers the source can pass: what a layer index of the source counts to."""
        return self.num_layers if self.topology == "decoder-only" else self.encoder_layers

    @property
    def entry_layer(self) -> int:
        """After how many source layers the target enters (M, or N of an encoder-decoder)."""
        return self.target_layer if self.topology == "decoder-only" else self.encoder_layers

    @property
    def read_layers(self) -> int:
        """How many of the source's layers have an output that a target reads, in the end.

        Of the last joint layer it reads keys and values, which are made of the layer's input.
        """
        return self.source_layers - (self.topology == "decoder-only")
