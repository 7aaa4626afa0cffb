"""Layers, made of ready parts, that a source stream and a target stream pass.

Every layer that a target passes offers two views of the source: ``memory`` gives what its target
queries read, ``target`` takes the target through. A joint layer takes any streams through.

Shapes: B sentences, R = B * beams rows, S source, T target, L of either, D model width, N positions
of all streams that pass a layer side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import torch
from torch import Tensor, nn

from tdo_plugin.modules.attention import KeyValue, MultiheadAttention
from tdo_plugin.modules.disentangler import Disentangled
from tdo_plugin.modules.feed_forward import FeedForward
from tdo_plugin.modules.languages import Languages
from tdo_plugin.modules.masks import SourceMask, TargetMask
from tdo_plugin.modules.recipe import note
from tdo_plugin.modules.residual import Residual
from tdo_plugin.modules.source_part import SourcePart, Unchanged
from tdo_plugin.modules.target_cache import TargetCache
from tdo_plugin.modules.target_store import TargetStore


class Stream:
    """Sequences of one length that pass a joint layer.

    Args:
        shape: rows and length L.
        languages: of their positions, (rows, 1) or (rows, L); None where nothing asks for them.
    """

    wants_disentangled = False  # whether a layer gives it the source's disentangled embeddings

    def __init__(self, shape: tuple[int, int], languages: Languages | None = None) -> None:
        self.shape = shape
        self.languages = languages

    @property
    def source_length(self) -> int:
        """How many positions of a row, from its beginning, are a source's."""
        return self.shape[1]

    def keep_disentangled(self, found: Disentangled) -> None:
        """Take the source's embeddings, where they are wanted."""
        raise TypeError(f"{type(self).__name__} wants none; use a subclass")

    def mix(self, attention: MultiheadAttention, query: Tensor, own: KeyValue) -> list[Tensor]:
        """What the attention gives the queries, before the output projection.

        Args:
            attention: the layer's.
            query: of all positions (rows, H, L, E).
            own: their keys and values (rows, H, L, E).

        Returns:
            (rows, L, D), in pieces along L.
        """
        raise TypeError(f"{type(self).__name__} sees nothing; use a subclass")


@dataclass(frozen=True)
class Surroundings:
    """What a target finds in the layers that it passes.

    Attributes:
        memories: of each layer, keys and values (B, H, S, E) of the source.
        mask: of the sentences.
        languages: of the rows, (R, 1); None where nothing asks for them.
        store: where the target so far waits, if it does; R = B without one.
    """

    memories: Sequence[KeyValue]
    mask: TargetMask
    languages: Languages | None = None
    store: TargetStore | None = None


class TargetLayer(nn.Module):
    """What a stack asks of a layer that the target passes.

    ``store`` is the kind in which the target waits between steps of decoding.
    """

    store: type[TargetStore] = TargetCache

    def memory(self, source: Tensor, languages: Languages | None = None) -> KeyValue:
        """Keys and values (B, H, S, E) that the target reads.

        Args:
            source: (B, S, D).
            languages: of its positions, broadcastable to (B, S).
        """
        raise TypeError(f"{type(self).__name__} is no target layer; use a subclass")

    def target(self, x: Tensor, around: Surroundings, index: int) -> Tensor:
        """The target (R, T, D) one layer on.

        Args:
            x: (R, T, D).
            around: what it finds there.
            index: the layer's place among the memories and in the store.
        """
        raise TypeError(f"{type(self).__name__} is no target layer; use a subclass")


