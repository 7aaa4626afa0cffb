"""The frozen, validated description of one translation model."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args, get_origin, get_type_hints

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
TokenGate = Literal["none", "relaxed-bernoulli", "hard-concrete"]

# How layers start: one way to draw their weights, and what starts as the identity.
DRAWN = ("standard", "depth-scaled", "depth-scaled-quarter")
STARTS = MappingProxyType(
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
# What is computed in a faster way than a textbook's, and may be computed in the textbook's.
PLAIN = MappingProxyType(
    {
        "dropout": "torch's own dropout on the CPU",
        "kernels": "cuDNN's attention too, which makes a plan for every shape of a batch",
        "masks": "a mask also where nothing is padded",
        "norms": "the outputs of norms kept for the backward pass instead of made again",
        "projections": "queries, keys and values in products of their own",
        "streams": "sources and target of a batch one after the other instead of side by side",
        "tags": "the last layer that a tag is read from at all positions",
        "weights": "decoding on a CPU with the weights in the order in which they were trained",
    }
)


class SpecError(ValueError):
    """One or more values of a specification are wrong; the message lists all of them."""

    one_line = True


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """Numbers and choices that fix a model.

    Decoder-only models count ``num_layers`` over both stages (the paper's 2N); the target enters
    at layer ``target_layer`` (M): 0 is a plain decoder-only model, N is TDO. Encoder-decoders
    have ``encoder_layers`` and ``decoder_layers`` and leave those two alone.

    ``decoder_attention`` says whether a decoder looks at itself and at the source in two attentions
    or in one, ``init`` how layers start (some of ``STARTS``).

    ``stage1_ffn_dim`` is the inner size below layer M (or of the encoder), ``stage2_ffn_dim`` from
    layer M on (or of the decoder). ``adaptation_dim`` 0 means no adaptation modules. ``laln`` says
    at whose positions norms have rows for each target language, ``lalt`` how a transformation for
    each target language starts where the target reads the source, ``target_attention`` which
    attentions have projections for each target language; for these ``num_languages`` counts the
    languages, and is 0 without them. ``adapter_dim`` is the inner size of an adapter for each of
    ``num_pairs`` pairs of languages at the end of every layer, both 0 without. ``cut_residual`` and
    ``tpdm_layer`` are layers of the source, from 1, or 0 for none: where the residual connection
    around the attention is cut, and where a module disentangles position from meaning, with a gate
    for each token that ``tpdm_gate`` says how to draw. ``neuron_masks`` is a file that says which
    neurons each pair of languages uses, ``zero_shot_neurons`` which ones other pairs do.
    ``masked_tags`` last entries of the target's vocabulary are never predicted. ``plain`` names
    what is not to be computed in a faster way (see ``PLAIN``).

    Raises:
        SpecError: on unknown or contradictory values, all of them in one message.
    """

    topology: Topology
    num_layers: int = 0
    target_layer: int = 0
    encoder_layers: int = 0
    decoder_layers: int = 0
    source_attention: SourceAttention = "prefix"
    model_dim: int
    num_heads: int
    stage1_ffn_dim: int
    stage2_ffn_dim: int
    adaptation_dim: int = 0
    norm: NormOrder = "post"
    decoder_attention: DecoderAttention = "separate"
    init: tuple[str, ...] = ("standard",)
    dropout: float = 0.0
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    positions: PositionCount = "independent"
    position_embedding: PositionEmbedding = "sinusoidal"
    share_embeddings: EmbeddingSharing = "all"
    freeze_embeddings: bool = False
    laln: LanguageNorms = "none"
    lalt: LanguageTransformations = "none"
    target_attention: TargetAttention = "none"
    num_languages: int = 0
    adapter_dim: int = 0
    num_pairs: int = 0
    cut_residual: int = 0
    tpdm_layer: int = 0
    tpdm_gate: TokenGate = "none"
    neuron_masks: str = ""
    zero_shot_neurons: ZeroShotNeurons = "union"
    masked_tags: int = 0
    max_source_positions: int = 1024
    max_target_positions: int = 1024
    plain: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = [*self._wrong_choices(), *self._wrong_numbers(), *self._wrong_layers()]
        problems += [] if problems else [*self._wrong_source_parts(), *self._wrong_starts()]
        if problems:
            raise SpecError("; ".join(problems))

    @property
    def language_aware(self) -> bool:
        """Whether any part asks for the target language."""
        return (self.laln, self.lalt, self.target_attention) != ("none", "none", "none")

    @property
    def pair_aware(self) -> bool:
        """Whether any part asks for both languages of a sentence."""
        return self.neuron_masks != "" or self.adapter_dim > 0

    @property
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

    def _wrong_choices(self) -> list[str]:
        lists = (("plain", PLAIN), ("init", STARTS))
        return [
            f"`{_flag(name)}` must be one of {', '.join(get_args(kind))}; it is {value}"
            for name, kind in get_type_hints(type(self)).items()
            if get_origin(kind) is Literal and (value := getattr(self, name)) not in get_args(kind)
        ] + [
            f"`{_flag(option)}` must be some of {', '.join(known)}; it has {name}"
            for option, known in lists
            for name in getattr(self, option)
            if name not in known
        ]

    def _wrong_starts(self) -> list[str]:
        drawn = [name for name in self.init if name in DRAWN]
        problems = []
        if len(drawn) > 1:
            problems.append(
                f"`{_flag('init')}` must have at most one of {', '.join(DRAWN)}; it has "
                f"{' and '.join(drawn)}"
            )
        identities = [name for name in self.init if name not in DRAWN]
        if not self.init or len({*self.init}) < len(self.init):
            problems.append(f"`{_flag('init')}` must name at least one start, and each once")
        if "identity-all" in self.init and len(identities) > 1:
            problems.append(
                f"`{_flag('init')}` must have identity-all alone of the identities: it is all of "
                f"them; it has {' and '.join(identities)}"
            )
        if "identity-stage1" in self.init and self.entry_layer == 0:
            problems.append(
                f"`{_flag('init')}` must not have identity-stage1 where "
                f"`{_flag('target_layer')}` is 0: there is no first stage"
            )
        if "identity-adaptation" in self.init and self.adaptation_dim == 0:
            problems.append(
                f"`{_flag('init')}` must not have identity-adaptation where "
                f"`{_flag('adaptation_dim')}` is 0: there is no adaptation"
            )
        cut = {"identity-all": self.source_layers, "identity-stage1": self.entry_layer}
        if any(0 < self.cut_residual <= cut.get(name, 0) for name in self.init):
            problems.append(
                f"`{_flag('cut_residual')}` must not be a layer that `{_flag('init')}` starts as "
                f"the identity, which would let nothing pass; it is {self.cut_residual}"
            )
        return problems

    def _wrong_numbers(self) -> list[str]:
        positive: Callable[[float], bool] = lambda value: value > 0  # noqa: E731
        probability: Callable[[float], bool] = lambda value: 0 <= value < 1  # noqa: E731
        rules = (
            (positive, "must be positive", ("model_dim", "num_heads", "stage1_ffn_dim",
             "stage2_ffn_dim", "max_source_positions", "max_target_positions")),
            (probability, "must be at least 0 and below 1",
             ("dropout", "attention_dropout", "activation_dropout")),
            (lambda value: value >= 0, "must not be negative",
             ("adaptation_dim", "adapter_dim", "masked_tags")),
        )  # fmt: skip
        problems = [
            f"`{_flag(name)}` {must}; it is {getattr(self, name)}"
            for holds, must, names in rules
            for name in names
            if not holds(getattr(self, name))
        ]
        if self.num_heads > 0 and self.model_dim % self.num_heads:
            problems.append(
                f"`{_flag('model_dim')}` must be a multiple of `{_flag('num_heads')}`"
                f" ({self.num_heads}); it is {self.model_dim}"
            )
        if self.position_embedding == "none" and self.positions == "continuous":
            problems.append(
                f"`{_flag('positions')}` must be left out where `{_flag('position_embedding')}` is "
                "none; it is continuous"
            )
        if self.position_embedding == "rotary":
            problems += self._wrong_rotary()
        if self.language_aware != (self.num_languages > 0):
            problems.append(
                "`--langs` must name languages where `--tdo-laln`, `--tdo-lalt` or "
                "`--tdo-target-attention` is not none, and only there does the model count them; "
                f"they are {self.num_languages}"
            )
        if (self.adapter_dim > 0) != (self.num_pairs > 0):
            problems.append(
                f"`--lang-pairs` must name pairs where `{_flag('adapter_dim')}` is not 0, and only "
                f"there does the model count them; they are {self.num_pairs}"
            )
        if self.zero_shot_neurons != "union" and not self.neuron_masks:
            problems.append(
                f"`{_flag('zero_shot_neurons')}` must be left out where `{_flag('neuron_masks')}` "
                f"is; it is {self.zero_shot_neurons}"
            )
        if self.position_embedding == "sinusoidal" and self.model_dim in (1, 2, 3):
            problems.append(
                f"`{_flag('model_dim')}` must be at least 4 for sinusoidal positions; "
                f"it is {self.model_dim}"
            )
        return problems

    def _wrong_rotary(self) -> list[str]:
        problems = []
        if self.topology == "encoder-decoder":
            problems.append(
                f"`{_flag('position_embedding')}` must not be rotary where `{_flag('topology')}` "
                "is encoder-decoder: across its cross-attention positions have no common order"
            )
        if self.num_heads > 0 and (self.model_dim // self.num_heads) % 2:
            problems.append(
                f"`{_flag('model_dim')}` divided by `{_flag('num_heads')}` must be even for rotary "
                f"positions; it is {self.model_dim // self.num_heads}"
            )
        return problems

    def _wrong_source_parts(self) -> list[str]:
        problems = [
            f"`{_flag(name)}` must be from 1 to {self.read_layers}, the layers of this "
            f"{self.topology} model whose output of the source is read, or 0 for none; it is "
            f"{getattr(self, name)}"
            for name in ("cut_residual", "tpdm_layer")
            if not 0 <= getattr(self, name) <= self.read_layers
        ]
        if self.tpdm_gate != "none" and self.tpdm_layer == 0:
            problems.append(
                f"`{_flag('tpdm_gate')}` must be none where `{_flag('tpdm_layer')}` is 0; it is "
                f"{self.tpdm_gate}"
            )
        return problems

    def _wrong_layers(self) -> list[str]:
        own, foreign = ("num_layers", "target_layer"), ("encoder_layers", "decoder_layers")
        if self.topology == "encoder-decoder":
            own, foreign = foreign, own
        problems = [
            f"`{_flag(name)}` must be left out where `{_flag('topology')}` is {self.topology}; it "
            f"is {getattr(self, name)}"
            for name in foreign
            if getattr(self, name) != 0
        ]
        if self.topology == "decoder-only" and self.decoder_attention == "merged":
            problems.append(
                f"`{_flag('decoder_attention')}` must be separate where `{_flag('topology')}` is "
                "decoder-only: its target reads source and target in one softmax, so that there is "
                "nothing to merge; it is merged"
            )
        if self.topology == "decoder-only" and self.target_attention == "cross":
            problems.append(
                f"`{_flag('target_attention')}` must be none or all where `{_flag('topology')}` is "
                "decoder-only, which has no cross-attention; it is cross"
            )
        if self.topology == "encoder-decoder":
            return problems + [
                f"`{_flag(name)}` must be positive; it is {getattr(self, name)}"
                for name in own
                if getattr(self, name) <= 0
            ]
        if self.num_layers <= 0:
            return [
                *problems,
                f"`{_flag('num_layers')}` must be positive; it is {self.num_layers}",
            ]
        if not 0 <= self.target_layer < self.num_layers:
            problems.append(
                f"`{_flag('target_layer')}` must be from 0 to {self.num_layers - 1}, one below "
                f"`{_flag('num_layers')}`; it is {self.target_layer}"
            )
        if self.target_layer == 0 and self.adaptation_dim > 0:
            problems.append(
                f"`{_flag('adaptation_dim')}` must be 0 where `{_flag('target_layer')}` is 0: no "
                f"stage ends before the target enters; it is {self.adaptation_dim}"
            )
        if self.target_layer == 0 and self.lalt != "none":
            problems.append(
                f"`{_flag('lalt')}` must be none where `{_flag('target_layer')}` is 0: no stage "
                f"ends before the target enters; it is {self.lalt}"
            )
        return problems


_FLAGS = {
    "num_layers": "--tdo-layers",
    "num_heads": "--tdo-heads",
    "dropout": "--dropout",
    "attention_dropout": "--attention-dropout",
    "activation_dropout": "--activation-dropout",
    "max_source_positions": "--max-source-positions",
    "max_target_positions": "--max-target-positions",
}


def _flag(name: str) -> str:
    """The command-line flag that sets a field, for messages that a user can act on."""
    return _FLAGS.get(name, "--tdo-" + name.replace("_", "-"))
