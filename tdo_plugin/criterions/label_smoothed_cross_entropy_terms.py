"""Label-smoothed cross-entropy plus any number of loss terms."""

import math
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, make_dataclass
from typing import Any

from fairseq import metrics
from fairseq.criterions import register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)
from fairseq.dataclass import ChoiceEnum
from torch import Tensor

from tdo_plugin.criterions.loss_terms import Sample, Update, combined, scored_target, shared_out
from tdo_plugin.criterions.term_list import TERMS
from tdo_plugin.criterions.unused_options import reject_unused_options
from tdo_plugin.errors import UserError
from tdo_plugin.modules.losses.cross_entropy import smoothed_cross_entropy
from tdo_plugin.modules.translation_model import TranslationModel

CROSS_ENTROPIES = ChoiceEnum(["fused", "whole"])


_CROSS_ENTROPY = field(
    default="fused",
    metadata={
        "help": "fused: output projection and cross-entropy together, a block of tokens at a time; "
        "whole: on the logits of the whole batch, with the same result and more memory (always "
        "used with --report-accuracy and with models of other packages)"
    },
)
_LOSS_TERMS = field(
    default="",
    metadata={"help": f"loss terms to add, comma-separated: {', '.join(TERMS)}; empty: none"},
)
_TERM_OPTIONS = [term.option_class for term in TERMS.values()]

# Options of the cross-entropy and of every term.
TermOptions = make_dataclass(
    "TermOptions",
    [("cross_entropy", CROSS_ENTROPIES, _CROSS_ENTROPY)],
    bases=(*reversed(_TERM_OPTIONS), LabelSmoothedCrossEntropyCriterionConfig),
)
TermOptions.__module__ = __name__

# The same, for the criterion whose terms are set on the command line.
TermsConfig = make_dataclass(
    "TermsConfig", [("loss_terms", str, _LOSS_TERMS)], bases=(TermOptions,)
)
TermsConfig.__module__ = __name__


@register_criterion("label_smoothed_cross_entropy_terms", dataclass=TermsConfig)
class LabelSmoothedCrossEntropyTerms(LabelSmoothedCrossEntropyCriterion):
    """The only criterion of this package: cross-entropy plus a list of loss terms.

    ``loss`` in the logs is the cross-entropy alone, in bits per token, so that it is comparable
    between systems with and without terms and can choose checkpoints; ``objective`` is the sum
    that is minimised, and each term logs its mean over sentences under its own name.
    """

    preset: Sequence[str] = ()  # terms that are always on
    update: Update | None = None  # the update that batches are currently trained in

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
                f"`--loss-terms` must be one or more of {', '.join(TERMS)}; it has "
                f"{', '.join(unknown)}"
            )
        for name, term in TERMS.items():
            if name not in terms:
                reject_unused_options(options, term.option_class, f"without the loss term {name}")
        self.terms = {name: TERMS[name](options, task) for name in terms}
        self.fused = options.cross_entropy == "fused" and not options.report_accuracy

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "LabelSmoothedCrossEntropyTerms":
        named = cls.preset or [name for name in getattr(cfg, "loss_terms", "").split(",") if name]
        return cls(task, cfg, named)

    @contextmanager
    def in_update(self, **details: Any) -> Iterator[None]:
        """Announce an update; its batches are trained inside the block (see :class:`Update`)."""
        self.update = Update(**details)
        try:
            yield
        finally:
            self.update = None

    def forward(
        self, model: Any, sample: Sample, reduce: bool = True
    ) -> tuple[Tensor, int, dict[str, Any]]:
        """The objective of a batch: a sum over tokens and sentences, in nats.

        Returns:
            the objective, the number of tokens (with ``--sentence-avg``: sentences) that the
            gradient is divided by, and the values to log.
        """
        if self.terms and not reduce:
            raise ValueError("a loss term is a sum over the batch; reduce must be true")
        requests = {
            name: term.request(model, sample, self.update) for name, term in self.terms.items()
        }
        model_options = combined(list(requests.values()))
        if self.fused and reduce and isinstance(getattr(model, "core", None), TranslationModel):
            scored, tokens = scored_target(sample, self.ignore_prefix_size, self.padding_idx)
            model_options["smoothed_target"] = scored, self.eps, tokens
        net_output = model(**sample["net_input"], **model_options)
        if "smoothed_target" in model_options:
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
        served = shared_out(list(requests.values()), net_output[1])
        for name, outputs in zip(requests, served, strict=True):
            part = self.terms[name].loss(outputs, sample, self.update)
            objective = objective + part.loss
            logs.update({f"{name}_{key}": value for key, value in part.logs.items()})
        logs["objective"] = objective.detach()
        if self.report_accuracy:
            correct, total = self.compute_accuracy(model, net_output, sample)
            logs["n_correct"], logs["total"] = correct.item(), total.item()
        return objective, sample_size, logs

    def compute_loss(
        self, model: Any, net_output: Any, sample: Sample, reduce: bool = True
    ) -> tuple[Tensor, Tensor]:
        """As fairseq's loss of this name: label-smoothed cross-entropy and NLL, in nats."""
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
            keys = [key for key in logging_outputs[0] if key.startswith(f"{name}_")]
            tokens = total(f"{name}_ntokens")
            for key in keys:
                if not key.endswith(("_nll_loss", "_ntokens")):
                    sentences = total("nsentences")
                    digits = 6 if key.endswith("_weight") else 3  # a decaying weight becomes small
                    metrics.log_scalar(key, total(key) / sentences, sentences, round=digits)
                elif key.endswith("_nll_loss") and tokens:
                    bits = total(key) / tokens / math.log(2)
                    metrics.log_scalar(key, bits, tokens, round=3)
