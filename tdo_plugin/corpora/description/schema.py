"""The content of a description as dataclasses; `tdo_plugin.corpora.description` has the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tdo_plugin.data.joint_model import SegmentationSettings
from tdo_plugin.metrics.textform import TextForm

Pair = tuple[str, str]
Row = tuple[str, str]

SPLITS = ("train", "valid", "test")
HELD_OUT = ("held-out", "held-out-pairs")  # rules that compare with other splits


@dataclass(frozen=True)
class Part:
    """A file that is downloaded separately and concatenated with other parts."""

    name: str
    urls: tuple[str, ...]


@dataclass(frozen=True)
class Archive:
    """A file of the source: a tar or zip archive, or text (plain or gzip)."""

    name: str
    urls: tuple[str, ...]  # mirrors with equal content, the best first; (): no known address
    bytes: int | None
    sha256: str | None
    md5: str | None
    source: str  # where these facts were found
    parts: tuple[Part, ...] = ()  # if there are any, the addresses are theirs


@dataclass(frozen=True)
class Member:
    """A text within an archive; empty path: the archive is the text itself."""

    archive: str
    path: str


@dataclass(frozen=True)
class Deal:
    """A part of the rows: row i is dealt to part i mod `parts`, and this is `part`.

    A row whose side number `side` equals that of an earlier row goes to the same part.
    """

    side: int
    parts: int
    part: int


@dataclass(frozen=True)
class ConcreteSet:
    """The source of rows of one split of one pair, with every template filled in."""

    split: str
    pair: Pair
    codes: Pair  # the two languages' codes in the source
    members: tuple[Member, ...]  # one for each language, or one text with both
    format: str
    encoding: str
    rows: str
    options: Mapping[str, Any]
    deal: Deal | None


@dataclass(frozen=True)
class Rule:
    """A reason to leave a row out; values that do not apply to the rule are None."""

    rule: str
    text: str | None = None
    least: int | None = None
    most: float | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Sample:
    """Maximum number of rows of each training pair, drawn before cleaning."""

    pairs: int
    seed: int


@dataclass(frozen=True)
class Take:
    """Cleaned training rows for another split: every `every`th (1-based), or `rows` at random."""

    every: int | None = None
    rows: int | None = None


@dataclass(frozen=True)
class HoldOut:
    """Splits that are taken from the cleaned training rows of `pairs`."""

    pairs: tuple[Pair, ...]
    seed: int
    valid: Take | None = None
    test: Take | None = None


@dataclass(frozen=True)
class Monolingual:
    """Text of one language in addition to the pairs: `rows` lines, drawn at random."""

    language: str
    text: Member
    rows: int
    seed: int


@dataclass(frozen=True)
class Corpus:
    """A corpus in one of its variants. Every pair occurs once, in the order of the source."""

    name: str
    variant: str  # "" for the form in the paper
    # prose, which does not change the data: rewording it leaves prepared folders complete
    variants: Mapping[str, str] = field(compare=False)  # the variants: name -> what it changes
    title: str = field(compare=False)
    paper: str = field(compare=False)
    licence: str = field(compare=False)
    cite: str = field(compare=False)
    notes: tuple[str, ...] = field(compare=False)
    languages: tuple[str, ...]  # their order determines the ids of the tags
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

    def sets_of(self, split: str, pair: Pair) -> list[ConcreteSet]:
        """The sets of one split of one pair, to be read in order; empty if there is none."""
        return [
            concrete_set
            for concrete_set in self.sets
            if (concrete_set.split, concrete_set.pair) == (split, pair)
        ]

    def members_needed(self) -> dict[str, list[str]]:
        """The texts to extract from each archive, each once, in the order of their first use.

        An archive that is itself a text has the one member "".
        """
        needed: dict[str, dict[str, None]] = {}
        texts = [member for concrete_set in self.sets for member in concrete_set.members]
        for member in (*texts, *(text.text for text in self.monolingual)):
            needed.setdefault(member.archive, {})[member.path] = None
        return {archive: list(paths) for archive, paths in needed.items()}

    def archives_needed(self) -> dict[str, Archive]:
        """The archives to download by name, in the order of their first use."""
        return {name: self.archives[name] for name in self.members_needed()}
