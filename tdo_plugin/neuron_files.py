"""Files of neuron importance, and of neuron masks for language pairs.

Both are safetensors files with one tensor for each module and a description in the header.

Shapes: P language pairs, W neurons of a module.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from tdo_plugin.errors import UserError
from tdo_plugin.typed import parse_json

VERSION = "1"
GENERAL = "general/"  # prefix of a module's name for its general neurons, (W,)

MODULE = re.compile(
    r"(?P<stack>encoder_layers|decoder_layers|layers)\.(?P<index>\d+)\."
    r"(?P<part>attention|cross_attention|merged_attention|feed_forward)\."
    r"(?P<neurons>query|key|value|out|inner|outer)"
)


class Place(NamedTuple):
    """The location of a module with neurons.

    Attributes:
        stack: `encoder`, `decoder` or `layers` (of a decoder-only model).
        layer: from 1.
        part: such as `cross_attention` or `feed_forward`.
        neurons: `query`, `key`, `value`, `out`, `inner` or `outer`.
    """

    stack: str
    layer: int
    part: str
    neurons: str


def place_of(module: str) -> Place:
    """The location of a module, from its name in the stack of layers.

    Raises:
        ValueError: there is no module with neurons of that name.
    """
    match = MODULE.fullmatch(module)
    if not match:
        raise ValueError(f"{module} is not a module with neurons")
    stack = match["stack"].removesuffix("_layers")
    return Place(stack, int(match["index"]) + 1, match["part"], match["neurons"])


def digest_of(parameters: Mapping[str, Tensor]) -> str:
    """SHA-256 of tensors, by name, type, shape and content; the same in any file."""
    digest = hashlib.sha256()
    for name in sorted(parameters):
        value = parameters[name].detach().cpu().contiguous()
        digest.update(f"{name} {value.dtype} {list(value.shape)}\n".encode())
        digest.update(value.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Importance:
    """The importance of each neuron to each language pair (Xie et al., 2021, equations 7 and 8).

    Attributes:
        method: `taylor` or `absolute`.
        pairs: such as `de-en`, in the order of rows.
        modules: theta of each module's neurons, (P, W) in float64, in the model's order.
        sides: of each module, `source` if no target passes its layer, else `target`.
        checkpoint: :func:`digest_of` the model's parameters.
        about: further information for readers: split, sentences and so on.
        digest: SHA-256 of pairs and tensors, the same for equal content; empty before the file is
            written.
    """

    kind: ClassVar[str] = "neuron importance"

    method: str
    pairs: Sequence[str]
    modules: Mapping[str, Tensor]
    sides: Mapping[str, str]
    checkpoint: str
    about: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    @property
    def inner(self) -> str:
        """Whether inner neurons of FFNs were measured `after` or `before` the ReLU.

        Older files do not record it; then it was before.
        """
        return str(self.about.get("settings", {}).get("inner", "before"))

    def write(self, path: Path) -> None:
        """Write to a file atomically."""
        described = {"method": self.method, "sides": dict(self.sides)}
        _write(path, self, self.modules, described)

    @classmethod
    def read(cls, path: Path, option: str = "FILE") -> Importance:
        """Read from a file.

        Args:
            path: of the file.
            option: that sets it, for messages.

        Raises:
            UserError: the file is missing, damaged, or of another kind.
        """
        tensors, header, digest = _read(path, cls.kind, option)
        modules = {name: tensors[name] for name in header["modules"]}
        for name, theta in modules.items():
            if theta.shape[0] != len(header["pairs"]) or not torch.isfinite(theta).all():
                raise UserError(
                    f"`{option}` must have a finite row for each of {len(header['pairs'])} pairs; "
                    f"{name} in {path} has not"
                )
        return cls(
            header["method"],
            tuple(header["pairs"]),
            modules,
            header["sides"],
            header["checkpoint"],
            header["about"],
            digest,
        )


@dataclass(frozen=True)
class Masks:
    """The neurons that each language pair uses, including the general ones.

    Attributes:
        pairs: such as `de-en`, in the order of rows.
        modules: boolean (P, W), true where a pair uses a neuron, in the model's order.
        general: boolean (W,), true where all pairs use a neuron.
        checkpoint: digest of the parameters whose neurons were allocated.
        about: further information for readers: share, threshold and so on.
        digest: SHA-256 of pairs and tensors, the same for equal content; empty before the file is
            written.
    """

    kind: ClassVar[str] = "neuron masks"

    pairs: Sequence[str]
    modules: Mapping[str, Tensor]
    general: Mapping[str, Tensor]
    checkpoint: str
    about: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    def write(self, path: Path) -> None:
        """Write to a file atomically."""
        general = {GENERAL + name: mask for name, mask in self.general.items()}
        _write(path, self, {**self.modules, **general}, {})

    @classmethod
    def read(cls, path: Path, option: str = "FILE") -> Masks:
        """As :meth:`Importance.read`."""
        tensors, header, digest = _read(path, cls.kind, option)
        names = [name for name in header["modules"] if not name.startswith(GENERAL)]
        modules = {name: tensors[name].bool() for name in names}
        general = {name: tensors[GENERAL + name].bool() for name in names}
        for name, mask in modules.items():
            if mask.shape != (len(header["pairs"]), len(general[name])):
                raise UserError(
                    f"`{option}` must have a row for each of {len(header['pairs'])} pairs; "
                    f"{name} in {path} has not"
                )
        return cls(
            tuple(header["pairs"]), modules, general, header["checkpoint"], header["about"], digest
        )


def _write(
    path: Path, what: Importance | Masks, tensors: Mapping[str, Tensor], described: dict[str, Any]
) -> None:
    header = {
        **described,
        "pairs": list(what.pairs),
        "modules": list(tensors),
        "checkpoint": what.checkpoint,
        "about": dict(what.about),
    }
    partial = path.with_name(path.name + ".partial")
    kept = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    metadata = {"kind": what.kind, "version": VERSION, "description": json.dumps(header)}
    try:
        partial.touch()
        mode = (
            partial.stat().st_mode
        )  # the user's default permissions; safetensors creates private files
        save_file(kept, partial, metadata)
        partial.chmod(mode)
        os.replace(partial, path)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"`--out` must be a file that can be written; {path}: {reason}") from None
    finally:
        if partial.exists():
            partial.unlink()


def _read(path: Path, kind: str, option: str) -> tuple[dict[str, Tensor], dict[str, Any], str]:
    if not path.is_file():
        raise UserError(f"`{option}` must be a file of {kind}; {path} is not one")
    try:
        with safe_open(path, "pt") as stream:
            metadata = stream.metadata() or {}
            if (metadata.get("kind"), metadata.get("version")) != (kind, VERSION):
                actual_kind = metadata.get("kind") or "something else"
                raise UserError(f"`{option}` must be a file of {kind}; {path} is {actual_kind}")
            header: dict[str, Any] = parse_json(metadata["description"])
            tensors = {name: stream.get_tensor(name) for name in header["modules"]}
    except UserError:
        raise
    except (SafetensorError, KeyError, ValueError) as error:
        raise UserError(f"`{option}` must be a file of {kind}; {path}: {error}") from None
    except OSError as error:
        raise UserError(f"`{option}` must be readable; {path}: {error.strerror}") from None
    content = f"{','.join(header['pairs'])} {digest_of(tensors)}"
    return tensors, header, hashlib.sha256(content.encode()).hexdigest()
