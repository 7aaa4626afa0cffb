"""Prepares a data folder from text while a training already reads its first shard.

Each shard is what :func:`~tdo_plugin.data.preprocessing.preprocess` makes of its part of the text.
The first one, with the segmentation model, the dictionary, validation and test sets, is a complete
data folder. The others follow in a process of their own, and are renamed to their place when they
are complete. At the end the folder's lists, digests and counts cover all shards.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

from tdo_compat.errors import one_line, tell
from tdo_plugin.data.databin import SHARDS, settings_of
from tdo_plugin.data.finished_folder import left_out, write_lists, write_mark
from tdo_plugin.data.folder_steps import nothing_left
from tdo_plugin.data.joint_model import SegmentationSettings
from tdo_plugin.data.preprocessing import PreprocessSettings, preprocess
from tdo_plugin.data.segmentation import Dropped
from tdo_plugin.data.shard_plan import PLAN, ShardPlan, is_ready, plan_of
from tdo_plugin.data.sharding import shard_folders
from tdo_plugin.data.textfolder import (
    TextFolder,
    check_encoding,
    count_lines,
    line_starts,
    read_text_folder,
)
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import replaced, replaced_folder, sha256, write_text
from tdo_plugin.runtime.jobs import run_jobs
from tdo_plugin.runtime.lock import alone
from tdo_plugin.runtime.processes import start
from tdo_plugin.typed import read_json

LINES = 50_000  # of all pairs together in a shard
MOST = 100  # shards
CHUNKS = 8  # of a file in a shard
FEWEST = 100  # lines of a pair in a shard; a pair with fewer is in the first shard only
NICENESS = 5  # so that the training is served first
_PARTS = Path("work", "shards")  # pieces and counts of each shard until all are there
_SCRATCH = "shard-scratch-"


def begin(folder: TextFolder, out: Path, settings: PreprocessSettings, workers: int) -> None:
    """Make the first shard, or all of a small text, unless it is there already.

    Args:
        folder: the text.
        out: the data folder.
        settings: how to make it, without shards.
        workers: processes at a time.

    Raises:
        UserError: as `preprocess`; the folder was made from other text or with other settings.
    """
    with alone(out, "--save-dir"):
        sizes = {folder.named(path): path.stat().st_size for path in folder.files()}
        made = settings_of(out)
        plan = plan_of(out) if made else None  # without the first shard it binds to nothing
        if made and sizes != (plan.sizes if plan else made.get("text")):
            raise UserError(
                f"`--save-dir` must be new for other text; {out} was made from text of other sizes"
            )
        if made and made.get("segmentation") != settings.stored(folder)["segmentation"]:
            raise UserError(
                f"`--save-dir` must be new for another segmentation; {out} was made with other "
                "options (--vocab-size, --model-of)"
            )
        if made and (plan is None or (out / SHARDS).is_file()):
            return
        for path in folder.files():
            check_encoding(path)
        plan = plan or _plan(folder, sizes)
        if plan.shards == 1:
            (out / PLAN).unlink(missing_ok=True)
            preprocess(folder, out, settings, workers)
            return
        plan.write(out)
        with _scratch(out) as scratch:
            _cut(plan, folder.root, 1, scratch)
            for path in folder.files():
                if not path.name.startswith("train."):
                    link = scratch / folder.named(path)
                    link.parent.mkdir(exist_ok=True)
                    link.symlink_to(path.resolve())
            first = read_text_folder(scratch, folder.languages)
            preprocess(first, out, settings, workers, emptied=partial(_refuse, plan, settings))
        _keep_parts(out, out, 1)
        for shard in shard_folders(plan.shards):
            (out / shard).mkdir(exist_ok=True)
        write_text(out / SHARDS, shard_folders(plan.shards)[1:])


def continue_beside(out: Path, workers: int) -> None:
    """Prepare the remaining shards in a process that ends with this one, or what replaces it.

    Args:
        out: a data folder; nothing is done unless it has a plan with missing shards.
        workers: processes at a time.

    Raises:
        UserError: another process writes to the folder.
    """
    if plan := _incomplete(out):
        with alone(out, "DATA"):  # the process inherits the lock
            start(_prepare, out, plan, workers, method="fork")


def complete(out: Path, workers: int) -> None:
    """Prepare the remaining shards, as `continue_beside`, and wait for them.

    Raises:
        UserError: also if the text has changed.
    """
    if plan := _incomplete(out):
        with alone(out, "DATA"):
            _make_rest(plan, out, workers)


def _incomplete(out: Path) -> ShardPlan | None:
    """The plan of a data folder with missing shards."""
    return plan_of(out) if (out / _PARTS).is_dir() else None


def _make_rest(plan: ShardPlan, out: Path, workers: int) -> None:
    for left in (out / "work").glob(f"{_SCRATCH}*"):  # from a killed run
        shutil.rmtree(left, ignore_errors=True)
    numbers = [n for n in range(2, plan.shards + 1) if not is_ready(_shard(out, n))]
    jobs = ((number, partial(_make_shard, plan, out, number)) for number in numbers)
    for _ in run_jobs(jobs, workers):
        pass
    _finish(plan, out)


def _prepare(connection: Connection, out: Path, plan: ShardPlan, workers: int) -> None:
    os.nice(NICENESS)
    try:
        _make_rest(plan, out, workers)
    except Exception as error:  # a training that needs a missing shard ends with a line of its own
        said = one_line(type(error), error) or repr(error)
        tell(f"error: the preparation of {out} has ended: {said}")


def _plan(folder: TextFolder, sizes: dict[str, int]) -> ShardPlan:
    lines = {f"{a}-{b}": count_lines(folder.side("train", (a, b), a)) for a, b in folder.pairs}
    total = sum(lines.values())
    shards = -(-total // max(LINES, -(-total // MOST)))
    if max(lines.values()) < FEWEST * shards:
        shards = 1
    starts = {}
    for pair in folder.pairs:
        count = lines["-".join(pair)]
        spread = shards > 1 and count >= FEWEST * shards
        chunk = -(-count // (CHUNKS * shards)) if spread else count
        for path in folder.sides("train", pair):
            starts[path.name] = (*line_starts(path, chunk), path.stat().st_size)
    return ShardPlan(str(folder.root.resolve()), sizes, folder.languages, shards, lines, starts)


def _cut(plan: ShardPlan, text: Path, number: int, out: Path) -> None:
    """Write a shard's part of the training text."""
    for name in plan.starts:
        source = text / name
        if not source.is_file() or source.stat().st_size != plan.sizes[name]:
            raise UserError(f"`{source}` must stay as it was when the training began; it changed")
        if chunks := plan.chunks(name, number):
            with source.open("rb") as stream, (out / name).open("wb") as part:
                for begin, end in chunks:
                    stream.seek(begin)
                    part.write(stream.read(end - begin))


