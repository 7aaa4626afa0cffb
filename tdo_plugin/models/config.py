"""The models' command-line options, flat as fairseq needs them."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_args, get_type_hints

from fairseq.dataclass import ChoiceEnum, FairseqDataclass

from tdo_plugin.errors import UserError
from tdo_plugin.modules.spec import (
    PLAIN,
    STARTS,
    DecoderAttention,
    EmbeddingSharing,
    LanguageNorms,
    LanguageTransformations,
    ModelSpec,
    NormOrder,
    PositionCount,
    PositionEmbedding,
    SourceAttention,
    SpecError,
    TargetAttention,
    TokenGate,
    Topology,
    ZeroShotNeurons,
)
from tdo_plugin_settings import shown

TOPOLOGIES = ChoiceEnum(get_args(Topology))
SOURCE_ATTENTIONS = ChoiceEnum(get_args(SourceAttention))
NORMS = ChoiceEnum(get_args(NormOrder))
POSITIONS = ChoiceEnum(get_args(PositionCount))
POSITION_EMBEDDINGS = ChoiceEnum(get_args(PositionEmbedding))
SHARINGS = ChoiceEnum(get_args(EmbeddingSharing))
DECODER_ATTENTIONS = ChoiceEnum(get_args(DecoderAttention))
LANGUAGE_NORMS = ChoiceEnum(get_args(LanguageNorms))
LANGUAGE_TRANSFORMATIONS = ChoiceEnum(get_args(LanguageTransformations))
TOKEN_GATES = ChoiceEnum(get_args(TokenGate))
TARGET_ATTENTIONS = ChoiceEnum(get_args(TargetAttention))
ZERO_SHOT_NEURONS = ChoiceEnum(get_args(ZeroShotNeurons))


@dataclass
class TdoConfig(FairseqDataclass):
    """Options of every architecture here; a preset changes the defaults."""

    tdo_topology: TOPOLOGIES = field(  # type: ignore[valid-type]
        default="decoder-only",
        metadata={"help": "one stack for both streams, or encoder and decoder"},
    )
    tdo_layers: int = field(
        default=0,
        metadata={"help": "decoder-only: layers of both stages together (the paper's 2N)"},
    )
    tdo_target_layer: int = field(
        default=0,
        metadata={
            "help": "decoder-only: layers that the source passes before the target enters (M);"
            " 0: one stage"
        },
    )
    tdo_encoder_layers: int = field(
        default=0, metadata={"help": "encoder-decoder: layers of the encoder (N)"}
    )
    tdo_decoder_layers: int = field(
        default=0, metadata={"help": "encoder-decoder: layers of the decoder"}
    )
    tdo_source_attention: SOURCE_ATTENTIONS = field(  # type: ignore[valid-type]
        default="prefix",
        metadata={"help": "source positions see the whole source, or earlier positions only"},
    )
    tdo_model_dim: int = field(default=512, metadata={"help": "width of the model (d)"})
    tdo_heads: int = field(default=8, metadata={"help": "attention heads"})
    tdo_ffn_dim: int = field(
        default=2048, metadata={"help": "inner size of the feed-forward networks"}
    )
    tdo_stage1_ffn_dim: int = field(
        default=0,
        metadata={
            "help": "inner size below the target's entry, or of the encoder; 0: --tdo-ffn-dim"
        },
    )
    tdo_stage2_ffn_dim: int = field(
        default=0,
        metadata={
            "help": "inner size from the target's entry on, or of the decoder; 0: --tdo-ffn-dim"
        },
    )
    tdo_adaptation_dim: int = field(
        default=0, metadata={"help": "inner size of the two adaptation modules; 0: none"}
    )
    tdo_norm: NORMS = field(  # type: ignore[valid-type]
        default="post",
        metadata={"help": "layer norm before each sublayer, or after the residual connection"},
    )
    tdo_decoder_attention: DECODER_ATTENTIONS = field(  # type: ignore[valid-type]
        default="separate",
        metadata={
            "help": "encoder-decoder: self- and cross-attention of the decoder as two sublayers or "
            "as one (MATT: the mean of the target so far is added to what it reads of the source)"
        },
    )
    tdo_init: str = field(
        default="standard",
        metadata={
            "help": "how layers start, comma-separated: "
            + "; ".join(f"{name} ({what})" for name, what in STARTS.items())
        },
    )
    dropout: float = field(
        default=0.1, metadata={"help": "dropout on embeddings and on every sublayer's output"}
    )
    attention_dropout: float = field(default=0.0, metadata={"help": "dropout on attention weights"})
    activation_dropout: float = field(default=0.0, metadata={"help": "dropout after the ReLU"})
    tdo_positions: POSITIONS = field(  # type: ignore[valid-type]
        default="independent",
        metadata={"help": "source and target are counted apart, or as one sequence"},
    )
    tdo_position_embedding: POSITION_EMBEDDINGS = field(  # type: ignore[valid-type]
        default="sinusoidal", metadata={"help": "what a position looks like"}
    )
    tdo_share_embeddings: SHARINGS = field(  # type: ignore[valid-type]
        default="all",
        metadata={
            "help": "one matrix for source, target and output; for target and output; or three"
        },
    )
    tdo_freeze_embeddings: bool = field(
        default=False, metadata={"help": "leave the embeddings as they start"}
    )
    tdo_laln: LANGUAGE_NORMS = field(  # type: ignore[valid-type]
        default="none",
        metadata={
            "help": "language-aware layer norm: gain and bias of each target language at the "
            "positions of the source, of the target, or of both (the paper's)"
        },
    )
    tdo_lalt: LANGUAGE_TRANSFORMATIONS = field(  # type: ignore[valid-type]
        default="none",
        metadata={
            "help": "language-aware linear transformation of the source where the target reads it, "
            "and how each matrix starts: identity, Xavier-uniform, or the authors' far smaller "
            "uniform"
        },
    )
    tdo_target_attention: TARGET_ATTENTIONS = field(  # type: ignore[valid-type]
        default="none",
        metadata={
            "help": "target-specific attention: query, key, value and output projections of each "
            "target language, in an encoder-decoder's cross-attention or in all attentions"
        },
    )
    tdo_adapter_dim: int = field(
        default=0,
        metadata={
            "help": "inner size of an adapter for each trained language pair at the end of every "
            "layer; 0: none"
        },
    )
    tdo_cut_residual: int = field(
        default=0,
        metadata={
            "help": "layer of the source, from 1, without the residual connection around its "
            "attention (MNMT-RC); 0: none"
        },
    )
    tdo_tpdm_layer: int = field(
        default=0,
        metadata={
            "help": "layer of the source, from 1, in which a module disentangles position from "
            "meaning (TPDM), for --criterion label_smoothed_cross_entropy_tpdm; 0: none"
        },
    )
    tdo_tpdm_gate: TOKEN_GATES = field(  # type: ignore[valid-type]
        default="none",
        metadata={
            "help": "TPDM: whether each token is disentangled is drawn from its own learned "
            "probability (GTPDM), and how"
        },
    )
    tdo_neuron_masks: str = field(
        default="",
        metadata={
            "help": "file of `tdo allocate` that says which neurons each language pair uses; all "
            "others are zero, in training and in decoding"
        },
    )
    tdo_zero_shot_neurons: ZERO_SHOT_NEURONS = field(  # type: ignore[valid-type]
        default="union",
        metadata={
            "help": "what pairs without a mask use: the neurons of all pairs with their source "
            "language and of all with their target language, or the general neurons alone"
        },
    )
    tdo_masked_tags: int = field(
        default=0,
        metadata={
            "help": "so many language tags and symbols behind them, the last in the target's "
            "dictionary, take no part in the softmax"
        },
    )
    tdo_plain: str = field(
        default="",
        metadata={
            "help": "compute some of these the plain way, to compare, comma-separated, or all: "
            + "; ".join(f"{name} ({what})" for name, what in PLAIN.items())
        },
    )


def spec_from_args(args: Namespace, num_languages: int = 0, num_pairs: int = 0) -> ModelSpec:
    """The validated specification of what the command line says.

    Args:
        args: older checkpoints' lack the newer options.
        num_languages: of the task; what has no part for each language does not ask for it.
        num_pairs: likewise, that are trained.

    Raises:
        UserError: naming every value that is wrong.
    """
    values = {
        option.name: getattr(args, option.name, option.default)
        for option in fields(TdoConfig)
        if option.name not in ("_name", "tdo_ffn_dim")
    }
    _check_kinds(values)
    aware = {values[f"tdo_{name}"] for name in ("laln", "lalt", "target_attention")} != {"none"}
    one_stage = values["tdo_topology"] == "decoder-only" and values["tdo_target_layer"] == 0
    if one_stage and values["tdo_stage1_ffn_dim"]:
        raise UserError(
            "`--tdo-stage1-ffn-dim` must be left out where `--tdo-target-layer` is 0: there is no "
            f"first stage; it is {values['tdo_stage1_ffn_dim']}"
        )
    named = values["tdo_plain"]
    values["tdo_plain"] = tuple(PLAIN if named == "all" else filter(None, named.split(",")))
    values["tdo_init"] = tuple(filter(None, values["tdo_init"].split(",")))
    values["tdo_stage1_ffn_dim"] = values["tdo_stage1_ffn_dim"] or args.tdo_ffn_dim
    values["tdo_stage2_ffn_dim"] = values["tdo_stage2_ffn_dim"] or args.tdo_ffn_dim
    try:
        return ModelSpec(
            num_layers=values.pop("tdo_layers"),
            num_heads=values.pop("tdo_heads"),
            num_languages=num_languages if aware else 0,
            num_pairs=num_pairs if values["tdo_adapter_dim"] else 0,
            max_source_positions=getattr(args, "max_source_positions", 1024),
            max_target_positions=getattr(args, "max_target_positions", 1024),
            **{name.removeprefix("tdo_"): value for name, value in values.items()},
        )
    except SpecError as error:
        raise UserError(str(error)) from None


def _check_kinds(values: Mapping[str, Any]) -> None:
    """Refuse what a command line cannot say, and a checkpoint can."""
    kinds = get_type_hints(TdoConfig)
    for name, value in values.items():
        kind = kinds[name]
        if kind not in (int, float, bool, str):
            continue  # one of some names, which the specification checks
        right = (int, float) if kind is float else kind
        if not isinstance(value, right) or isinstance(value, bool) != (kind is bool):
            raise UserError(
                f"`--{name.replace('_', '-')}` must be of type {kind.__name__}; it is "
                f"{shown(repr(value))}"
            )
