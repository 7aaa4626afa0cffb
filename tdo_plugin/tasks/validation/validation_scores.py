"""Scores of a direction's sample, and means over directions."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from tdo_plugin.data.databin import MARK, read_data_folder
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id import Identifier, identifier, shares
from tdo_plugin.metrics.sacrebleu_scores import text_metric

TEXT_SCORES = ("bleu", "chrf")
SCORES = (*TEXT_SCORES, "off")
LOWER_IS_BETTER = ("off",)

Scores = dict[str, float]  # by name, 0 to 100

logger = logging.getLogger(__name__)


def choose_identifier(
    spec: str | None, data: Path, references: Mapping[str, Sequence[str]]
) -> Identifier | None:
    """The language identifier, or None if there is none.

    Args:
        spec: `--eval-lid`; None: the corpus if `data` is a folder of `tdo preprocess`.
        data: the data folder.
        references: the sampled references by language.

    Raises:
        UserError: the identifier does not exist, or lacks a package or file.
    """
    prepared = (data / MARK).is_file()
    if spec is None and not prepared:
        logger.info(
            "no off-target rate: --eval-lid is not set, and the data folder is not one of "
            "tdo preprocess, from which languages could be learnt"
        )
        return None
    if spec == "corpus" and not prepared:
        raise UserError(
            "`--eval-lid` must not be corpus unless the data folder is one of "
            f"tdo preprocess; {data} is not"
        )
    folder = read_data_folder(data) if prepared else None
    try:
        return identifier(spec or "corpus", folder, references)
    except UserError as error:
        raise UserError(str(error).replace("`--lid", "`--eval-lid")) from None


class Scorer:
    """BLEU and chrF++ as in result tables, and the off-target rate where it is defined.

    Attributes:
        lid: the language identifier, or None.
        lowercase: whether BLEU and chrF++ ignore case.
    """

    def __init__(self, lid: Identifier | None, lowercase: bool = False) -> None:
        self.lid = lid
        self.lowercase = lowercase

    def names(self, target: str) -> tuple[str, ...]:
        """The scores that are available for a target language."""
        return SCORES if self.lid and self.lid.label(target) is not None else TEXT_SCORES

    def score(self, direction: str, hypotheses: Sequence[str], references: Sequence[str]) -> Scores:
        """The scores of a direction's hypotheses, as one test set; all text is detokenized."""
        source, target = direction.split("-")
        scores = {
            name: text_metric(name, target, lowercase=self.lowercase)
            .statistics(hypotheses, references)
            .score()
            for name in TEXT_SCORES
        }
        if self.lid and (
            language_shares := shares(self.lid.identify(hypotheses), source, target, self.lid)
        ):
            scores["off"] = language_shares.off
        return scores


def to_log(
    scores: Mapping[str, Scores], groups: Mapping[str, str], logged: Collection[str]
) -> dict[str, float]:
    """Means over all directions (`bleu`), over each group (`bleu_zero_shot`), and directions.

    Args:
        scores: by direction; a mean is over the directions that have the score.
        groups: the group of each direction.
        logged: the directions whose scores are included (`bleu_de-fr`).
    """
    members = {"": list(scores)}
    for direction in scores:
        members.setdefault(f"_{groups[direction]}", []).append(direction)
    members |= {f"_{direction}": [direction] for direction in logged}
    values = {}
    for suffix, directions in members.items():
        for name in SCORES:
            member_scores = [
                scores[direction][name] for direction in directions if name in scores[direction]
            ]
            if member_scores:
                values[name + suffix] = fmean(member_scores)
    return values
