"""Position embeddings; :func:`.translation_model.count_positions` counts the positions."""

import math

import torch
from torch import Tensor, nn


class TooLongError(ValueError):
    """A sequence is longer than the model's table of learned positions."""

    one_line = True


class SinusoidalPositions(nn.Module):
    """Sines in the first half of the width, cosines in the second (fairseq's layout).

    Has no parameters and no maximum length; the table grows for longer sentences.
    """

    table: Tensor

    def __init__(self, model_dim: int, padding_idx: int) -> None:
        super().__init__()
        self.model_dim = model_dim
        self.padding_idx = padding_idx
        self.register_buffer(
            "table", self._build(256).to(torch.get_default_dtype()), persistent=False
        )

    def rebuild(self) -> None:
        """Compute the table again, which checkpoints do not have, if a load left it undefined."""
        self.register_buffer("table", self._build(len(self.table)).to(self.table), persistent=False)

    def forward(self, positions: Tensor, longest: int) -> Tensor:
        """Positions (B, L), none above ``longest`` + padding index, to (B, L, D)."""
        table = self.table
        if longest + self.padding_idx >= table.size(0):
            table = self._build(2 * (longest + self.padding_idx)).to(table)
            self.register_buffer("table", table, persistent=False)
        return table[positions]

    def _build(self, rows: int) -> Tensor:
        half = self.model_dim // 2
        rate = torch.exp(torch.arange(half, dtype=torch.float64) * -(math.log(10000) / (half - 1)))
        angle = torch.arange(rows, dtype=torch.float64)[:, None] * rate
        table = torch.cat([angle.sin(), angle.cos()], 1)
        table = nn.functional.pad(table, (0, self.model_dim % 2))
        table[self.padding_idx] = 0
        return table


class LearnedPositions(nn.Module):
    """A trained vector for each position up to ``max_positions``; zero at padding."""

    def __init__(self, model_dim: int, padding_idx: int, max_positions: int) -> None:
        super().__init__()
        self.max_positions = max_positions
        self.embedding = nn.Embedding(max_positions + padding_idx + 1, model_dim, padding_idx)
        nn.init.normal_(self.embedding.weight, std=model_dim**-0.5)
        nn.init.zeros_(self.embedding.weight[padding_idx])

    def forward(self, positions: Tensor, longest: int) -> Tensor:
        """Positions (B, L) to (B, L, D).

        Raises:
            TooLongError: where ``longest`` is above ``max_positions``.
        """
        if longest > self.max_positions:
            raise TooLongError(
                f"a sequence must have at most {self.max_positions} positions; it has {longest}"
            )
        embedded: Tensor = self.embedding(positions)
        return embedded


class RotaryPositions(nn.Module):
    """Queries and keys rotated by their positions (RoPE; Su et al., 2021, equation 34).

    Components i and i + E / 2 of each head form a plane, rotated by position times
    10000^(-2i / E), so that products of queries and keys depend only on position differences.

    Args:
        head_dim: E, even.
    """

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.head_dim = head_dim

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """Concatenated heads (..., H * E), rotated by positions that broadcast to (...).

        Angles are computed in at least single precision: half cannot tell positions above 256
        apart.
        """
        wide = torch.promote_types(x.dtype, torch.float32)
        steps = torch.arange(0, self.head_dim, 2, dtype=wide, device=x.device)
        angles = positions[..., None, None] * 10000 ** (-steps / self.head_dim)  # (..., 1, E / 2)
        cosines, sines = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x.unflatten(-1, (-1, 2, steps.numel())).unbind(-2)  # (..., H, E / 2)
        turned = [first * cosines - second * sines, second * cosines + first * sines]
        return torch.stack(turned, -2).flatten(-3)


class NoPositions(nn.Module):
    """Adds nothing: order comes from the causal mask alone, or from rotary positions."""

    def forward(self, positions: Tensor, longest: int) -> Tensor:
        """Zeros that broadcast to (B, L, D)."""
        return torch.zeros((), device=positions.device)
