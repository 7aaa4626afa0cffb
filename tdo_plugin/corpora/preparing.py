"""Makes the text folder of a description, with all splits of all pairs, and its data folder.

OUT/work/raw/        texts from the archives
OUT/work/tokens/     text before truecasing (see `pair_rows.py` for related folders)
OUT/work/text/       the text folder (see `texts.py`)
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tdo_plugin.corpora.description import HELD_OUT, SPLITS, Corpus, Member, Pair
from tdo_plugin.corpora.pair_rows import Making, Record, remember, split_step
from tdo_plugin.corpora.prepared_corpus import check_made, write_outcome
from tdo_plugin.corpora.rows.cleaning import HeldOut
from tdo_plugin.corpora.sources.fetch import fetch
from tdo_plugin.corpora.sources.unpack import unpack
from tdo_plugin.corpora.texts import write_texts
from tdo_plugin.data.folder_steps import taken_model
from tdo_plugin.data.preprocessing import PreprocessSettings, preprocess
from tdo_plugin.data.textfolder import read_text_folder
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.textform import TextForm
from tdo_plugin.runtime.files import sha256
from tdo_plugin.runtime.lock import alone
from tdo_plugin.runtime.steps import Step, Steps, described

Say = Callable[[str], None]


def gather(
    corpus: Corpus, cache: Path, user_files: Mapping[str, Path], work: Path, say: Say
) -> tuple[dict[Member, tuple[Path, ...]], str]:
    """Download the archives and extract the required texts.

    Returns:
        The files of every text, and a digest of the archives.

    Raises:
        UserError: an archive is not available, or lacks a text.
    """
    files: dict[Member, tuple[Path, ...]] = {}
    digest = hashlib.sha256()
    archives = corpus.archives_needed()
    for name, members in corpus.members_needed().items():
        paths = fetch(archives[name], cache, user_files, say)
        checksum = archives[name].sha256
        digest.update(repr([checksum or sha256(path) for path in paths]).encode())
        texts = unpack(archives[name], paths, members, work / "raw" / name, say)
        files |= {Member(name, member): texts[member] for member in members}
    return files, digest.hexdigest()


def make_splits(making: Making, workers: int, say: Say) -> list[Record]:
    """Make test, valid and training text, in this order, since later splits exclude earlier ones.

    Raises:
        UserError: the source's text has a mistake, or nothing is left of a split.
    """
    corpus = making.corpus
    pairs = {"train": corpus.train_pairs, "valid": corpus.valid_pairs, "test": corpus.test_pairs}
    held_out = HeldOut()
    records: list[Record] = []
    with Steps(making.out, workers, "splits") as steps:
        for split in reversed(SPLITS):
            looks = _looks(corpus, split)
            split_making = replace(making, processes=max(1, workers // max(1, len(pairs[split]))))
            seen = _digest_of(making, records) if looks else ""
            pair_steps = [
                (pair, split_step(split_making, split, pair, held_out if looks else None, seen))
                for pair in pairs[split]
            ]
            records += _make_split(split, pair_steps, steps, say)
            if split != "train" and any(_looks(corpus, later) for later in SPLITS):
                for pair in pairs[split]:
                    remember(making, split, pair, held_out)
    return records


def _make_split(
    split: str, pair_steps: Sequence[tuple[Pair, Step]], steps: Steps, say: Say
) -> list[Record]:
    """Run the steps of all pairs, several at a time."""
    pairs = {step.name: pair for pair, step in pair_steps}

    def record(step: Step) -> Record:
        return Record(split, pairs[step.name], **(steps.facts(step) or {}))

    steps.run((step for _, step in pair_steps), ended=lambda step: say(line_of(record(step))))
    records = [record(step) for _, step in pair_steps]
    for pair_record in records:
        if not pair_record.kept:
            raise UserError(
                f"`{'-'.join(pair_record.pair)}` must have {split} text; nothing is left"
            )
    return records


def _looks(corpus: Corpus, split: str) -> bool:
    """Whether rows of a split are compared with other splits."""
    return any(rule.rule in HELD_OUT for rule in corpus.clean[split])


def _digest_of(making: Making, records: Iterable[Record]) -> str:
    digest = hashlib.sha256()
    for record in records:
        for language in record.pair:
            digest.update(making.held_out(record.split, record.pair, language).read_bytes())
    return digest.hexdigest()


def line_of(record: Record) -> str:
    """A record as a line: rows read, rows removed by each rule, rows left."""
    taken = ", ".join(f"{count:,} {reason}" for reason, count in record.taken.items() if count)
    name = f"{record.split} {'-'.join(record.pair)}"
    return f"{name}: {record.read:,} rows, {record.kept:,} kept" + (f" ({taken})" if taken else "")


def binarise(
    corpus: Corpus,
    text: Path,
    out: Path,
    workers: int,
    fresh: bool,
    shard_sentences: int,
    model_of: Path | None,
    say: Say,
) -> None:
    """Segment and binarise the text folder, as `tdo preprocess` does.

    Raises:
        UserError: the text is unusable, see `preprocess`.
    """
    form = corpus.form
    settings = PreprocessSettings(
        corpus.segmentation,
        form=form.stored() if form != TextForm() else {},
        shard_sentences=shard_sentences,
        model_of=model_of,
    )
    folder = read_text_folder(text, corpus.languages)
    preprocess(folder, out, settings, workers, fresh, say, say)


def load_tokenizers(corpus: Corpus) -> None:
    """Load the packages for tokenization, so that processes started later inherit them.

    Raises:
        UserError: a package is not installed.
    """
    if corpus.form.tokenizes:
        for language in corpus.languages:
            corpus.form.tokenized(["."], language)


def prepare(
    corpus: Corpus,
    cache: Path,
    user_files: Mapping[str, Path],
    out: Path,
    workers: int,
    fresh: bool,
    say: Say,
    shard_sentences: int = 0,
    model_of: Path | None = None,
) -> None:
    """Make a data folder of a corpus, reusing what an earlier run has finished.

    Args:
        corpus: the description.
        cache: where archives are kept.
        user_files: files of the user by the name of the archive.
        out: the data folder.
        workers: processes.
        fresh: ignore earlier results, except archives.
        say: gets progress lines.
        shard_sentences: maximum number of sentences of a pair in a shard; 0: no shards.
        model_of: a folder whose segmentation and dictionary are used instead of new ones.

    Raises:
        UserError: the folder was made with other settings or is in use, or the source has a
            problem.
    """
    taken = [taken_model(model_of)] if model_of else []
    key = hashlib.sha256(described((corpus, shard_sentences, *taken)).encode()).hexdigest()
    with alone(out):
        if check_made(out, key, fresh):
            say(f"{out} is already complete")
            return
        work = out / "work"
        if fresh:
            shutil.rmtree(work, ignore_errors=True)
        load_tokenizers(corpus)
        files, source = gather(corpus, cache, user_files, work, say)
        making = Making(corpus, files, source, out)
        records = make_splits(making, workers, say)
        text = write_texts(making, records, workers, say)
        binarise(corpus, text, out, workers, fresh, shard_sentences, model_of, say)
        write_outcome(out, corpus, key, records)
