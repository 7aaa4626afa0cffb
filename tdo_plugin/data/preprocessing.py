"""Makes a data folder (see `databin.py`) from a text folder, in steps (see `steps.py`)."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from tdo_plugin.data import binarization, joint_model
from tdo_plugin.data.databin import MARK, read_data_folder, settings_of
from tdo_plugin.data.finished_folder import is_of, remove_strays, write_lists, write_mark
from tdo_plugin.data.folder_steps import (
    make_sets,
    model_step,
    taken_model,
    taken_model_step,
    test_steps,
    text_sets,
    text_steps,
)
from tdo_plugin.data.joining import join_valids
from tdo_plugin.data.sampling import most_sentences
from tdo_plugin.data.segmentation import load_model
from tdo_plugin.data.set_parts import Encoding
from tdo_plugin.data.shard_plan import PLAN
from tdo_plugin.data.sharding import shard_folders
from tdo_plugin.data.textfolder import Pair, TextFolder, count_lines
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import sha256
from tdo_plugin.runtime.steps import Facts, Step, Steps

Say = Callable[[str], object]
say_at_once = partial(print, flush=True)
warn_at_once = partial(print, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class PreprocessSettings:
    """How a data folder is made.

    Attributes:
        segmentation: of the joint model.
        max_pieces: training and validation pairs with a longer side are left out.
        form: of the text, as recorded in `prepared.json`; {} for cased plain text. Text is
            lowercased if its casing is lowercased.
        join_valid: minimum number of lines of a validation set joined for a pair without training
            text; 0: no such sets.
        shard_sentences: maximum number of sentences of a pair in a shard; 0: no shards.
        model_of: a data folder whose model and dictionary are used instead of new ones.
    """

    segmentation: joint_model.SegmentationSettings
    max_pieces: int = 1000
    form: Mapping[str, Any] = field(default_factory=dict)
    join_valid: int = 0
    shard_sentences: int = 0
    model_of: Path | None = None

    @property
    def lowercase(self) -> bool:
        """Whether text is lowercased before segmentation."""
        return self.form.get("casing") == "lowercased"

    def stored(self, folder: TextFolder) -> dict[str, Any]:
        """The settings in `prepared.json` for a folder made from this text.

        Settings added in later versions are omitted if they have no effect, so that older folders
        stay valid.
        """
        segmentation = {**self.segmentation.stored(), "hub_pairs": [*self.segmentation.hub_pairs]}
        if self.segmentation.temperature == 1:
            del segmentation["temperature"]
        del segmentation["bounded"]  # implied by `sentences`, except in corpus descriptions
        if self.model_of is not None:
            segmentation = taken_model(self.model_of)
        plain = {"plain_references": True} if folder.has_plain else {}
        later = {
            "form": {**self.form, **plain},
            "join_valid": self.join_valid,
            "shard_sentences": self.shard_sentences,
        }
        return {
            "languages": list(folder.languages),
            "segmentation": segmentation,
            "max_pieces": self.max_pieces,
            "text": {folder.named(path): path.stat().st_size for path in folder.files()},
            **{name: value for name, value in later.items() if value},
        }


def stock_commands(
    folder: TextFolder, out: Path, settings: PreprocessSettings, workers: int
) -> list[list[str]]:
    """The `fairseq-preprocess` command of every pair, without the program's name."""
    with tempfile.TemporaryDirectory() as scratch:
        valids = _valids(folder, settings, Path(scratch))
        return binarization.commands(folder, out, workers, valids)


def show_command(words: Sequence[str]) -> str:
    """A stock command for display."""
    return "+ fairseq-preprocess " + shlex.join(words)


def preprocess(
    folder: TextFolder,
    out: Path,
    settings: PreprocessSettings,
    workers: int = 1,
    fresh: bool = False,
    say: Say = say_at_once,
    warn: Say = warn_at_once,
    emptied: Say | None = None,
) -> None:
    """Make `out`, unless it is already made from the same text with the same settings.

    The result depends neither on `workers` nor on where an earlier run was killed.

    Args:
        folder: the text.
        out: the data folder.
        settings: how to make it.
        workers: processes at a time.
        fresh: ignore earlier results.
        say: gets progress lines.
        warn: gets lines about omitted sentences.
        emptied: see `make_sets`.

    Raises:
        UserError: the folder was made from other text or with other settings; the text or the
            settings are invalid.
    """
    out = out.resolve()
    stored, earlier = settings.stored(folder), settings_of(out)
    digest = cache(sha256)
    if not fresh and earlier == stored and is_of(out, folder, digest):
        say(f"{out} is already complete")
        return
    if earlier is not None and not fresh:
        raise UserError(
            f"`DATA` must be a new folder, or `--fresh` given; {out} was made from other text or "
            "with other settings"
        )
    (out / MARK).unlink(missing_ok=True)
    shards = shard_folders(_shards(folder, settings.shard_sentences))
    with Steps(out, workers) as steps, tempfile.TemporaryDirectory() as scratch:
        if fresh:
            (out / PLAN).unlink(missing_ok=True)
            steps.forget()
        encoding = _train_model(folder, settings, steps, digest, say)
        valids = _valids(folder, settings, Path(scratch))
        if lacking := _lacking(folder, valids):
            warn(lacking)
        named = binarization.sets_of(folder, valids)
        begun = _announcing(binarization.commands(folder, out, workers, valids), say)
        binarization.load()  # so that later processes inherit fairseq
        texts, tests = text_steps(folder, encoding), test_steps(folder, named, encoding)
        steps.run(texts)
        sets = text_sets(folder, named, valids)
        dropped_rows = make_sets(sets, encoding, shards, steps, begun, emptied)
        for name, dropped in dropped_rows.items():
            if dropped.empty or dropped.long:
                warn(
                    f"{name}: left out {dropped.empty} pairs with an empty side and {dropped.long} "
                    f"with more than {settings.max_pieces} pieces"
                )
        steps.run(tests, begun)
        done = [*(text_set.name for text_set in sets), *(step.name for step in (*texts, *tests))]
        steps.forget("model", *done)
        files = steps.files()
    remove_strays(out, files)
    write_lists(folder, out, shards, digest)
    write_mark(out, stored, files)
    _say_what_is_there(out, say)


