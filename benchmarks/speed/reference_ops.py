"""Models of the package computed as a textbook would, a part at a time, to compare.

What :class:`Builder` makes is faster or smaller than that and gives the same numbers. Here each
such way can be taken back, for fairseq's commands by ``reference_transformer.py``.
"""

from collections.abc import Collection, Sequence
from types import MappingProxyType

from torch import Tensor

from tdo_plugin.modules.attention import any_kernel
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.dropout import PlainDropout
from tdo_plugin.modules.linear import project_apart
from tdo_plugin.modules.source_state import SourceRequest, SourceState
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.translation_model import TranslationModel

OPS = MappingProxyType(
    {
        "dropout": "torch's own dropout on the CPU",
        "kernels": "cuDNN's attention too, which makes a plan for every shape of a batch",
        "masks": "a mask also where nothing is padded",
        "norms": "the outputs of norms kept for the backward pass instead of made again",
        "projections": "queries, keys and values in products of their own",
        "streams": "sources and target of a batch one after the other instead of side by side",
        "tags": "the last layer that a tag is read from at all positions",
        "weights": "decoding on a CPU with the weights in the order in which they were trained",
    }
)


class ReferenceModel(TranslationModel):
    """A translation model whose batches are masked and taken through as a textbook would."""

    ops: frozenset[str] = frozenset()

    def encode_all(self, requests: Sequence[SourceRequest]) -> list[SourceState]:
        """One source after the other."""
        if "streams" in self.ops and len(requests) > 1:
            return [self.encode_all([request])[0] for request in requests]
        return super().encode_all(requests)

    def forward(
        self, requests: Sequence[SourceRequest], prev_output_tokens: Tensor
    ) -> tuple[list[SourceState], Tensor]:
        """Sources first, then the target."""
        if "streams" not in self.ops:
            return super().forward(requests, prev_output_tokens)
        states = self.encode_all(requests)
        return states, self.decode(prev_output_tokens, states[0])

    def pack(self) -> None:
        """Nothing, for weights as they were trained."""
        if "weights" not in self.ops:
            super().pack()

    def _padded(self, *paddings: Tensor) -> list[bool]:
        return [True] * len(paddings) if "masks" in self.ops else super()._padded(*paddings)


class ReferenceBuilder(Builder):
    """Makes parts that compute some operations as a textbook would.

    Args:
        spec: of the model.
        padding_idx: of the dictionary.
        ops: names of :data:`OPS`; by default all.
    """

    def __init__(
        self, spec: ModelSpec, padding_idx: int, ops: Collection[str] = tuple(OPS)
    ) -> None:
        super().__init__(spec, padding_idx)
        self.ops = frozenset(ops)
        self.whole_layers = "tags" in self.ops
        self.recompute_norms = "norms" not in self.ops
        if "dropout" in self.ops:
            self.dropout_type = PlainDropout
        if "kernels" in self.ops:
            self.kernel = any_kernel
        if "projections" in self.ops:
            self.project = project_apart

    def build(self, source_vocabulary: int, target_vocabulary: int) -> TranslationModel:
        """As :meth:`Builder.build`."""
        self.model_type = type("ReferenceModel", (ReferenceModel,), {"ops": self.ops})
        return super().build(source_vocabulary, target_vocabulary)
