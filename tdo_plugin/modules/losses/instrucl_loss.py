"""Instruction-level contrastive learning (InstruCL; Qu et al., section 4.2), in torch alone.

Shapes: B sentences, S source, T target, D model width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def instruction_index(padding: Tensor) -> Tensor:
    """The position (B,) of the language tag in a padded source: the first token."""
    return (~padding).int().argmax(1)


def identity_source(src_tokens: Tensor, target: Tensor, padding_idx: int) -> Tensor:
    """The source of the identity pair (l_y, y, y): the sentence's tag, then its target.

    Args:
        src_tokens: (B, S), whose first token is the tag.
        target: (B, T), with end symbol.
        padding_idx: the padding symbol.

    Returns:
        (B, 1 + T), padded on the side of the target. With left padding the tag stays in column 0,
        which makes no difference: padding is neither visible nor counted as a position.
    """
    index = instruction_index(src_tokens.eq(padding_idx))
    return torch.cat([src_tokens.gather(1, index[:, None]), target], 1)


def instrucl_loss(anchors: Tensor, positives: Tensor, temperature: float = 1.0) -> Tensor:
    """InstruCL loss of each anchor, unreduced (equation 8).

    The similarity is the cosine. The negatives of an anchor are all other anchors of the batch.

    Args:
        anchors: (B, D), states of the tags.
        positives: (B, D), states of the tags of the identity pairs.
        temperature: divides the similarities; the paper has none, which equals 1.

    Returns:
        (B,), in nats, in at least single precision.
    """
    dtype = torch.promote_types(anchors.dtype, torch.float32)
    anchors = F.normalize(anchors.to(dtype), dim=-1)
    positives = F.normalize(positives.to(dtype), dim=-1)
    positive = (anchors * positives).sum(-1) / temperature
    similarity = anchors @ anchors.T / temperature
    itself = torch.eye(len(anchors), dtype=torch.bool, device=anchors.device)
    return torch.where(itself, positive[:, None], similarity).logsumexp(-1) - positive


def tag_share_weights(tags: Tensor) -> Tensor:
    """1 minus the share of each sentence's tag (B,) in the batch (authors' code, not the paper)."""
    return 1 - (tags[:, None] == tags).double().mean(1)
