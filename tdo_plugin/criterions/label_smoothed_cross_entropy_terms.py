"""Label-smoothed cross-entropy plus any number of loss terms."""

import math
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from fairseq import metrics
from fairseq.criterions import register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from torch import Tensor

from tdo_plugin.criterions.instrucl import InstruCL, InstruCLOptions
from tdo_plugin.criterions.lexical import Lexical, LexicalOptions
from tdo_plugin.criterions.loss_terms import (
    Answer,
    LossOutput,
    LossTerm,
    Request,
    Sample,
    Update,
    scored_target,
)
from tdo_plugin.criterions.reconstruction import Reconstruction
from tdo_plugin.criterions.reconstruction_options import ReconstructionOptions
from tdo_plugin.criterions.tpdm import TPDM
from tdo_plugin.criterions.tpdm_options import TPDMOptions
from tdo_plugin.criterions.unused_options import reject_unused_options
from tdo_plugin.errors import UserError
from tdo_plugin.modules.cross_entropy import smoothed_cross_entropy
from tdo_plugin.modules.translation_model import TranslationModel

TERMS: dict[str, type[LossTerm]] = {
    "instrucl": InstruCL,
    "tpdm": TPDM,
    "reconstruction": Reconstruction,
    "lexical": Lexical,
}
OPTIONS: dict[str, type[FairseqDataclass]] = {
    "instrucl": InstruCLOptions,
    "tpdm": TPDMOptions,
    "reconstruction": ReconstructionOptions,
    "lexical": LexicalOptions,
}
CROSS_ENTROPIES = ChoiceEnum(["fused", "whole"])


@dataclass
class TermOptions(
    LexicalOptions,
    ReconstructionOptions,
    TPDMOptions,
    InstruCLOptions,
    LabelSmoothedCrossEntropyCriterionConfig,
):
    """Options of the cross-entropy and of every term."""

    cross_entropy: CROSS_ENTROPIES = field(  # type: ignore[valid-type]
        default="fused",
        metadata={
            "help": "with the output projection, a block of tokens at a time, or of the whole "
            "batch's logits: the same numbers, more memory (also with --report-accuracy, and with "
            "other models than tdo_plugin's)"
        },
    )


@dataclass
class TermsConfig(TermOptions):
    """Options of the criterion whose terms are named on the command line."""

    loss_terms: str = field(
        default="",
        metadata={"help": f"loss terms, comma-separated: {', '.join(TERMS)}; empty: none"},
    )


