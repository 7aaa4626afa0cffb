"""The package's models with some operations in their textbook form, for comparison.

The modules of :class:`Builder` are optimised for speed or memory and give the same results. Here,
each optimisation can be disabled; ``reference_transformer.py`` does this for fairseq's commands.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import torch
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
        "dropout": "torch's dropout on the CPU",
        "kernels": "also allow cuDNN attention, which makes a plan for every batch shape",
        "masks": "masks even without padding",
        "norms": "keep the outputs of norms for the backward pass instead of recomputing them",
        "products": "products by MKL on every CPU",
        "projections": "separate products for queries, keys and values",
        "streams": "process sources and target of a batch sequentially instead of packed",
        "tags": "compute the last layer that a tag is read from at all positions",
        "weights": "decode on a CPU with weights in their training layout",
    }
)


class ReferenceModel(TranslationModel):
    """A translation model with masks and batches in their textbook form."""

    ops: frozenset[str] = frozenset()

    def encode_all(self, requests: Sequence[SourceRequest]) -> list[SourceState]:
        """Encode the sources one after another."""
        if "streams" in self.ops and len(requests) > 1:
            return [self.encode_all([request])[0] for request in requests]
        return super().encode_all(requests)

    def forward(
        self, requests: Sequence[SourceRequest], prev_output_tokens: Tensor
    ) -> tuple[list[SourceState], Tensor]:
        """Process sources first, then the target."""
        with self.products():
            if "streams" not in self.ops:
                return super().forward(requests, prev_output_tokens)
            states = self.encode_all(requests)
            return states, self.decode(prev_output_tokens, states[0])

    def cross_entropy(
        self, features: Tensor, target: Tensor, smoothing: float, tokens: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """As :meth:`TranslationModel.cross_entropy`."""
        with self.products():
            return super().cross_entropy(features, target, smoothing, tokens)

    @contextmanager
    def products(self) -> Iterator[None]:
        """Choose the library of products, which the forward pass does for both passes."""
        before = torch.backends.mkldnn.enabled
        torch.backends.mkldnn.enabled = before and "products" not in self.ops
        try:
            yield
        finally:
            torch.backends.mkldnn.enabled = before

    def pack(self) -> None:
        """Do nothing with the operation `weights`, to keep the training layout."""
        if "weights" not in self.ops:
            super().pack()

    def _padded(self, *paddings: Tensor) -> list[bool]:
        return [True] * len(paddings) if "masks" in self.ops else super()._padded(*paddings)


class ReferenceBuilder(Builder):
    """Builds modules with some operations in their textbook form.

    Args:
        spec: the model's spec.
        padding_idx: the dictionary's padding index.
        ops: names in :data:`OPS`; by default all.
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
        """See :meth:`Builder.build`."""
        self.model_type = type("ReferenceModel", (ReferenceModel,), {"ops": self.ops})
        return super().build(source_vocabulary, target_vocabulary)
