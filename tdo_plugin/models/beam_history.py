"""The choices of a beam search at each step, and the hypotheses that result from them.

Shapes: B sentences, K rows (beams) of a sentence, n sentences that take part in a step.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor


class _Choice(NamedTuple):
    """How the rows of a step arose: (n, K) each except the sentences (n,)."""

    sentences: Tensor
    rows: Tensor
    tokens: Tensor
    scores: Tensor


class _Ends(NamedTuple):
    """Which of a sentence's K best ended at a step: (n, K) each except the sentences (n,)."""

    sentences: Tensor
    rows: Tensor
    scores: Tensor
    flags: Tensor


class BeamHistory:
    """Records the choices; they stay on the device until the search is over."""

    def __init__(self, sentences: int, beams: int, eos: int) -> None:
        self._sentences, self._beams, self._eos = sentences, beams, eos
        self._choices: list[_Choice] = []
        self._ends: list[_Ends] = []

    def end(self, sentences: Tensor, rows: Tensor, scores: Tensor, flags: Tensor) -> None:
        """Record the hypotheses that end at a step, before the step's :meth:`go_on`.

        Args:
            sentences: (n,), from 0 to B - 1.
            rows: the row of the step that ends, (n, K).
            scores: sum of log-probabilities including the end symbol's, (n, K).
            flags: true where a hypothesis ends, (n, K).
        """
        self._ends.append(_Ends(sentences, rows, scores, flags))

    def go_on(self, sentences: Tensor, rows: Tensor, tokens: Tensor, scores: Tensor) -> None:
        """Record the new rows of a step.

        Args:
            sentences: (n,).
            rows: the row of the step that each new row continues, (n, K).
            tokens: the token that is appended, (n, K).
            scores: sums of log-probabilities, (n, K).
        """
        self._choices.append(_Choice(sentences, rows, tokens, scores))

    def hypotheses(self, exponent: float) -> list[list[dict[str, Tensor]]]:
        """The first K ended hypotheses of each sentence, best first, in fairseq's format.

        Args:
            exponent: scores are divided by the length to this power.
        """
        choices = [[part.tolist() for part in choice] for choice in _on_host(self._choices)]
        places = [{name: place for place, name in enumerate(choice[0])} for choice in choices]
        hypotheses: list[list[dict[str, Tensor]]] = [[] for _ in range(self._sentences)]
        for step, (sentences, rows, scores, flags) in enumerate(_on_host(self._ends)):
            for place, column in flags.nonzero().tolist():
                sentence, row = int(sentences[place]), int(rows[place, column])
                if len(hypotheses[sentence]) == self._beams:
                    continue
                tokens, sums = [self._eos], []
                for choice, place_of in zip(choices[:step][::-1], places[:step][::-1], strict=True):
                    at = place_of[sentence]
                    _, rows_at, tokens_at, scores_at = (part[at] for part in choice)
                    tokens.append(tokens_at[row])
                    sums.append(scores_at[row])
                    row = rows_at[row]
                score = scores[place, column]
                hypotheses[sentence].append(_hypothesis(tokens[::-1], sums[::-1], score, exponent))
        return [_best_first(ended) for ended in hypotheses]


def _on_host(notes: Sequence[Any]) -> list[Any]:
    """The same records on the CPU, with one transfer for each kind of tensor."""
    if not notes:
        return []
    kinds = []
    for kind in zip(*notes, strict=True):
        flat = torch.cat([tensor.flatten() for tensor in kind]).cpu()
        parts = flat.split([tensor.numel() for tensor in kind])
        kinds.append([part.view(tensor.shape) for part, tensor in zip(parts, kind, strict=True)])
    return [type(notes[0])(*note) for note in zip(*kinds, strict=True)]


def _hypothesis(
    tokens: list[int], sums: list[float], score: Tensor, exponent: float
) -> dict[str, Tensor]:
    """A hypothesis in fairseq's format; ``sums`` exclude the end symbol's log-probability."""
    total = torch.cat([score.new_tensor(sums), score[None]])
    each = total.clone()
    each[1:] -= total[:-1]
    return {
        "tokens": torch.tensor(tokens),
        "score": score / len(tokens) ** exponent,
        "attention": torch.empty(0),
        "alignment": torch.empty(0),
        "positional_scores": each,
    }


def _best_first(hypotheses: list[dict[str, Tensor]]) -> list[dict[str, Tensor]]:
    """Hypotheses sorted by score in single precision, as in fairseq."""
    scores = torch.tensor([float(hypothesis["score"]) for hypothesis in hypotheses])
    return [hypotheses[place] for place in scores.sort(descending=True).indices]
