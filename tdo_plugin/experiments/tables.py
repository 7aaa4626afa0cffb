"""Tables at a scale: the steps from rows to reports and drawings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdo_plugin.experiments.cells import CELLS, cells_text, check_cells, check_validated
from tdo_plugin.experiments.document import Document, Drawing
from tdo_plugin.experiments.expressions import Scope, as_text
from tdo_plugin.experiments.plan import Plan, References, Words, words_of
from tdo_plugin.experiments.rows import Part, TableRow, first_of_each, fits, identity, rows_of
from tdo_plugin.experiments.steps import Step, device_of, drawn_here
from tdo_plugin.experiments.systems import SEED

REPORT = "report"  # folder of a run with a folder for each table
SHEET, PAGE, GRID = "scores.json", "index.html", "grid.md"  # of `tdo score` and `tdo report`
# patterns of all files that both write
REPORTED = (SHEET, PAGE, CELLS, "results.*", "grid.*", "matrix-*.csv", "heatmap-*.*")


class PlannedTable:
    """A table at a scale.

    Attributes:
        rows: the rows.
        left_out: names of rows that do not exist at this scale.
        scored: the table with the scores: this table, or the one that `cells` names.
        goals: names of the steps that make the table.
    """

    def __init__(self, plan: Plan, name: str, patterns: Sequence[str] = ()) -> None:
        self.plan, self.name = plan, name
        self.place = f"{REPORT}/{name}"
        self.table = plan.setting.document.tables[name]
        self.scored = PlannedTable(plan, self.table.cells, patterns) if self.table.cells else self
        if self.scored is self:
            self.rows, self.left_out = rows_of(plan, name, patterns)
        else:
            self.rows, self.left_out = self.scored.rows, self.scored.left_out
        check_cells(self)
        self.folder = plan.graph.run / self.place
        scored = self.table.score is not False
        self.goals = self._reports() if scored else []
        self.goals += [
            goal
            for number, drawing in enumerate((*self.table.draw, *plan.setting.document.draw))
            if plan.setting.has(drawing.scales)
            for goal in self._drawings(drawing, number)
        ]

    def _seeded(self, rows: Sequence[TableRow]) -> list[TableRow]:
        """One row per training."""
        seeds = self.plan.seeds
        return [row.with_seed(seed, seeds) for row in rows for seed in range(1, seeds + 1)]

    def identity(self, row: TableRow) -> Any:
        """A key of a row; if nothing is translated, only of its training."""
        if self.table.measure == "test":
            return identity(self.plan, row)
        return tuple(map(self.plan.twins.training, row.systems))

    def block_of(self, row: TableRow) -> str:
        """The name of the block of rows that a row is compared with."""
        system = self.plan.system(row.systems[0])
        return as_text(system.scope["block"]) if "block" in system.scope else system.corpus

    def blocks(self) -> list[str]:
        """The names of all blocks, each once."""
        return list(dict.fromkeys(map(self.block_of, self.rows)))

    def folder_of(self, block: str) -> Path:
        """A block's folder."""
        place = self.plan.graph.place(self.place, block)
        return self.folder if len(self.blocks()) == 1 else place

    def sheet(self, block: str) -> Path:
        """A block's score sheet."""
        return self.scored.folder_of(block) / SHEET

    def stale(self) -> Iterator[Path]:
        """Files of an earlier run with other rows in the table's folder."""
        sheets = [*map(self.sheet, self.blocks())] if self.scored is self else []
        for sheet in (*self.folder.glob(SHEET), *self.folder.glob(f"*/{SHEET}")):
            if sheet.parent != self.folder and sheet not in sheets:
                yield sheet.parent
            elif sheet not in sheets:
                yield from (path for name in REPORTED for path in self.folder.glob(name))
        for name in self.plan.graph.drawn(self.place):
            if name not in self.goals:
                place = (self.plan.graph.run / name).parent
                yield from (place, *place.parent.glob(f"{place.name}.*"))

    def _reports(self) -> list[str]:
        """The steps that make the reports; a table over axes has one per block."""
        sheets = {self.scored.scores(block): str(self.sheet(block)) for block in self.blocks()}
        beside = ("--published", self.published) if self.published else ()
        titled = ("--title", title_of(self.plan.setting.document, self.name))
        add = self.plan.graph.add
        if not self.scored.table.axes:
            command = ("report", *sheets.values(), "--out", str(self.folder), *titled, *beside)
            left = (self.folder / PAGE,)
            name = f"{self.place}/report"
            spared = {scores: (sheet,) for scores, sheet in sheets.items()}
            return [add(Step(name, "report", (command,), tuple(sheets), left, spared=spared))]
        goals = []
        for block, (scores, sheet) in zip(self.blocks(), sheets.items(), strict=True):
            folder = self.folder_of(block)
            own = ("report", sheet, "--out", str(folder), *titled)
            cells = folder / CELLS
            commands = ((*own, *beside),) * (self.scored is self) + (
                ("report", sheet, "--cells", str(cells), "--out", str(folder)),
            )
            name = f"{folder.relative_to(self.plan.graph.run)}/report"
            files = {cells: cells_text(self, block)}
            left = (folder / GRID,)
            goals.append(add(Step(name, "report", commands, (scores,), left, files)))
        return goals

    @property
    def published(self) -> str:
        """The paper's table to compare with, or an empty text."""
        return published_beside(self.plan.setting.document, self.name)

    def scores(self, block: str) -> str:
        """The step that makes a block's score sheet."""
        rows = [row for row in self._seeded(self.rows) if self.block_of(row) == block]
        if self.table.axes:
            rows = first_of_each(rows, self.identity)
        systems: list[str] = []
        needs: dict[str, list[str]] = {}
        for row in rows:
            for part in row.parts:
                measured, folder = self._measured(row, part)
                systems.append(f"{row.label}={folder}")
                words = needs.setdefault(measured, [])
                if self.table.measure != "test":  # on test sets, the row stays, without scores
                    words.append(systems[-1])
        system = self.plan.system(rows[0].systems[0])
        data = self.plan.data_folder(system.corpus)
        sheet = self.sheet(block)
        words = ["score", *dict.fromkeys(systems), "--data", str(data), "--out", str(sheet.parent)]
        if self.table.measure == "test":
            words += self._measures(rows, system.scope)
        else:
            words.append("--validations")
        words += shlex.split(system.scope.text(self.table.score))
        words += self.plan.inputs.lid if self.table.measure == "test" else ()
        step = Step(
            f"{self.place}/{block}/scores",
            "scores",
            (tuple(words),),
            tuple(needs),
            (sheet,),
            spared=needs,
        )
        return self.plan.graph.add(step)

    def _measures(self, rows: Sequence[TableRow], scope: Scope) -> list[str]:
        """Options of `tdo score` for test sets; the table's options follow them."""
        protocol = self.plan.setting.document.protocol
        return [
            *(("--protocol", protocol) if protocol else ()),
            *("--directions", scope.text(self.table.directions)),
            *("--baseline", self._baseline(rows)),
            *shlex.split(scope.text(self.plan.setting.said("score") or "")),
        ]

    def _measured(self, row: TableRow, part: Part) -> tuple[str, Path]:
        """The step after which a row's part can be scored, and the folder to score."""
        plan = self.plan
        if self.table.measure == "test":
            return self._translation(row, part)
        check_validated(plan, part.system)
        trained = plan.folder(plan.twins.trained_as(part.system))
        return plan.training(part.system), trained / "checkpoints"

    def _all_measured(self, rows: Iterable[TableRow]) -> list[str]:
        """The steps after which rows can be scored."""
        measured = self.scored._measured
        return [measured(row, part)[0] for row in rows for part in row.parts]

    def _baseline(self, rows: Sequence[TableRow]) -> str:
        pattern = self.table.baseline or "*"
        return next((row.label for row in rows if fits(row.name, [pattern])), rows[0].label)

    def _translation(self, row: TableRow, part: Part) -> tuple[str, Path]:
        plan = self.plan

        each = f"/{part.names['each']}" if "each" in part.names else ""
        place = f"{row.name}{each}" if part.own else plan.twins.tested_as(part.system)
        out = plan.graph.place(place) / "output"
        needs: list[str] = []
        references = References(plan, needs, part.system, out=out)
        scope = plan.system(part.system).scope.with_values(**part.names).referring(references)
        data = plan.data_folder(plan.system(part.system).corpus)
        if "--path" not in part.translate:
            path = scope.text(part.path or "{checkpoint}")
            words: tuple[str, ...] = ("--path", path)
        else:
            words = ()
        further = words_of([part.translate], scope)[0] if part.translate else ()
        document = plan.setting.document
        protocol = ("--protocol", document.protocol) if document.protocol else ()
        usual = shlex.split(scope.text(plan.setting.said("translate") or ""))
        how = shlex.join((str(data), *words, *protocol, *usual, *further))
        # several steps translate to one folder, which is remade if their common settings change
        folder = Step(f"{place}/output", "output", (), tuple(dict.fromkeys(needs)), (out,), of=how)
        command = (
            *("translate", str(data), *words, "--out", str(out), *protocol),
            *("--pairs", part.directions, *usual, *further),
        )
        name = f"{folder.name}/{part.directions.replace('/', '-').replace('*', 'X')}"
        before = (*folder.needs, plan.graph.add(folder))
        step = Step(name, "translation", (command,), before, device="all", place=str(out))
        return plan.graph.add(step), out

    def _drawings(self, drawing: Drawing, number: int) -> Iterator[str]:
        setting = self.plan.setting
        scope = setting.scope({}, f"tables.{self.name}.draw[{number}]")
        if not scope.value(drawing.only):
            return
        for value in scope.value(drawing.at) if drawing.at is not None else (None,):
            names = {} if drawing.at is None else {"at": value}
            for seed in range(1, self.plan.seeds + 1) if drawing.per_seed else (None,):
                goal = self._drawing(drawing, scope.with_values(**names), names, seed)
                if goal is not None:
                    yield goal

    def _drawing(
        self, drawing: Drawing, scope: Scope, names: Mapping[str, Any], seed: int | None
    ) -> str | None:
        needs: list[str] = []
        scored = "{scores}" in str(drawing.make)
        if drawing.baseline:
            patterns = [scope.text(pattern) for pattern in drawing.baseline]
            first = next((row for row in self.rows if fits(row.name, patterns)), None)
            if first is None:
                return None
            names = {**names, "baseline": first.label}
            needs += self._all_measured(self._seeded([first])) if scored else ()
        patterns = [scope.text(pattern) for pattern in drawing.rows]
        rows = [row for row in self.rows if fits(row.name, patterns)]
        if len(rows) < drawing.least:
            return None
        by_seed = drawing.seeds or seed is not None
        if by_seed:
            seeds = (seed,) if seed else range(1, self.plan.seeds + 1)
            rows = [row.with_seed(k, self.plan.seeds) for row in rows for k in seeds]
        drawn: list[TableRow] = []
        each = Words()
        spared: dict[str, list[str]] = {}
        for row in rows:
            trained = [row] if by_seed else self._seeded([row])
            own_needs = self._all_measured(trained) if scored else []
            references = References(self.plan, own_needs, row.systems[0])
            own = self.plan.system(row.systems[0]).scope.with_values(
                **row.parts[0].names, **names, label=row.label, name=row.name
            )
            word = own.referring(references).text(drawing.each)
            each += [word] if word else []
            if word or not drawing.each:
                drawn.append(row)
                for need in own_needs:
                    spared.setdefault(need, []).append(word)
        if rows and not drawn:
            return None
        rows = drawn
        place = scope.text(drawing.out) + (f"+{SEED}={seed}" if seed and seed > 1 else "")
        out = self.plan.graph.place(self.place, place)
        further: dict[str, Any] = {"each": each, "out": str(out)}
        if scored:
            block = self.block_of(rows[0])
            needs.append(self.scored.scores(block))
            further["scores"] = str(self.sheet(block))
        own = scope
        if rows:
            system = self.plan.system(rows[0].systems[0])
            own = system.scope.with_values(**names, label=rows[0].label)
        references = References(
            self.plan, needs, rows[0].systems[0] if rows else None, further=further
        )
        commands = drawn_here(words_of(drawing.make, own.referring(references)))
        text = Path(f"{out}.txt")
        step = Step(
            f"{self.place}/{place}/drawing",
            "drawing",
            commands,
            tuple(dict.fromkeys([*needs, *spared])),
            (text, out, *(Path(f"{out}{end}") for end in (".svg", ".png"))),
            device=device_of(commands),
            text=text,
            spared={need: words for need, words in spared.items() if need not in needs},
        )
        return self.plan.graph.add(step)


def title_of(document: Document, name: str) -> str:
    """The title of a table's report: the file's, with the table's name if there are several."""
    title = document.title or document.name
    if len(document.tables) == 1 or name == document.name:
        return title
    return f"{title}, {label_of(name)}"


def label_of(name: str) -> str:
    """A table's name for readers, `table 1` for `table1`."""
    return re.sub(r"(table|figure)(?=\d)", r"\1 ", name)


def published_beside(document: Document, name: str) -> str:
    """The paper's table to compare a table with, PAPER:TABLE, or an empty text."""
    published, number = document.tables[name].published, name.removeprefix("table")
    if published is not None:
        return published
    return f"{document.published}:{number}" if document.published and number != name else ""
