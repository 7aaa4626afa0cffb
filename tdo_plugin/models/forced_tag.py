"""A tag that starts every hypothesis, and its share in the hypothesis' score.

fairseq includes the log-probability of a forced tag in the sum, which the length penalty divides
by a power of the length. Hugging Face's ``forced_bos_token_id`` sets the log-probability to 0 and
divides by the same length. The choice may change which hypothesis is best.
"""

from typing import Any

from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from tdo_plugin.errors import UserError


class FreeTagGenerator(SequenceGenerator):
    """fairseq's generator, with log-probability 0 for a forced first token."""

    def _prefix_tokens(
        self,
        step: int,
        lprobs: Tensor,
        scores: Tensor,
        tokens: Tensor,
        prefix_tokens: Tensor,
        beam_size: int,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As fairseq's method; ``lprobs`` of each beam's next token, (B * K, V)."""
        lprobs, tokens, scores = super()._prefix_tokens(
            step, lprobs, scores, tokens, prefix_tokens, beam_size
        )
        if step == 0:
            tags = prefix_tokens[:, :1].repeat_interleave(beam_size, 0)
            # padding marks that nothing is forced; its score stays unchanged
            free = lprobs.gather(1, tags).masked_fill(tags.ne(self.pad), 0.0)
            lprobs = lprobs.scatter(1, tags, free)
        return lprobs, tokens, scores


def forces_tag(task: Any) -> bool:
    """Whether hypotheses are forced to begin with a tag, whose score counts.

    Args:
        task: a multilingual task, with its options.
    """
    _, target_tag = task.args.langtoks["main"]
    return bool(target_tag) and not task.args.lang_tok_replacing_bos_eos


def check_free_tag(task: Any) -> None:
    """Raise UserError if no tag is forced; ``task`` as in :func:`forces_tag`."""
    if not forces_tag(task):
        raise UserError(
            "`--free-tag` must be off unless hypotheses begin with a forced tag, that is after "
            "training with `--decoder-langtok` and without `--lang-tok-replacing-bos-eos`; it is "
            "on"
        )


def free_tag(generator: Any) -> Any:
    """Exclude a forced tag from the scores of a generator's hypotheses.

    fairseq's multilingual task has no option for another generator class.

    Args:
        generator: as a task built it, of fairseq's class or that of `topk_beam_search.py`, which
            search with forced tags in the same way. Changed in place; scorers stay unchanged.
    """
    if isinstance(generator, SequenceGenerator):
        generator.__class__ = FreeTagGenerator
    return generator