@register_criterion("label_smoothed_cross_entropy_terms", dataclass=TermsConfig)
class LabelSmoothedCrossEntropyTerms(LabelSmoothedCrossEntropyCriterion):
    """The one objective; what it adds to the cross-entropy is a list.

    ``loss`` in the logs is the cross-entropy alone, in bits per token, so that it can be held
    against that of systems without terms and checkpoints are chosen by it; ``objective`` is
    the sum that is trained on, and each term logs its mean over sentences under its own name.
    """

    update: Update | None = None  # the one that batches are trained on in

    def __init__(self, task: Any, options: Namespace, terms: Sequence[str]) -> None:
        super().__init__(
            task,
            options.sentence_avg,
            options.label_smoothing,
            options.ignore_prefix_size,
            options.report_accuracy,
        )
        unknown = [name for name in terms if name not in TERMS]
        if unknown:
            raise UserError(
                f"`--loss-terms` must be some of {', '.join(TERMS)}; it has {', '.join(unknown)}"
            )
        for name, kind in OPTIONS.items():
            if name not in terms:
                reject_unused_options(options, kind, f"without the loss term {name}")
        self.terms = {name: TERMS[name](options, task) for name in terms}
        self.fused = options.cross_entropy == "fused" and not options.report_accuracy

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "LabelSmoothedCrossEntropyTerms":
        return cls(task, cfg, [name for name in cfg.loss_terms.split(",") if name])

    @contextmanager
    def in_update(self, **known: Any) -> Iterator[None]:
        """Let the terms know of an update, whose batches come inside (see :class:`Update`)."""
        self.update = Update(**known)
        try:
            yield
        finally:
            self.update = None

    def forward(
        self, model: Any, sample: Sample, reduce: bool = True
    ) -> tuple[Tensor, int, dict[str, Any]]:
        """The objective of a batch: a sum, over tokens and sentences, in nats.

        Returns:
            the objective, the number of tokens (of sentences with ``--sentence-avg``) that the
            gradient is divided by, and what to log.
        """
        if self.terms and not reduce:
            raise ValueError("a loss term is a sum over the batch and cannot be left unreduced")
        requests = {
            name: term.request(model, sample, self.update) for name, term in self.terms.items()
        }
        asked = _union(list(requests.values()))
        if self.fused and reduce and isinstance(getattr(model, "core", None), TranslationModel):
            scored = scored_target(sample["target"], self.ignore_prefix_size, self.padding_idx)
            asked["smoothed_target"] = scored, self.eps
        net_output = model(**sample["net_input"], **asked)
        if "smoothed_target" in asked:
            cross_entropy, nll = net_output[1]["cross_entropy"]
        else:
            cross_entropy, nll = self.compute_loss(model, net_output, sample, reduce=reduce)
        sentences = sample["target"].size(0)
        sample_size = sentences if self.sentence_avg else sample["ntokens"]
        logs: dict[str, Any] = {
            "loss": cross_entropy.detach(),
            "nll_loss": nll.detach(),
            "ntokens": sample["ntokens"],
            "nsentences": sentences,
            "sample_size": sample_size,
        }
        objective = cross_entropy
        for name, part in self._losses(requests, net_output[1], sample):
            objective = objective + part.loss
            logs.update({f"{name}_{key}": value for key, value in part.logs.items()})
        logs["objective"] = objective.detach()
        if self.report_accuracy:
            correct, total = self.compute_accuracy(model, net_output, sample)
            logs["n_correct"], logs["total"] = correct.item(), total.item()
        return objective, sample_size, logs

    def _losses(
        self, requests: dict[str, Request], extra: dict[str, Any], sample: Sample
    ) -> Iterator[tuple[str, LossOutput]]:
        """Each term's loss, of its part of what the forward pass answered."""
        if not requests:
            return  # a model without terms may be any of fairseq's
        source = extra["source"]
        token_states, sides = iter(source.token_states), iter(extra["side_sources"])
        for name, request in requests.items():
            answer = Answer(
                {layer: source.layer_outputs[layer] for layer in request.source_layer_outputs},
                list(islice(token_states, len(request.source_token_states))),
                list(islice(sides, len(request.side_sources))),
                {
                    name: source.captured[name]
                    for name in source.captured
                    if name in request.capture
                },
                extra["reconstruction"] if request.reconstructed else None,
                extra["lexical"] if request.lexical_target is not None else None,
            )
            yield name, self.terms[name].loss(answer, sample, self.update)

    def compute_loss(
        self, model: Any, net_output: Any, sample: Sample, reduce: bool = True
    ) -> tuple[Tensor, Tensor]:
        """fairseq's loss of the same name: label-smoothed cross-entropy and likelihood, in nats."""
        logits, target = net_output[0], model.get_targets(sample, net_output)
        if self.ignore_prefix_size > 0:
            logits = logits[:, self.ignore_prefix_size :]
            target = target[:, self.ignore_prefix_size :]
        loss, nll = smoothed_cross_entropy(
            logits.flatten(0, 1), target.flatten(), self.eps, self.padding_idx
        )
        return (loss.sum(), nll.sum()) if reduce else (loss, nll)

    @classmethod
    def reduce_metrics(cls, logging_outputs: Sequence[dict[str, Any]]) -> None:
        super().reduce_metrics(logging_outputs)

        def total(key: str) -> Any:
            return sum(log.get(key, 0) for log in logging_outputs)

        size = total("sample_size")
        metrics.log_scalar("objective", total("objective") / size / math.log(2), size, round=3)
        for name in TERMS:
            own = [key for key in logging_outputs[0] if key.startswith(f"{name}_")]
            tokens = total(f"{name}_ntokens")
            for key in own:
                if not key.endswith(("_nll_loss", "_ntokens")):
                    sentences = total("nsentences")
                    digits = 6 if key.endswith("_weight") else 3  # one that falls is small soon
                    metrics.log_scalar(key, total(key) / sentences, sentences, round=digits)
                elif key.endswith("_nll_loss") and tokens:
                    bits = total(key) / tokens / math.log(2)
                    metrics.log_scalar(key, bits, tokens, round=3)


def _union(requests: Sequence[Any]) -> dict[str, Any]:
    """Arguments of one forward pass that answers all requests; none for no request."""
    if not requests:
        return {}
    reconstructed = [one.reconstructed for one in requests if one.reconstructed]
    lexical_targets = [
        request.lexical_target for request in requests if request.lexical_target is not None
    ]
    return {
        **({"smoothed_source": reconstructed[0]} if reconstructed else {}),
        **({"lexical_target": lexical_targets[0]} if lexical_targets else {}),
        "source_token_states": [*chain(*(request.source_token_states for request in requests))],
        "source_layer_outputs": sorted({*chain(*(r.source_layer_outputs for r in requests))}),
        "side_sources": [*chain(*(request.side_sources for request in requests))],
        "source_capture": {*chain(*(request.capture for request in requests))},
    }
