"""Systems by name, and how a name is resolved at a scale.

A name consists of parts joined by ``/`` and ``+``: ``ted19/tdo-prefix+adaptation+instrucl``. A part
is a system of the file, ``AXIS=VALUE`` of one of its axes, or ``NAME=VALUE``, which sets a variable
or an option of the file; both separators mean the same and only make names easier to read. Parts
are applied in order, each after its bases; later parts override earlier ones. The scale is applied
after all parts, then the conditional overrides of the parts, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.experiments.document import Document, Scale, System, When
from tdo_plugin.experiments.expressions import Scope, as_text
from tdo_plugin.launch.training_config import IMPORTING, PRECISIONS, Config, positive
from tdo_plugin.names import check_line

NAMES = re.compile(r"[A-Za-z_]\w*")
SEPARATORS = re.compile(r"([/+])")
SETTINGS = ("gpus", "precision", "directions")  # flags for the launcher, not for fairseq
SEED = "seed"  # a part that sets a flag, in which the training runs of a system differ
Refer = Callable[[str, Scope], Any]


@dataclass(frozen=True)
class Setting:
    """The scale and option values for all experiments of a file.

    Attributes:
        document: the experiment file.
        scale: the scale's name.
        options: the options' values.
        several: all values of multi-valued options; `options` has the first.
        let: variables set on the command line.
    """

    document: Document
    scale: str
    options: Mapping[str, Any]
    several: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    let: Mapping[str, Any] = field(default_factory=dict)

    def scales(self) -> list[Scale]:
        """The scale, preceded by its base scales."""
        chain: list[Scale] = []
        name: str | None = self.scale
        while name is not None:
            scale = self.document.scales[name]
            if scale in chain:
                raise UserError(f"{self.document.path.name}: scales.{name}.base forms a cycle")
            chain.insert(0, scale)
            name = scale.base
        return chain

    def names_of_scale(self) -> list[str]:
        """The names of the scale and its base scales, nearest first."""
        names, name = [], self.scale
        while name is not None:
            names.append(name)
            name = self.document.scales[name].base  # type: ignore[assignment]
        return names

    def of_scale(self, values: Any, default: Any = None) -> Any:
        """The value for this scale, or for its nearest base scale, in a table by scale."""
        if not isinstance(values, dict):
            return values
        return next((values[name] for name in self.names_of_scale() if name in values), default)

    def has(self, scales: Sequence[str]) -> bool:
        """Whether an entry restricted to `scales` (empty: none) exists at this scale."""
        return not scales or bool(set(scales).intersection(self.names_of_scale()))

    def said(self, name: str) -> Any:
        """The value of a field in the scale, or in its nearest base scale that sets it."""
        said = [getattr(scale, name) for scale in self.scales()]
        return next((value for value in reversed(said) if value is not None), None)

    def scope(self, let: Mapping[str, Any], where: str) -> Scope:
        """The variables of the file, then `let`, the scale and the options, later ones first."""
        values: dict[str, Any] = {**self.document.let, **let}
        for scale in self.scales():
            values |= scale.let
        for when in self._holding(self.document.when):
            values |= when.let
        return Scope({**values, **self.let, **self.options, "scale": self.scale}, where=where)

    def with_updates(self, updates: int) -> Setting:
        """The setting with another number of updates, {updates}, than the scale's.

        Raises:
            UserError: the scale has no {updates}, or needs a multiple of `updates_of`.
        """
        scope = self.scope({}, self.document.path.name)
        if "updates" not in scope or self.of_scale({"full": True}):
            raise UserError(f"`--updates` must be left out at scale {self.scale}")
        step = scope.value(scope["updates_of"]) if "updates_of" in scope else 1
        if updates % step:
            raise UserError(f"`--updates` must be a multiple of {step}; it is {updates}")
        return replace(self, let={"updates": updates})

    def _holding(self, whens: Sequence[When]) -> Iterator[When]:
        values = {name: (as_text(value),) for name, value in self.options.items()}
        known = {**values, "scale": self.names_of_scale()}
        return (when for when in whens if when.holds(known))

    def resolve(self, name: str) -> ResolvedSystem:
        """Resolve a system's name.

        Raises:
            UserError: the name has an unknown part.
        """
        where = f"{self.document.path.name}, system {name}"
        parts = list(_parts(name, self.document, where))
        given = {part.key: part.given for part in parts if part.key is not None}
        chosen = {key: given.pop(key) for key in list(given) if key in self.options}
        if chosen:
            return replace(self, options={**self.options, **chosen})._resolve(
                name, where, parts, given
            )
        return self._resolve(name, where, parts, given)

    def _resolve(
        self, name: str, where: str, parts: Sequence[_Part], given: dict[str, Any]
    ) -> ResolvedSystem:
        chain = [system for part in parts for system in part.chain]
        values: dict[str, Any] = dict(self.document.let)
        flags: dict[str, Any] = dict(self.document.flags)
        test = self.said("test")
        for system in chain:
            values |= system.let
            flags |= system.flags
            test = system.test or test
        for scale in self.scales():
            values |= scale.let
            flags |= scale.flags
            test = scale.test or test
        whens = [*self.document.when, *(when for system in chain for when in system.when)]
        for when in self._holding(whens):
            values |= when.let
            flags |= when.flags
            test = when.test or test
        seed = given.pop(SEED, None)
        if seed is not None:
            flags[SEED] = seed
        for key in given:
            if key not in values and key not in self.document.axes:
                raise UserError(f"{where}: unknown name {key}; known: {', '.join(sorted(values))}")
        corpora = [system.corpus for system in chain if system.corpus is not None]
        corpus = corpora[-1] if corpora else ""
        places = [place for place, part in enumerate(parts) if part.continues]
        before = None
        if places:
            lasting = [part for part in parts[places[-1] :] if part.key in (SEED, *self.options)]
            before = "".join(part.text for part in [*parts[: places[-1]], *lasting])
        scales = [system.scales for system in chain if system.scales]
        values |= self.let
        scope = Scope(
            {
                **values,
                **self.options,
                **given,
                "scale": self.scale,
                "system": name,
                "before": before,
                "corpus": corpus,
                SEED: flags.get(SEED, 1),
            },
            where=where,
        )
        return ResolvedSystem(
            name,
            corpus,
            flags,
            test or "",
            scope,
            before,
            parts[places[-1]].continues if places else None,
            all(self.has(only) for only in scales),
        )


@dataclass(frozen=True)
class ResolvedSystem:
    """A system at a scale.

    Attributes:
        name: the system's name.
        corpus: the training corpus.
        flags: templates of flags by name.
        test: options of `tdo average`.
        scope: the system's variables.
        before: the system whose checkpoint its training starts from, if any.
        continues: how, `restore` or `finetune`.
        here: whether the system exists at this scale.
    """

    name: str
    corpus: str
    flags: Mapping[str, Any]
    test: str
    scope: Scope
    before: str | None
    continues: str | None
    here: bool

    def config(self, refer: Refer) -> Config:
        """The flags, with references resolved by `refer`.

        Raises:
            UserError: a flag with an empty value, that would import code, or with a line break.
        """
        scope = self.scope.referring(refer)
        config = Config()
        for name, template in self.flags.items():
            if f"--{name}".partition("=")[0] == IMPORTING:
                raise UserError(
                    f"flags of {self.name} must be without `{IMPORTING}`, which imports code"
                )
            value = scope.value(template)
            check_line(f"--{name}", name, as_text(value))
            if name in SETTINGS:
                _set(config, name, as_text(value), self.name)
            elif value is not False and value is not None:
                if (text := as_text(value)) == "":
                    empty = [part for part in NAMES.findall(template) if scope.get(part) == ""]
                    raise UserError(
                        f"`--{name}` of {self.name} must have a value, set by "
                        f"{self.name}+{(*empty, 'NAME')[0]}=VALUE; it has none"
                    )
                config.flags[f"--{name}"] = [] if value is True else [text]
        return config


def _set(config: Config, name: str, value: str, system: str) -> None:
    if name == "gpus":
        config.gpus = positive(f"gpus of {system}", value)
    elif name == "directions":
        config.directions = value
    elif value in PRECISIONS:
        config.precision = value
    else:
        raise UserError(
            f"`precision` of {system} must be one of {', '.join(PRECISIONS)}; it is {value}"
        )


@dataclass(frozen=True)
class _Part:
    """One part of a name, with its separator: the systems it stands for, or a variable's value."""

    text: str
    chain: tuple[System, ...] = ()
    key: str | None = None
    given: Any = None
    continues: str | None = None


def _parts(name: str, document: Document, where: str) -> Iterator[_Part]:
    seen: set[str] = set()
    signed = SEPARATORS.split(name)
    for sign, part in zip(["", *signed[1::2]], signed[::2], strict=True):
        key, given, value = part.partition("=")
        if part in document.systems:
            chain = tuple(_chain(part, document, seen))
            yield _Part(sign + part, chain, continues=document.systems[part].continues)
        elif given and value in document.axes.get(key, {}):
            chosen = document.axes[key][value]
            bases = [system for base in chosen.base for system in _chain(base, document, seen)]
            yield _Part(sign + part, (*bases, chosen), key, value, chosen.continues)
        elif given and key not in document.axes:
            yield _Part(sign + part, key=key, given=_number(value))
        else:
            among = document.axes.get(key, document.systems)
            raise UserError(f"{where}: unknown part {part}; known: {', '.join(among)}")


def _chain(part: str, document: Document, seen: set[str]) -> Iterator[System]:
    """The part preceded by its bases, each at most once in a name."""
    if part in seen:
        return
    seen.add(part)
    for base in document.systems[part].base:
        yield from _chain(base, document, seen)
    yield document.systems[part]


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if isfinite(value):
            return value
    return text