def _say_what_is_there(out: Path, say: Say) -> None:
    data = read_data_folder(out)
    say(
        f"{out}: {len(data.languages)} languages, {len(data.directions)} training and "
        f"{len(data.test_directions)} test directions"
    )
    if data.shards:
        say(f"{len(data.shards) + 1} shards: {data.path}")


def _valids(
    folder: TextFolder, settings: PreprocessSettings, scratch: Path
) -> dict[Pair, tuple[Path, Path]]:
    """Validation text of every pair that has any; joined sets are written to `scratch`."""
    valids = dict(folder.valids())
    if settings.join_valid:
        valids.update(join_valids(folder, settings.join_valid, scratch))
    return valids


def _lacking(folder: TextFolder, valids: Iterable[Pair]) -> str:
    """A warning about trained pairs without a validation set; empty if there are none."""
    validated = {frozenset(pair) for pair in valids}
    names = [f"{a}-{b}" for a, b in folder.pairs if {a, b} not in validated]
    if len(names) == len(folder.pairs):
        return "no trained pair has a validation set: training runs without validation"
    if names:
        return f"no validation set: {', '.join(names)}; training validates on the other pairs"
    return ""


def _shards(folder: TextFolder, most: int) -> int:
    """The number of shards such that none has more than ``most`` sentences of a pair."""
    if not most:
        return 1
    lines = max(count_lines(folder.side("train", pair, pair[0])) for pair in folder.pairs)
    return -(-lines // most)


def _train_model(
    folder: TextFolder,
    settings: PreprocessSettings,
    steps: Steps,
    digest: Callable[[Path], str],
    say: Say,
) -> Encoding:
    if settings.model_of is not None:
        step = taken_model_step(settings.model_of)
        pieces = steps.run([step])[step.name]["pieces"]
        say(f"{pieces} pieces from {settings.model_of}")
        return _encoding(settings, steps, digest)
    joint = settings.segmentation
    sides = joint_model.training_sides(folder, joint.hub_pairs, digest)
    most = most_sentences(sides) if joint.bounded else 0
    drawn = most and not 0 < joint.sentences <= most
    # a step depends on the number of sentences, not on the reason for it
    joint = replace(joint, sentences=most if drawn else joint.sentences, bounded=True)

    def begun(_: Step) -> None:
        say(f"SentencePiece ({joint.model_type}) on {len(sides)} files")
        if drawn:
            requested = settings.segmentation.sentences
            bound = f" of at most {requested:,}" if requested else ""
            say(
                f"to limit memory, SentencePiece draws {most:,} sentences{bound} (--sentences N "
                "draws N, whatever memory that takes)"
            )

    step = model_step(sides, joint, settings.lowercase, digest)
    facts = steps.run([step], begun)[step.name]
    say(_pieces_learnt(facts, joint.bpe_operations))
    return _encoding(settings, steps, digest)


def _pieces_learnt(facts: Facts, requested: int) -> str:
    pieces = facts["pieces"]
    if not requested:
        return f"{pieces} pieces"
    alphabet = joint_model.Alphabet(**facts["alphabet"])
    operations = pieces - alphabet.symbols
    short = "" if operations == requested else f" ({requested:,} are more than the text has)"
    return (
        f"{pieces} pieces: {operations:,} BPE operations{short}, {alphabet.characters:,} "
        f"characters, {alphabet.initials:,} characters that begin a word"
    )


def _encoding(
    settings: PreprocessSettings, steps: Steps, digest: Callable[[Path], str]
) -> Encoding:
    path = steps.root / "spm.model"
    return Encoding(
        steps.root,
        load_model(path),
        sha256(path),
        settings.max_pieces,
        settings.lowercase,
        digest,
    )


def _announcing(commands: Iterable[Sequence[str]], say: Say) -> Callable[[Step], None]:
    """Show the stock command of a pair when the first step of its sets starts."""
    waiting = {f"{words[1]}-{words[3]}": words for words in commands}

    def begun(step: Step) -> None:
        if words := waiting.pop(step.name.split(".")[1], None):
            say(show_command(words))

    return begun