def _make_shard(plan: ShardPlan, out: Path, number: int) -> None:
    with _scratch(out) as scratch:
        text, data = scratch / "text", scratch / "data"
        text.mkdir()
        _cut(plan, Path(plan.text), number, text)
        limit = (settings_of(out) or {}).get("max_pieces")
        settings = PreprocessSettings(SegmentationSettings(1), model_of=out)
        if isinstance(limit, int):
            settings = replace(settings, max_pieces=limit)
        # what is left out is reported for all shards together
        part = read_text_folder(text)
        preprocess(part, data, settings, say=_silent, warn=_silent, emptied=_silent)
        _keep_parts(data, out, number)
        kept = [f"{name}.*" for name, dropped in left_out(data).items() if dropped.kept]
        with replaced_folder(_shard(out, number)) as made:
            for pattern in (*kept, "dict.*.txt"):
                for path in data.glob(pattern):
                    path.rename(made / path.name)


def _silent(_: str) -> None:
    pass


def _refuse(plan: ShardPlan, settings: PreprocessSettings, name: str) -> None:
    """Raise UserError: the model is learnt from the first shard, which stands in for others."""
    raise nothing_left(name, settings.max_pieces, f" in the first of {plan.shards} shards")


def _shard(out: Path, number: int) -> Path:
    return out / shard_folders(number)[-1]


def _keep_parts(data: Path, out: Path, number: int) -> None:
    """Keep the pieces and the counts of left-out rows of a shard until all shards are made."""
    with replaced_folder(out / _PARTS / str(number)) as kept:
        for path in (data / "pieces").glob("train.*"):
            shutil.copyfile(path, kept / path.name)
        counts = {name: asdict(dropped) for name, dropped in left_out(data).items()}
        write_text(kept / "left-out.json", [json.dumps(counts)])


def _finish(plan: ShardPlan, out: Path) -> None:
    """Make the folder's pieces, counts, lists and digests those of all shards."""
    parts = [out / _PARTS / str(number) for number in range(1, plan.shards + 1)]
    for name in plan.starts:
        with replaced(out / "pieces" / name) as partial_path, partial_path.open("wb") as stream:
            for part in parts:
                if (part / name).is_file():
                    with (part / name).open("rb") as pieces:
                        shutil.copyfileobj(pieces, stream, 1 << 20)
    counts = [read_json(part / "left-out.json") for part in parts]
    for pair in plan.lines:
        name = f"train.{pair}"
        dropped = sum((Dropped(**each[name]) for each in counts if name in each), Dropped())
        path = out / "work" / "steps" / f"{name}.json"
        write_text(path, [json.dumps({**read_json(path), "facts": asdict(dropped)}, indent=1)])
        if dropped.empty or dropped.long:
            tell(
                f"{name}: left out {dropped.empty} pairs with an empty side and {dropped.long} "
                "that are too long, in all shards"
            )
    folder = read_text_folder(Path(plan.text), plan.languages)
    write_lists(folder, out, shard_folders(plan.shards), sha256)
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    write_mark(out, {**(settings_of(out) or {}), "text": plan.sizes, "from_text": True}, files)
    with _scratch(out) as scratch:  # an interruption must not leave a part of them
        (out / _PARTS).rename(scratch / _PARTS.name)
    tell(f"{out}: all {plan.shards} shards are prepared")


@contextmanager
def _scratch(out: Path) -> Iterator[Path]:
    (out / "work").mkdir(exist_ok=True)
    with TemporaryDirectory(prefix=_SCRATCH, dir=out / "work", ignore_cleanup_errors=True) as name:
        yield Path(name)
