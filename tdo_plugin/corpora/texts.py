"""Makes the text folder of all splits, and monolingual text.

work/text/               links to the text of each split and to plain/, see `data/textfolder.py`
work/cased/train.X-Y.X   the truecased tokens, with a truecaser learned from train
truecase.X  mono/mono.X  parts of the data folder: truecasing models, monolingual text
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from tdo_plugin.corpora.description import Monolingual
from tdo_plugin.corpora.pair_rows import Making, Record, in_chunks
from tdo_plugin.corpora.rows.readers import lines as line_reader
from tdo_plugin.corpora.rows.row_sampling import generator
from tdo_plugin.data.sampling import draw
from tdo_plugin.data.textfolder import PLAIN, count_lines, read_lines
from tdo_plugin.metrics.textform import TextForm, truecaser
from tdo_plugin.metrics.truecasing import train_truecaser
from tdo_plugin.runtime.files import replaced, sha256, write_text
from tdo_plugin.runtime.steps import Facts, Step, Steps, described

CASED = Path("work", "cased")


def write_texts(
    making: Making, records: Sequence[Record], workers: int, say: Callable[[str], None]
) -> Path:
    """Write the text folder, and the data folder's other text.

    Results of an earlier run are kept if they are from the same text, and removed otherwise.

    Args:
        making: see `Making`.
        records: of all splits.
        workers: processes at a time.
        say: gets a line for each monolingual text.

    Returns:
        The text folder.
    """
    sides = {
        making.tokens(record.split, record.pair, language): (record, language)
        for record in records
        for language in record.pair
    }
    with Steps(making.out, workers, "texts") as steps:
        alone = [
            _monolingual_step(making, monolingual) for monolingual in making.corpus.monolingual
        ]
        kept_steps = alone
        if truecased := making.corpus.form.casing == "truecased":
            models = _truecaser_steps(making, sides)
            steps.run(models)
            cased = [_cased_step(making, path, language) for path, (_, language) in sides.items()]
            steps.run(cased)
            kept_steps = [*alone, *models, *cased]
        for name, facts in steps.run(alone).items():
            _, language = name.split(".")
            say(f"monolingual {language}: {facts['read']:,} lines, {facts['kept']:,} kept")
        steps.forget(*(step.name for step in kept_steps))
        recorded_files = steps.files()
    for pattern in ("truecase.*", "mono/*", f"{CASED}/*"):
        for path in making.out.glob(pattern):
            if path.relative_to(making.out).as_posix() not in recorded_files:
                path.unlink()
    return _link_all(making, sides, truecased)


def _link_all(making: Making, sides: dict[Path, tuple[Record, str]], truecased: bool) -> Path:
    folder = making.work / "text"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    recased = truecased and not making.corpus.form.tokenized_at_source
    if keeps := recased or making.corpus.form.tokenizes:
        (folder / PLAIN).mkdir()
    for path, (record, language) in sides.items():
        _link(making.out / CASED / path.name if truecased else path, folder / path.name)
        if keeps and record.split == "test":
            plain = making.held_out(record.split, record.pair, language)
            _link(plain, folder / PLAIN / path.name)
    return folder


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # the file system has no links between these folders
        with replaced(target) as unfinished:
            shutil.copyfile(path, unfinished)


def _truecaser_steps(making: Making, sides: dict[Path, tuple[Record, str]]) -> list[Step]:
    learned: dict[str, list[Path]] = {language: [] for language in making.corpus.languages}
    for path, (record, language) in sides.items():
        if record.split == "train":
            learned[language].append(path)
    return [
        Step(
            f"truecase.{language}",
            {"texts": [sha256(path) for path in paths]},
            partial(_learn_casing, paths, language),
        )
        for language, paths in learned.items()
    ]


def _learn_casing(paths: Iterable[Path], language: str, folder: Path) -> Facts:
    train_truecaser(paths, truecaser(folder, language))
    return {}


def _cased_step(making: Making, path: Path, language: str) -> Step:
    model = truecaser(making.out, language)
    depends = {"text": sha256(path), "model": sha256(model)}
    make = partial(_write_cased, path, language, making.corpus.form, making.out)
    return Step(f"cased.{path.name}", depends, make)


def _write_cased(path: Path, language: str, form: TextForm, models: Path, folder: Path) -> Facts:
    chunks = in_chunks(read_lines(path))
    cased = chain.from_iterable(form.cased(chunk, language, models) for chunk in chunks)
    target = folder / CASED / path.name
    target.parent.mkdir(parents=True)
    write_text(target, cased)
    return {}


def _monolingual_step(making: Making, monolingual: Monolingual) -> Step:
    depends = {"source": making.source, "what": described(monolingual)}
    return Step(
        f"mono.{monolingual.language}",
        depends,
        partial(_draw_lines, making.files[monolingual.text], monolingual),
    )


def _draw_lines(files: Sequence[Path], monolingual: Monolingual, folder: Path) -> Facts:
    """Lines drawn at random, in order."""

    def lines() -> Iterator[str]:
        return (
            line for path in files for line in line_reader.read_lines(path, "utf-8") if line.strip()
        )

    total = sum(1 for _ in lines())
    chance = generator(
        monolingual.seed, (monolingual.language, monolingual.language), "monolingual"
    )
    target = folder / "mono" / f"mono.{monolingual.language}"
    target.parent.mkdir()
    write_text(target, draw(lines(), total, min(monolingual.rows, total), chance))
    return {"read": total, "kept": count_lines(target)}