class JointLayer(TargetLayer):
    """Self-attention and FFN with the same weights for both streams (a decoder-only layer).

    Args:
        attention: self-attention.
        feed_forward: the FFN.
        attention_residual: around the attention.
        feed_forward_residual: around the FFN.
        carried: makes of a source what the residual connection around the attention carries on.
        between: takes a source from the attention to the FFN.
    """

    def __init__(
        self,
        attention: MultiheadAttention,
        feed_forward: FeedForward,
        attention_residual: Residual,
        feed_forward_residual: Residual,
        carried: SourcePart | None = None,
        between: SourcePart | None = None,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_residual = attention_residual
        self.feed_forward_residual = feed_forward_residual
        self.carried = carried or Unchanged()
        self.between = between or Unchanged()

    def streams(
        self, x: Tensor, streams: Sequence[Stream], languages: Languages | None = None
    ) -> Tensor:
        """Streams one layer on, each linear transformation in one product for all.

        Args:
            x: (N, D), the streams one after the other.
            streams: in this order; N is the sum of their sizes.
            languages: of the positions, (N,); None where nothing asks for them.
        """
        attended = self._attended(x, streams, languages)
        carried = self.carried.streams(x, streams, languages)
        x = self.attention_residual.after(carried, attended, languages)
        return self._feed_forward(self.between.streams(x, streams, languages), languages)

    def _attended(
        self, x: Tensor, streams: Sequence[Stream], languages: Languages | None
    ) -> Tensor:
        """What attention adds to ``x`` (N, D); its own tensors do not outlive it."""
        normed = self.attention_residual.before(x, languages)
        shapes = [one.shape for one in streams]
        parts = self.attention.queries_keys_values(normed, shapes, languages)
        mixed = [
            one.mix(self.attention, query, own)
            for (query, own), one in zip(parts, streams, strict=True)
        ]
        attended: Tensor = self.attention.out(_assembled(mixed), languages)
        return attended

    def source_at(
        self,
        x: Tensor,
        memory: KeyValue,
        mask: SourceMask,
        positions: Tensor,
        languages: Languages | None = None,
    ) -> Tensor:
        """The source (B, S, D) one layer on at one position (B,) of each sentence: (B, D).

        ``memory`` has the keys and values of the whole source, as :meth:`memory` gives them;
        ``languages`` are of the sentences, (B, 1).
        """
        rows = torch.arange(len(x), device=x.device)
        chosen = x[rows, positions][:, None]
        query = self.attention.queries(self.attention_residual.before(chosen, languages), languages)
        attended = self.attention.attend(query, memory, mask.at(positions), languages)
        carried = self.carried.source(chosen, languages)
        x = self.attention_residual.after(carried, attended, languages)
        return self._feed_forward(self.between.source(x, languages), languages)[:, 0]

    def rest(
        self, x: Tensor, memory: KeyValue, mask: Tensor | None, languages: Languages | None = None
    ) -> Tensor:
        """As of a target, positions (B, L, D) one layer on, given all keys and values they see."""
        query = self.attention.queries(self.attention_residual.before(x, languages), languages)
        return self._looking(x, query, memory, mask, languages)

    def memory(self, source: Tensor, languages: Languages | None = None) -> KeyValue:
        normed = self.attention_residual.before(source, languages)
        return self.attention.keys_values(normed, languages)

    def target(self, x: Tensor, around: Surroundings, index: int) -> Tensor:
        languages = around.languages
        normed = self.attention_residual.before(x, languages)
        query = self.attention.queries(normed, languages)
        own = self.attention.keys_values(normed, languages)
        if around.store is None:
            pairs = zip(around.memories[index], own, strict=True)
            joint = KeyValue(*(torch.cat(pair, 2) for pair in pairs))
        else:
            joint = around.store.extend(index, own, around.memories)
        return self._looking(x, query, joint, around.mask.joint, languages)

    def _looking(
        self,
        x: Tensor,
        query: Tensor,
        memory: KeyValue,
        mask: Tensor | None,
        languages: Languages | None,
    ) -> Tensor:
        """Target positions (R, L, D) one layer on, given their queries."""
        attended = self.attention.attend(query, memory, mask, languages)
        return self._feed_forward(self.attention_residual.after(x, attended, languages), languages)

    def _feed_forward(self, x: Tensor, languages: Languages | None) -> Tensor:
        output = self.feed_forward(self.feed_forward_residual.before(x, languages), languages)
        return self.feed_forward_residual.after(x, output, languages)


class CrossAttentionLayer(TargetLayer):
    """Self-attention, cross-attention to the final source state, FFN (an encoder-decoder's)."""

    def __init__(
        self,
        attention: MultiheadAttention,
        cross_attention: MultiheadAttention,
        feed_forward: FeedForward,
        attention_residual: Residual,
        cross_attention_residual: Residual,
        feed_forward_residual: Residual,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.attention_residual = attention_residual
        self.cross_attention_residual = cross_attention_residual
        self.feed_forward_residual = feed_forward_residual

    def memory(self, source: Tensor, languages: Languages | None = None) -> KeyValue:
        return self.cross_attention.keys_values(source, languages)

    def target(self, x: Tensor, around: Surroundings, index: int) -> Tensor:
        languages, mask = around.languages, around.mask
        normed = self.attention_residual.before(x, languages).flatten(0, 1)
        shape = x.size(0), x.size(1)
        spread = None if languages is None else languages.expand(shape).flatten()
        ((query, own),) = self.attention.queries_keys_values(normed, [shape], spread)
        so_far = own if around.store is None else around.store.extend(index, own)
        attended = self.attention.attend(query, so_far, mask.over_target, languages)
        x = self.attention_residual.after(x, attended, languages)

        normed = self.cross_attention_residual.before(x, languages)
        query = self.cross_attention.queries(normed, languages)
        memory = around.memories[index]
        attended = self.cross_attention.attend(query, memory, mask.over_source, languages)
        x = self.cross_attention_residual.after(x, attended, languages)

        output = self.feed_forward(self.feed_forward_residual.before(x, languages), languages)
        return self.feed_forward_residual.after(x, output, languages)


def beside(parts: Sequence[Tensor]) -> Tensor:
    """Matrices of one width, one below the other; a single one is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def _assembled(streams: Sequence[Sequence[Tensor]]) -> Tensor:
    """Streams (rows, L, D), each in pieces along L, one below the other: (N, D)."""
    pieces = [piece for stream in streams for piece in stream]
    assemble = partial(_assemble, [len(stream) for stream in streams])
    made = assemble(*pieces)
    return made if len(pieces) == 1 else note(made, assemble, *pieces)


def _assemble(counts: Sequence[int], *pieces: Tensor) -> Tensor:
    """Of so many pieces each."""
    waiting = iter(pieces)
    taken = [list(islice(waiting, count)) for count in counts]
    whole = [some[0] if len(some) == 1 else torch.cat(some, 1) for some in taken]
    return beside([stream.flatten(0, 1) for stream in whole])
