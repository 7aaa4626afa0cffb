"""Instruction-level contrastive learning (InstruCL; Qu et al., section 4.2), in torch alone.

Shapes: B sentences, S source, T target, D model width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def instruction_index(padding: Tensor) -> Tensor:
    """Where the language tag stands in a padded source: its first real token, (B,)."""
    return (~padding).int().argmax(1)


def identity_source(src_tokens: Tensor, target: Tensor, padding_idx: int) -> Tensor:
    """The source of the identity pair (l_y, y, y): the sentence's tag, then its target.

    Args:
        src_tokens: (B, S), the tag being the first real token.
        target: (B, T), with end symbol.
        padding_idx: the padding symbol.

    Returns:
        (B, 1 + T), padded as the target is; a tag before left padding stays first, which
        changes nothing: padding is neither seen nor counted as a position.
    """
    index = instruction_index(src_tokens.eq(padding_idx))
    return torch.cat([src_tokens.gather(1, index[:, None]), target], 1)


def instrucl_loss(anchors: Tensor, positives: Tensor, temperature: float = 1.0) -> Tensor:
    """Equation 8 for each anchor, unreduced.

    The similarity is the cosine. Negatives of an anchor are all other anchors of the batch.

    Args:
        anchors: (B, D), states of the tags.
        positives: (B, D), states of the tags of the identity pairs.
        temperature: divides the similarities; the paper has none, which is 1.

    Returns:
        (B,), in nats, at least single precision.
    """
    dtype = torch.promote_types(anchors.dtype, torch.float32)
    anchors = F.normalize(anchors.to(dtype), dim=-1)
    positives = F.normalize(positives.to(dtype), dim=-1)
    positive = (anchors * positives).sum(-1) / temperature
    similarity = anchors @ anchors.T / temperature
    itself = torch.eye(len(anchors), dtype=torch.bool, device=anchors.device)
    return torch.where(itself, positive[:, None], similarity).logsumexp(-1) - positive


def tag_share_weights(tags: Tensor) -> Tensor:
    """1 - the share of each sentence's tag (B,) in the batch; the authors' code, not the paper."""
    return 1 - (tags[:, None] == tags).double().mean(1)
