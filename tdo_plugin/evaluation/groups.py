"""Groups of directions, and statistics of a group besides its mean."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import correlation
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.codes import canonical
from tdo_plugin.names import check_titles
from tdo_plugin.typed import read_json

HIGH = 900_000  # minimum sentence pairs of the group High
MEDIUM = 100_000

SUPERVISED, ZERO_SHOT = "supervised", "zero-shot"
TRAINED_OTHERS = "X → Y, trained"

Groups = dict[str, tuple[str, ...]]


def standard_groups(
    directions: Sequence[str], supervised: Collection[str] | None, hub: str | None
) -> Groups:
    """The non-empty ones of `en → X`, `X → en`, `supervised`, `X → Y, trained`, `zero-shot`, `all`.

    Args:
        directions: all scored directions.
        supervised: trained directions; None if unknown, and then directions without the hub are
            `X → Y`.
        hub: the language that all trained directions share; None if there is none.

    Returns:
        The directions by group, in this order. `supervised` has all trained directions, unless it
        equals `en → X` or `X → en`; `X → Y, trained` has the trained directions without the hub,
        unless it equals `supervised`. `all` exists only if there are several groups.
    """
    groups: dict[str, list[str]] = {}
    for direction in directions:
        groups.setdefault(_standard_group(direction, supervised, hub), []).append(direction)
    trained = [direction for direction in directions if direction in (supervised or ())]
    if groups.get(TRAINED_OTHERS) == trained:
        del groups[TRAINED_OTHERS]
    if trained not in groups.values():
        groups[SUPERVISED] = trained
    names = (f"{hub} → X", f"X → {hub}", SUPERVISED, "X → Y", TRAINED_OTHERS, ZERO_SHOT)
    nonempty = {name: tuple(groups[name]) for name in names if groups.get(name)}
    return {**nonempty, "all": tuple(directions)} if len(nonempty) > 1 else nonempty


def _standard_group(direction: str, supervised: Collection[str] | None, hub: str | None) -> str:
    if supervised is not None and direction not in supervised:
        return ZERO_SHOT
    without_hub = "X → Y" if supervised is None else TRAINED_OTHERS
    return _beside_hub(direction, hub) or without_hub


def _beside_hub(direction: str, hub: str | None) -> str | None:
    source, target = direction.split("-")
    return {source: f"{hub} → X", target: f"X → {hub}"}.get(hub or "")


def size_groups(
    directions: Sequence[str],
    sizes: Mapping[frozenset[str], int] | Mapping[str, int],
    hub: str = "en",
    bounds: tuple[int, int] = (HIGH, MEDIUM),
) -> Groups:
    """`High: en → X` and so on, by training size (Zhang et al., 2020, section 6.4 and table 5).

    Args:
        directions: all scored directions; those without the hub are in no group.
        sizes: training sentence pairs by language pair, `de-en` in any order or as a set; a
            direction whose pair is missing is in no group.
        hub: the hub language, English in the paper.
        bounds: minimum sentence pairs of High and of Medium; the paper's are 0.9 and 0.1 million.
    """
    size_by_pair = {
        frozenset(pair.split("-")) if isinstance(pair, str) else pair: size
        for pair, size in sizes.items()
    }
    groups: Groups = {}
    for side in (f"{hub} → X", f"X → {hub}"):
        rows = [
            (direction, size_by_pair[pair])
            for direction in directions
            if _beside_hub(direction, hub) == side
            and (pair := frozenset(direction.split("-"))) in size_by_pair
        ]
        for name in ("High", "Medium", "Low"):
            if members := tuple(row for row, size in rows if _size_class(size, bounds) == name):
                groups[f"{name}: {side}"] = members
    return groups


def _size_class(size: int, bounds: tuple[int, int]) -> str:
    high, medium = bounds
    if size >= high:
        return "High"
    return "Medium" if size >= medium else "Low"


def family_groups(directions: Sequence[str], hub: str = "en") -> tuple[Groups, tuple[str, ...]]:
    """Directions by language family of the non-hub language, or of the target without a hub.

    Indo-European and Afro-Asiatic are split into branches, as they are large.

    Returns:
        The directions by family, and the languages of unknown family, which are in no group.
    """
    table = json.loads(Path(__file__).with_name("families.json").read_text(encoding="utf-8"))
    family = {language: name for name, languages in table.items() for language in languages}
    groups: dict[str, list[str]] = {}
    unknown: dict[str, None] = {}
    for direction in directions:
        source, target = direction.split("-")
        language = source if canonical(target) == canonical(hub) else target
        name = family.get(canonical(language))
        if name is None:
            unknown[language] = None
        else:
            groups.setdefault(name, []).append(direction)
    return {name: tuple(groups[name]) for name in table if name in groups}, tuple(unknown)


def user_groups(specs: Iterable[str], directions: Sequence[str]) -> Groups:
    """The groups of `--group`, each in the order of `directions`.

    Args:
        specs: `NAME=PATTERN,...` with patterns such as `*-fr`, or `@FILE`, a JSON object with lists
            of patterns by name.
        directions: all scored directions.

    Raises:
        UserError: an invalid spec, a repeated name, or a pattern that matches no direction.
    """
    groups: Groups = {}
    for spec in specs:
        named = _read_spec(spec)
        check_titles(named, "`--group`")
        for name, patterns in named.items():
            if name in groups:
                raise UserError(f"`--group` must name each group once; {name} occurs twice")
            for pattern in patterns:
                if not any(fnmatchcase(direction, pattern) for direction in directions):
                    raise UserError(
                        "`--group` must have patterns of scored directions; "
                        f"{pattern} of {name} matches none"
                    )
            groups[name] = tuple(
                direction
                for direction in directions
                if any(fnmatchcase(direction, pattern) for pattern in patterns)
            )
    return groups


def _read_spec(spec: str) -> dict[str, list[str]]:
    if spec.startswith("@"):
        return _read_file(Path(spec[1:]))
    name, _, patterns = spec.partition("=")
    stripped = [pattern.strip() for pattern in patterns.split(",")]
    if not name.strip() or not all(stripped):
        raise UserError(f"`--group` must be NAME=PATTERN,... or @FILE; it is {spec}")
    return {name.strip(): stripped}


def _read_file(path: Path) -> dict[str, list[str]]:
    try:
        content = read_json(path)
    except OSError as error:
        raise UserError(f"`--group` must name a file after @; {path}: {error.strerror}") from None
    except ValueError:
        content = None
    if not _lists_patterns(content):
        raise UserError(
            '`--group` must name a file such as {"NAME": ["de-fr", "*-es"]} after @; '
            f"{path} is not"
        )
    return dict(content)


def _lists_patterns(content: Any) -> bool:
    if not isinstance(content, dict) or not content:
        return False
    return all(
        isinstance(patterns, list)
        and patterns
        and all(isinstance(pattern, str) for pattern in patterns)
        for patterns in content.values()
    )


def win_ratio(
    system: Mapping[str, float], baseline: Mapping[str, float], higher_is_better: bool
) -> float:
    """Percentage of common directions where the system is better (WR; Zhang et al., 2020).

    Raises:
        ValueError: the systems have no common direction.
    """
    sign = 1 if higher_is_better else -1
    wins = [sign * (system[row] - baseline[row]) > 0 for row in system if row in baseline]
    if not wins:
        raise ValueError("the systems have no common direction")
    return 100 * sum(wins) / len(wins)


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's correlation; None for fewer than three points or a constant variable."""
    if len(x) < 3 or min(x) == max(x) or min(y) == max(y):
        return None
    return correlation(x, y)
