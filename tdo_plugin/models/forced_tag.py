"""A tag that every hypothesis is forced to begin with, and what it counts in the hypothesis' score.

fairseq keeps the log-probability that the model gives the tag in the sum, which the length penalty
divides by a power of the length; Hugging Face's ``forced_bos_token_id`` sets it to 0, and divides
by the same length. Which hypothesis is the best may depend on it.
"""

from typing import Any

from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from tdo_plugin.errors import UserError


class FreeTagGenerator(SequenceGenerator):
    """fairseq's generator, with log-probability 0 for the first token where it is forced."""

    def _prefix_tokens(
        self,
        step: int,
        lprobs: Tensor,
        scores: Tensor,
        tokens: Tensor,
        prefix_tokens: Tensor,
        beam_size: int,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As fairseq's; ``lprobs`` of each beam's next token, (B * K, V)."""
        lprobs, tokens, scores = super()._prefix_tokens(
            step, lprobs, scores, tokens, prefix_tokens, beam_size
        )
        if step == 0:
            tags = prefix_tokens[:, :1].repeat_interleave(beam_size, 0)
            # where nothing is forced there stands padding, whose score stays as it is
            free = lprobs.gather(1, tags).masked_fill(tags.ne(self.pad), 0.0)
            lprobs = lprobs.scatter(1, tags, free)
        return lprobs, tokens, scores


def forces_tag(task: Any) -> bool:
    """Whether hypotheses are forced to begin with a tag, which has a score.

    Args:
        task: of sentences in several languages, with its options.
    """
    _, target_tag = task.args.langtoks["main"]
    return bool(target_tag) and not task.args.lang_tok_replacing_bos_eos


def check_free_tag(task: Any) -> None:
    """Raise UserError where no tag is forced; ``task`` as :func:`forces_tag` takes it."""
    if not forces_tag(task):
        raise UserError(
            "`--free-tag` must be left out where hypotheses are not forced to begin with a tag, as "
            "they are after a training with `--decoder-langtok` and without "
            "`--lang-tok-replacing-bos-eos`; it is on"
        )


def free_tag(generator: Any) -> Any:
    """Let a forced tag count nothing in the hypotheses of a generator.

    fairseq's multilingual task cannot be told to build another class of generator.

    Args:
        generator: as a task built it, of fairseq's class or that of `topk_beam_search.py`; both
            search with forced tags alike. It is changed in place; what only scores stays as it is.
    """
    if isinstance(generator, SequenceGenerator):
        generator.__class__ = FreeTagGenerator
    return generator
