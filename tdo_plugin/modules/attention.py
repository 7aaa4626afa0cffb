"""Multi-head attention, also for several rows (beams) that share keys and values.

Shapes: B sentences, K rows (beams) of a sentence, R = B * K, T queries of a row, L keys and values
of a sentence, D model width, H heads, E = D / H head width.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from tdo_plugin.modules.dropout import PlainDropout
from tdo_plugin.modules.linear import Projection, project_packed
from tdo_plugin.modules.masks import additive
from tdo_plugin.modules.positions import RotaryPositions
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext

FEW, MANY = 8, 8  # queries of a sentence, and sentences, in a step of a search
OTHERS = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH)


class KeyValue(NamedTuple):
    """Keys and values, each (rows, H, length, E)."""

    key: Tensor
    value: Tensor


def by_head(kv: KeyValue) -> KeyValue:
    """Keys and values stored head by head, which each step of a search would do otherwise."""
    return KeyValue(*(part.contiguous() for part in kv))


class CudnnOff:
    """Context manager that disables cuDNN's attention and no other kernel.

    torch's switch is process-wide, so it is restored however the block ends. torch's own context
    manager, ``sdpa_kernel``, takes twenty times as long (24 instead of 1.3 microseconds on a CPU),
    which would delay a GPU at every attention, and it re-enables kernels that the caller had
    disabled.
    """

    def __enter__(self) -> None:
        self._before = torch.backends.cuda.cudnn_sdp_enabled()
        torch.backends.cuda.enable_cudnn_sdp(False)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        torch.backends.cuda.enable_cudnn_sdp(self._before)


def any_kernel(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """Scaled dot-product attention with the kernel that torch chooses.

    Args:
        query: (B, H, T, E).
        key: (B, H, L, E).
        value: (B, H, L, E).
        mask: boolean, broadcastable to (B, H, T, L), true where a query may attend; or numbers to
            add to the scores; or an attention bias of torch's that describes such a mask; None:
            everything is visible.
        dropout: rate on the attention weights.

    Returns:
        (B, H, T, E).
    """
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


def written_out(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """:func:`any_kernel` as separate products, which keep all attention weights (B, H, T, L)."""
    scores = (query * query.size(-1) ** -0.5) @ key.transpose(-1, -2)
    if mask is not None:
        scores += additive(mask, scores.dtype, -math.inf) if mask.dtype == torch.bool else mask
    weights = scores.softmax(-1)
    return (F.dropout(weights, dropout) if dropout else weights) @ value


def best_kernel(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """:func:`any_kernel` without the two torch kernels that are slow for these models.

    cuDNN's kernel compiles a plan for every batch shape. The bf16 kernel for CPUs takes five to
    eight times as long as the separate products (forward and backward, usual sentence lengths), and
    the fp32 kernel up to 1.5 times as long in a step of a search.
    """
    # a search has numbers as masks, which leave no softmax empty
    searching = not torch.is_grad_enabled() and (mask is None or mask.dtype == query.dtype)
    few = searching and query.size(2) <= FEW and query.size(0) >= MANY
    if query.device.type == "cpu" and (few or query.dtype == torch.bfloat16):
        return written_out(query, key, value, mask, dropout)
    # torch.compile cannot trace the switch, only torch's own context manager
    without = sdpa_kernel([*OTHERS]) if torch.compiler.is_compiling() else CudnnOff()
    with without:
        return any_kernel(query, key, value, mask, dropout)


class MultiheadAttention(nn.Module):
    """Scaled dot-product attention (Vaswani et al., 2017), softmax scale 1 / sqrt(E).

    Query, key and value projections are initialised Xavier-uniform with gain 1 / sqrt(2), the
    output projection with gain 1 and zero bias, as in fairseq. The biases of query, key and value
    are initialised to zero as well (ours); fairseq, and with it the TDO authors' code, keeps
    torch's U(-1 / sqrt(D), 1 / sqrt(D)). Projections receive the context of the tokens, which
    neuron gates and language-specific projections use.

    Args:
        model_dim: D.
        num_heads: H, a divisor of D.
        dropout: on the attention weights; None: no dropout.
        project: computes several projections of one input.
        projection: constructor of a projection, called with its widths and gain.
        rotary: rotates queries and keys by the positions of their tokens; None: no rotation.
        kernel: computes the attention, with the signature of :func:`any_kernel`.
    """

    def __init__(
        self,
        model_dim: int,
        num_heads: int,
        dropout: PlainDropout | None = None,
        project: Callable[..., list[Tensor]] = project_packed,
        projection: Callable[..., Projection] = Projection,
        rotary: RotaryPositions | None = None,
        kernel: Callable[..., Tensor] = best_kernel,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.rotary = rotary
        self.project, self._kernel = project, kernel
        self.query = projection(model_dim, model_dim, gain=1 / math.sqrt(2))
        self.key = projection(model_dim, model_dim, gain=1 / math.sqrt(2))
        self.value = projection(model_dim, model_dim, gain=1 / math.sqrt(2))
        self.out = projection(model_dim, model_dim)

    @property
    def dropout_rate(self) -> float:
        """The current dropout rate on attention weights."""
        return 0.0 if self.dropout is None else self.dropout.active_rate

    def queries_keys_values(
        self, x: Tensor, shapes: Sequence[tuple[int, int]], context: TokenContext = NO_CONTEXT
    ) -> list[tuple[Tensor, KeyValue]]:
        """Queries, keys and values of the segments of a packed batch.

        Args:
            x: (N, D), the segments concatenated.
            shapes: (rows, length) of each segment; N is the sum of their products.
            context: of the tokens, (N,).

        Returns:
            For each segment, queries (rows, H, length, E) and the keys and values in that shape.
        """
        sizes = [rows * length for rows, length in shapes]
        query, key, value = self.project(x, context, self.query, self.key, self.value)
        kinds = self._turned(query, context), self._turned(key, context), value
        parts = (kind.split(sizes) if len(sizes) > 1 else (kind,) for kind in kinds)
        segments = zip(*parts, strict=True)
        split = [
            [self._split_heads(part.view(*shape, part.size(1))) for part in segment]
            for segment, shape in zip(segments, shapes, strict=True)
        ]
        return [(query, KeyValue(key, value)) for query, key, value in split]

    def queries_values(
        self, x: Tensor, context: TokenContext = NO_CONTEXT
    ) -> tuple[Tensor, Tensor]:
        """(rows, length, D) to queries (rows, H, length, E) and values (rows, length, D)."""
        query, value = self.project(x, context, self.query, self.value)
        return self._split_heads(query), value

    def keys_values(self, x: Tensor, context: TokenContext = NO_CONTEXT) -> KeyValue:
        """(rows, length, D) to keys and values, each (rows, H, length, E)."""
        key, value = self.project(x, context, self.key, self.value)
        return KeyValue(*map(self._split_heads, (self._turned(key, context), value)))

    def attend(
        self,
        x: Tensor,
        memory: KeyValue,
        mask: Tensor | None,
        context: TokenContext = NO_CONTEXT,
    ) -> Tensor:
        """:meth:`mix` for the queries of ``x``, then the output projection: (R, T, D)."""
        query = self._split_heads(self._turned(self.query(x, context), context))
        projected: Tensor = self.out(self.mix(query, memory, mask), context)
        return projected

    def mix(self, query: Tensor, memory: KeyValue, mask: Tensor | None) -> Tensor:
        """Attention of queries over the keys and values that the K rows of a sentence share.

        Args:
            query: (R, H, T, E).
            memory: keys and values (B, H, L, E).
            mask: boolean, broadcastable to (B, H, K * T, L), the queries of a sentence row by
                row; true where a query may attend. None: everything is visible; on a GPU it may be
                torch's description of a causal mask.

        Returns:
            (R, T, D), before the output projection.
        """
        queries = _fold_rows(query, memory.key.size(0))
        mixed = self._kernel(queries, *memory, mask, self.dropout_rate)
        return _unfold_rows(mixed, query).transpose(1, 2).flatten(2)

    @contextmanager
    def observed(
        self, observe: Callable[[Tensor, Tensor, Tensor | None], object]
    ) -> Iterator[None]:
        """Context manager: call ``observe`` with query, key and mask before each attention.

        For analysis. The attention itself is unchanged, and costs nothing more outside the block.

        Args:
            observe: receives the first, second and fourth argument of :func:`any_kernel`.
        """
        kernel = self._kernel

        def observing(
            query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float
        ) -> Tensor:
            observe(query, key, mask)
            return kernel(query, key, value, mask, dropout)

        self._kernel = observing
        try:
            yield
        finally:
            self._kernel = kernel

    def _turned(self, x: Tensor, context: TokenContext) -> Tensor:
        """Queries or keys (..., D), rotated by the positions of their tokens if rotary is on."""
        if self.rotary is None:
            return x
        if context.position is None:
            raise ValueError("rotary positions need the position of every token")
        turned: Tensor = self.rotary(x, context.position)
        return turned

    def _split_heads(self, x: Tensor) -> Tensor:
        heads = self.num_heads, x.size(-1) // self.num_heads  # -1 fails without tokens
        return x.view(*x.shape[:-1], *heads).transpose(1, 2)


def _fold_rows(x: Tensor, sentences: int) -> Tensor:
    """(B * K, H, T, E) to (B, H, K * T, E): the rows of a sentence become its queries."""
    rows, heads, length, width = x.shape
    if rows == sentences:
        return x
    split = x.view(sentences, rows // sentences, heads, length, width)
    return split.transpose(1, 2).flatten(2, 3)


def _unfold_rows(x: Tensor, like: Tensor) -> Tensor:
    """(B, H, K * T, E) back to the rows of ``like`` (B * K, H, T, E)."""
    rows, heads, length, width = like.shape
    sentences = x.size(0)
    if rows == sentences:
        return x
    split = x.view(sentences, heads, rows // sentences, length, width)
    return split.transpose(1, 2).flatten(0, 1)
