"""What a source is to tell of itself (Gao et al., 2022, section 3.1.2), in torch alone.

Shapes: B sentences, S source.
"""

import torch.nn.functional as F
from torch import Tensor

from tdo_plugin.modules.instrucl_loss import instruction_index


def told(src_tokens: Tensor, task: str, tag: bool, padding_idx: int) -> Tensor:
    """What each position of a source is to tell, the padding symbol where it tells nothing.

    Scored is what follows the tag, up to and including the end symbol. Without a tag nothing comes
    before the first token, which language modelling leaves out then.

    Args:
        src_tokens: (B, S), padded on either side, undisturbed.
        task: ``lm``, each position the token after it; ``ae``, each its own.
        tag: whether sources begin with a language tag.
        padding_idx: the padding symbol.
    """
    padding = src_tokens.eq(padding_idx)
    if task == "lm":
        following = F.pad(src_tokens[:, 1:], (0, 1), value=padding_idx)
        return following.masked_fill(padding, padding_idx)
    if not tag or not src_tokens.size(1):
        return src_tokens
    return src_tokens.scatter(1, instruction_index(padding)[:, None], padding_idx)
