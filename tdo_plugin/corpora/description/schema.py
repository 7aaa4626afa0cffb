"""What a description says, as dataclasses; `tdo_plugin.corpora.description` explains the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tdo_plugin.data.joint_model import SegmentationSettings
from tdo_plugin.metrics.textform import TextForm

Pair = tuple[str, str]
Row = tuple[str, str]

SPLITS = ("train", "valid", "test")
HELD_OUT = ("held-out", "held-out-pairs")  # rules that look at other splits


@dataclass(frozen=True)
class Part:
    """A file that is fetched on its own and read as one with its neighbours."""

    name: str
    urls: tuple[str, ...]


@dataclass(frozen=True)
class Archive:
    """A file of the source: a tar or zip archive, or a text as it is (plain or gzip)."""

    name: str
    urls: tuple[str, ...]  # mirrors with equal bytes, the best first; (): no address is known
    bytes: int | None
    sha256: str | None
    md5: str | None
    source: str  # where these facts were read
    parts: tuple[Part, ...] = ()  # where there are any, the addresses are theirs


@dataclass(frozen=True)
class Member:
    """A text within an archive; an empty path: the archive is the text itself."""

    archive: str
    path: str


@dataclass(frozen=True)
class Deal:
    """Only some of the rows: row i is dealt to part i mod `parts`, and this is `part`.

    A row whose side number `side` equals that of an earlier row goes where that one went.
    """

    side: int
    parts: int
    part: int


@dataclass(frozen=True)
class ConcreteSet:
    """Where rows of one split of one pair come from, with every template filled."""

    split: str
    pair: Pair
    codes: Pair  # what the source calls the two languages
    members: tuple[Member, ...]  # one of each language, or one text with both
    format: str
    encoding: str
    rows: str
    options: Mapping[str, Any]
    deal: Deal | None


@dataclass(frozen=True)
class Rule:
    """A reason to leave a row out; what does not belong to the rule is None."""

    rule: str
    text: str | None = None
    least: int | None = None
    most: float | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Sample:
    """At most so many rows of each training pair, drawn before anything is cleaned."""

    pairs: int
    seed: int


@dataclass(frozen=True)
class Take:
    """Cleaned training rows for another split: every `every`th (1-based), or `rows` at random."""

    every: int | None = None
    rows: int | None = None


@dataclass(frozen=True)
class HoldOut:
    """Splits that are taken out of the cleaned training rows of `pairs`."""

    pairs: tuple[Pair, ...]
    seed: int
    valid: Take | None = None
    test: Take | None = None


@dataclass(frozen=True)
class Monolingual:
    """Text of one language beside the pairs, `rows` lines of it drawn at random."""

    language: str
    text: Member
    rows: int
    seed: int


@dataclass(frozen=True)
class Corpus:
    """A corpus in one of its variants. Every pair stands once, in the order of the source."""

    name: str
    variant: str  # "" for the form that the paper has
    variants: Mapping[str, str]  # what there is to choose from: name -> what it changes
    title: str
    paper: str
    licence: str
    cite: str
    notes: tuple[str, ...]
    languages: tuple[str, ...]  # their order fixes the ids of the tags
    codes: Mapping[str, str]
    centre: str | None
    train_pairs: tuple[Pair, ...]
    valid_pairs: tuple[Pair, ...]
    test_pairs: tuple[Pair, ...]
    archives: Mapping[str, Archive]
    sets: tuple[ConcreteSet, ...]
    sample: Sample | None
    hold_out: HoldOut | None
    limit: Mapping[str, int]
    clean: Mapping[str, tuple[Rule, ...]]
    form: TextForm
    segmentation: SegmentationSettings  # of the joint model over all languages
    monolingual: tuple[Monolingual, ...]

    def code(self, language: str) -> str:
        """What the source calls a language."""
        return self.codes.get(language, language)

    def sets_of(self, split: str, pair: Pair) -> list[ConcreteSet]:
        """The sets of one split of one pair, to be read one after the other; [] where none is."""
        return [
            concrete_set
            for concrete_set in self.sets
            if (concrete_set.split, concrete_set.pair) == (split, pair)
        ]

    def members_needed(self) -> dict[str, list[str]]:
        """The texts to unpack from each archive, each once, in the order of their first use.

        An archive that is a text itself has the one member "".
        """
        needed: dict[str, dict[str, None]] = {}
        texts = [member for concrete_set in self.sets for member in concrete_set.members]
        for member in (*texts, *(text.text for text in self.monolingual)):
            needed.setdefault(member.archive, {})[member.path] = None
        return {archive: list(paths) for archive, paths in needed.items()}

    def archives_needed(self) -> dict[str, Archive]:
        """The archives to fetch by name, in the order of their first use."""
        return {name: self.archives[name] for name in self.members_needed()}
