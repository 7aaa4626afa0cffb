"""Patches for current Python, torch, numpy and bitarray: features of theirs that are gone."""

from __future__ import annotations

import sys

from tdo_compat.registry import overlay, patch, version

TYPE_CHECKING = False  # typing's constant, without importing typing at each start of Python
if TYPE_CHECKING:
    from typing import Any


@patch(
    "dataclass-defaults",
    "import fairseq: mutable default ... use default_factory",
    since="Python 3.11",
    needed=lambda: sys.version_info >= (3, 11),
)
class _HashableDataclasses:
    """While a fairseq file runs, makes its ``@dataclass`` keep ``object.__hash__``.

    Python 3.11 treats an unhashable default as mutable. The default itself has to stay in
    ``Field.default``, where fairseq's ``hydra_init`` reads it.
    """

    def __enter__(self) -> None:
        import dataclasses

        self.original = original = dataclasses.dataclass

        def mark(cls: Any) -> Any:
            if cls.__hash__ is None and cls.__module__.partition(".")[0] == "fairseq":
                cls.__hash__ = object.__hash__
            return cls

        def dataclass(cls: Any = None, /, **options: Any) -> Any:
            result = original(cls, **options)
            return mark(result) if cls is not None else lambda later: mark(result(later))

        dataclasses.dataclass = dataclass

    def __exit__(self, *exc_info: object) -> None:
        import dataclasses

        dataclasses.dataclass = self.original


@patch(
    "encoder-fast-path",
    "stock transformer in evaluation: Mask Type should be defined",
    "fairseq.modules.transformer_layer",
    since="torch 1.13",
    needed=lambda: version("torch") >= (1, 13),
)
def _no_fast_path(module: Any) -> None:
    layer = module.TransformerEncoderLayerBase
    original = layer.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.can_use_fastpath = False

    layer.__init__ = __init__


@patch(
    "cuda-autocast",
    "torch.cuda.amp.autocast is deprecated (a warning at each training)",
    "fairseq.tasks.fairseq_task",
    since="torch 2.4",
    needed=lambda: version("torch") >= (2, 4),
)
def _new_autocast(module: Any) -> None:
    torch = module.torch

    def autocast(enabled: bool = True) -> Any:
        return torch.amp.autocast("cuda", enabled=enabled)

    amp = overlay(torch.cuda.amp, autocast=autocast)
    module.torch = overlay(torch, cuda=overlay(torch.cuda, amp=amp))


@patch(
    "torch-warnings",
    "torch on a CPU warns about fairseq's pinned memory and its mixed attention masks",
    "fairseq.data.iterators",
    since="torch 2.0",
    needed=lambda: version("torch") >= (2, 0),
)
def _quiet_torch(module: Any) -> None:
    import warnings

    warnings.filterwarnings("ignore", "'pin_memory' argument is set as true but no accelerator")
    warnings.filterwarnings("ignore", "Support for mismatched key_padding_mask and attn_mask")


def _old_names(numpy: Any) -> dict[str, Any]:
    """numpy's old names that this numpy no longer has."""
    import types

    old = {"int": int, "float": float, "compat": types.SimpleNamespace(long=int)}
    return {name: value for name, value in old.items() if not hasattr(numpy, name)}


@patch(
    "numpy-names",
    "np.int, np.float, np.compat are gone (language-model, pair and noising data sets)",
    "fairseq.data.data_utils",
    "fairseq.data.language_pair_dataset",
    "fairseq.data.token_block_dataset",
    "fairseq.modules.dynamic_crf_layer",
    since="numpy 1.24, 2.0",
    needed=lambda: bool(_old_names(__import__("numpy"))),
)
def _old_numpy_names(module: Any) -> None:
    module.np = overlay(module.np, **_old_names(module.np))


@patch(
    "bitarray-rindex",
    "bitarray.util.rindex is gone (--dataset-impl huffman)",
    "fairseq.data.huffman.huffman_coder",
    since="bitarray 3.0",
    needed=lambda: not hasattr(__import__("bitarray.util").util, "rindex"),
)
def _rindex(module: Any) -> None:
    module.util = overlay(module.util, rindex=lambda bits, bit: bits.index(bit, right=True))
