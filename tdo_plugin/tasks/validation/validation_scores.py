"""Scores of one direction's sample, and the means of many directions."""

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
    """What tells languages apart, if there is anything.

    Args:
        spec: `--eval-lid`; None takes the corpus where `data` is a folder of `tdo preprocess`.
        data: the data folder.
        references: the sampled references by language.

    Raises:
        UserError: there is no such identifier, or it lacks something.
    """
    prepared = (data / MARK).is_file()
    if spec is None and not prepared:
        logger.info(
            "no off-target share: --eval-lid is not given, and the data are not a folder of "
            "tdo preprocess from which the languages could be learnt"
        )
        return None
    if spec == "corpus" and not prepared:
        raise UserError(
            "`--eval-lid` must be another than corpus unless the data are a folder of "
            f"tdo preprocess; {data} is not one"
        )
    folder = read_data_folder(data) if prepared else None
    try:
        return identifier(spec or "corpus", folder, references)
    except UserError as error:
        raise UserError(str(error).replace("`--lid", "`--eval-lid")) from None


class Scorer:
    """BLEU and chrF++ as in a table of results, and the off-target share where it is defined.

    Attributes:
        lid: what tells languages apart, if there is anything.
        lowercase: whether BLEU and chrF++ ignore case.
    """

    def __init__(self, lid: Identifier | None, lowercase: bool = False) -> None:
        self.lid = lid
        self.lowercase = lowercase

    def names(self, target: str) -> tuple[str, ...]:
        """Of a target language, the scores that there are."""
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
    """Means over all directions (`bleu`) and over each group (`bleu_zero_shot`), then directions.

    Args:
        scores: by direction; a mean is over those that have the score.
        groups: of each direction, its group.
        logged: the directions that have values of their own (`bleu_de-fr`).
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
