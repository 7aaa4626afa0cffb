"""The InstruCL loss term (Qu et al., equations 8 and 9)."""

import math
from argparse import Namespace
from dataclasses import dataclass, field
from typing import Any, Optional

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from torch import Tensor

from tdo_plugin.criterions.loss_terms import (
    LossOutput,
    ModelOutputs,
    OutputRequest,
    Sample,
    Update,
    spec_of,
    spec_of_training,
)
from tdo_plugin.errors import UserError
from tdo_plugin.modules.losses.instrucl_loss import (
    identity_source,
    instrucl_loss,
    instruction_index,
    tag_share_weights,
)
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.spec import ModelSpec

WEIGHTINGS = ChoiceEnum(["none", "tag-share"])
SCALES = ChoiceEnum(["sum", "per-token"])


@dataclass
class InstruCLOptions(FairseqDataclass):
    """Options of the InstruCL term; the defaults are the paper's form."""

    instrucl_layer: Optional[int] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "source layer, from 1, whose output at the language tag is contrasted "
            "(default: an encoder-decoder's encoder output, after the final norm if pre-norm; "
            "otherwise three quarters of the layers; pre-norm layers give the residual stream, "
            "layer M before the first stage's norm)"
        },
    )
    instrucl_weight: float = field(
        default=1.0, metadata={"help": "weight of the contrastive loss (the paper's lambda)"}
    )
    instrucl_temperature: float = field(
        default=1.0, metadata={"help": "temperature: divides the cosine similarities"}
    )
    instrucl_weighting: WEIGHTINGS = field(  # type: ignore[valid-type]
        default="none",
        metadata={
            "help": "weights of anchors: none (the paper), or 1 minus the share of the sentence's "
            "tag in the batch (the authors' code)"
        },
    )
    instrucl_scale: SCALES = field(  # type: ignore[valid-type]
        default="sum",
        metadata={
            "help": "sum over sentences (the paper), or that sum times source tokens / sentences "
            "(the authors' code), so that a sentence weighs as much as its tokens"
        },
    )


def default_layer(spec: ModelSpec) -> int:
    """1.5 N of 2N layers (section 5.2), or an encoder-decoder's N (appendix I)."""
    if spec.topology == "encoder-decoder":
        return spec.encoder_layers
    return math.ceil(0.75 * spec.num_layers)


def instrucl_layer(spec: ModelSpec | None, requested: int | None) -> int:
    """The layer to contrast: ``requested``, or the default.

    Raises:
        UserError: the model is not this package's (None), source and target embeddings differ, or
            the layer does not exist.
    """
    if spec is None:
        raise UserError("`--arch` must be one of tdo_plugin's for InstruCL; it is not")
    if spec.share_embeddings != "all":
        raise UserError(
            "`--tdo-share-embeddings` must be all for InstruCL, which uses targets as sources; it "
            f"is {spec.share_embeddings}"
        )
    layer = default_layer(spec) if requested is None else requested
    if not 1 <= layer <= spec.source_layers:
        raise UserError(
            f"`--instrucl-layer` must be from 1 to {spec.source_layers}, the source layers of this "
            f"{spec.topology} model; it is {layer}"
        )
    return layer


class InstruCL:
    """Pulls the tag's state of each sentence towards that of its identity pair.

    Raises:
        UserError: sources do not begin with the target language's tag (instruction strategies
            2, 3 and 5 of appendix B), or an option is out of range.
    """

    name = "instrucl"
    option_class = InstruCLOptions
    needs_source = True

    def __init__(self, options: Namespace, task: Any) -> None:
        self.options = options
        if not 0 < options.instrucl_temperature < math.inf:
            raise UserError(
                "`--instrucl-temperature` must be positive and finite; it is "
                f"{options.instrucl_temperature}"
            )
        if not (options.instrucl_weight >= 0 and math.isfinite(options.instrucl_weight)):
            raise UserError(
                f"`--instrucl-weight` must be finite and not negative; it is "
                f"{options.instrucl_weight}"
            )
        args = getattr(task, "args", Namespace())  # a task without languages may have none
        tag = getattr(args, "encoder_langtok", None)
        if tag != "tgt":
            raise UserError(
                "`--encoder-langtok` must be tgt for InstruCL, which contrasts the target's tag on "
                f"the source; it is {tag}"
            )
        if getattr(args, "lang_tok_replacing_bos_eos", False):
            raise UserError(
                "`--lang-tok-replacing-bos-eos` must be off for InstruCL, which contrasts the tag "
                "at the source's beginning; it is on"
            )
        # if targets also begin with a tag (strategy 4), the target is already an identity source
        self.target_has_tag = bool(getattr(args, "decoder_langtok", False))
        self.padding_idx: int = task.source_dictionary.pad()
        if hasattr(args, "arch"):  # report errors at the start of training, not at a batch
            instrucl_layer(spec_of_training(task), options.instrucl_layer)

    def layer(self, model: Any) -> int:
        """The layer to contrast in this model; raises as :func:`instrucl_layer` does."""
        return instrucl_layer(spec_of(model), self.options.instrucl_layer)

    def request(self, model: Any, sample: Sample, update: Update | None = None) -> OutputRequest:
        layer = self.layer(model)
        src_tokens, identity = sample["net_input"]["src_tokens"], sample["target"]
        if not self.target_has_tag:
            identity = identity_source(src_tokens, identity, self.padding_idx)
        return OutputRequest(
            source_token_states=[self._tag(src_tokens, layer)],
            side_sources=[
                SourceRequest(identity, token_states=[self._tag(identity, layer)], source_kv=False)
            ],
        )

    def loss(
        self, outputs: ModelOutputs, sample: Sample, update: Update | None = None
    ) -> LossOutput:
        src_tokens = sample["net_input"]["src_tokens"]
        padding = src_tokens.eq(self.padding_idx)
        (anchors,), (identity,) = outputs.source_token_states, outputs.side_sources
        (positives,) = identity.token_states
        losses = instrucl_loss(anchors, positives, self.options.instrucl_temperature)
        weighted = losses
        if self.options.instrucl_weighting == "tag-share":
            tags = src_tokens.gather(1, instruction_index(padding)[:, None])[:, 0]
            weighted = weighted * tag_share_weights(tags).to(weighted)
        total = weighted.sum() * self.options.instrucl_weight
        if self.options.instrucl_scale == "per-token":
            total = total * (~padding).sum() / len(src_tokens)
        return LossOutput(total, {"loss": losses.detach().sum()})

    def _tag(self, tokens: Tensor, layer: int) -> tuple[int, Tensor]:
        """The position of h_1 in equation 8: each sentence's tag, at a layer."""
        return layer, instruction_index(tokens.eq(self.padding_idx))
