"""Score sheets by hand, whose means are easy to see, and what reads their tables."""

from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser

from tdo_plugin.evaluation.report.table import ABSENT, Block, Cell, Column, Row, Table
from tdo_plugin.evaluation.score_sheet import (
    Comparison,
    Difference,
    DirectionScores,
    Example,
    ScoreSheet,
    SystemScores,
)

HOSTILE = "</script><img src=x onerror=alert(1)> & \"quoted\" 'too'"
ARABIC = "شكرا جزيلا"
# BLEU, off-target share and perplexity of two systems; `few` lacks ar-de
SCORES = {
    "en-ar": {"plain": (20.0, 4.0, 5.0), "few": (30.04, 4.01, 5.0)},
    "en-de": {"plain": (10.0, 2.0, 6.0), "few": (30.0, 0.0, 5.5)},
    "ar-en": {"plain": (40.0, 0.0, 4.0), "few": (39.99, 1.0, 4.0)},
    "ar-de": {"plain": (7.25, 50.0, 9.0)},
}
GROUPS = {
    "en → X": ("en-ar", "en-de"),
    "X → en": ("ar-en",),
    "zero-shot": ("ar-de",),
    "all": tuple(SCORES),
    "mine": ("en-de", "ar-de"),
}


TABLE = Table(
    "key",
    "Title",
    ("system",),
    (Column("BLEU ↑", "a"), Column("BLEU ↑", "longer"), Column("TER ↓", "a")),
    (
        Block((Row(("猫_1",), (Cell("9.5", 9.5, True, "▲"), Cell(ABSENT), Cell("1.0"))),)),
        Block((Row(("a|b",), (Cell("10.0", 10.0), Cell(""), Cell("2.0"))),), "TDO, Table 1", True),
    ),
    "How to read it.",
)


def shares(off: float) -> dict[str, float]:
    rest = {"english": off / 2, "source": off / 4, "other": off / 4}
    return {"target": 100 - off, **rest, "undetectable": 0.0}


def system(name: str) -> SystemScores:
    rows = []
    for direction in (direction for direction, values in SCORES.items() if name in values):
        bleu, off, perplexity = SCORES[direction][name]
        scores = {"bleu": bleu, "off": off, "perplexity": perplexity}
        languages = {direction.split("-")[1]: 2}
        rows.append(DirectionScores(direction, 2, scores, shares(off), languages, off / 8))
    provenance = {"checkpoint": {"sha256": "9f<2>c"}, "command": "train --lr 1", "seeds": [1, None]}
    return SystemScores(name, tuple(rows), {"all": {"bleu": 21.5}}, {"all": 0.5}, provenance)


def bleu_sheet(bleu: Mapping[str, Mapping[str, float]], **changes: object) -> ScoreSheet:
    """BLEU alone, by system and direction."""
    systems = tuple(
        SystemScores(
            name, tuple(DirectionScores(way, 2, {"bleu": value}) for way, value in scores.items())
        )
        for name, scores in bleu.items()
    )
    directions = tuple(next(iter(bleu.values()), ()))
    groups = {"all": directions, **{direction: (direction,) for direction in directions}}
    return ScoreSheet(systems, directions, groups, ("bleu",), **changes)


def sheet(**changes: object) -> ScoreSheet:
    """Two systems, three languages, four directions; COMET is missing."""
    won = Difference(30.02, 15.0, 15.02, 10.0, 20.0, 0.0004)
    close = Difference(39.99, 40.0, -0.01, -1.0, 1.0, 0.0312)
    by_direction, by_group = {"en-ar": won, "ar-en": close}, {"en → X": won, "X → en": close}
    share_won = {"en → X": 100.0, "X → en": 0.0}
    default = ScoreSheet(
        systems=(system("plain"), system("few")),
        directions=tuple(SCORES),
        groups=GROUPS,
        metrics=("bleu", "comet", "off", "perplexity"),
        comparisons=(Comparison("few", "plain", "bleu", by_direction, by_group, share_won),),
        examples=(
            Example("en-ar", 7, "thanks & more", ARABIC, {"plain": HOSTILE, "few": ""}, {}),
            Example("ar-de", 3, None, "danke", {"plain": "danke"}, {"plain": 100.0}),
        ),
        signatures={"bleu": ("BLEU|tok:13a", "BLEU|tok:zh")},
        missing={"comet": "unbabel-comet is not installed"},
        notes=("A note.",),
        made_by={"command": "tdo score", "commit": None},
    )
    if "systems" in changes:
        changes.setdefault("examples", ())  # those above are of the systems above
    return replace(default, **changes)


def written(table: Table) -> dict[tuple[str, ...], dict[tuple[str, str], str]]:
    """A table's cells by row and column: best in stars, mark behind."""
    return {
        row.labels: {
            (column.over, column.name): ("*" * cell.best) + cell.text + cell.mark
            for column, cell in zip(table.columns, row.cells, strict=True)
        }
        for block in table.blocks
        for row in block.rows
    }


class Page(HTMLParser):
    """A page taken apart; fails where an element is not closed by its own end tag."""

    EMPTY = ("meta", "link", "br", "img")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self.texts: list[list[str]] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.EMPTY:
            self.elements.append((tag, dict(attrs), ""))
        else:
            self.open.append((tag, dict(attrs)))
            self.texts.append([])

    def handle_endtag(self, tag: str) -> None:
        name, attributes = self.open.pop()
        assert name == tag, f"{name} is closed by {tag}"
        text = "".join(self.texts.pop())
        self.elements.append((name, attributes, text))
        if self.texts and name not in ("script", "style"):
            self.texts[-1].append(text)

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """Attributes and text of every element of a kind."""
        return [(attributes, text) for name, attributes, text in self.elements if name == tag]


def trained(name: str, gain: float = 0.0) -> SystemScores:
    """The system `few`, better by so much."""
    rows = tuple(
        replace(row, scores={**row.scores, "bleu": row.scores["bleu"] + gain})
        for row in system("few").directions
    )
    pooled = {"all": {"bleu": 20 + gain}, "mine": {}}
    return replace(system("few"), name=name, directions=rows, pooled=pooled)


def seeded() -> ScoreSheet:
    """One system of two seeds, and one of one."""
    systems = (trained("few, seed 1"), trained("few, seed 2", 3.0), system("plain"))
    return sheet(systems=systems, comparisons=())
