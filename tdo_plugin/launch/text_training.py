"""`tdo train --from-text`: a training whose data folder is made from text while it runs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tdo_plugin.data.databin import DataFolder, settings_of
from tdo_plugin.data.textfolder import TextFolder, read_text_folder
from tdo_plugin.errors import UserError
from tdo_plugin.launch.training import STOCK_TASK, last_value

FOLDER = "data"  # in the checkpoint folder
VOCABULARY = 8000
SENTENCES = 50_000  # for the SentencePiece model, from the first shard
MOST_WORKERS = 8


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """Declare `--from-text` and the options of its model."""
    add = parser.add_argument
    add(
        "--from-text",
        action="store_true",
        help="DATA is a text folder (see `tdo preprocess`): training begins after 50,000 of its "
        "lines are segmented, while the rest follows in the background; SAVE_DIR/data is the data "
        "folder",
    )
    add(
        "--vocab-size",
        type=int,
        metavar="N",
        help=f"with --from-text: pieces of the SentencePiece model (default {VOCABULARY})",
    )
    add(
        "--model-of",
        type=Path,
        metavar="DATA",
        help="with --from-text: use the SentencePiece model and dictionary of this data folder",
    )


def data_folder(args: argparse.Namespace, words: Sequence[str], save_dir: Path) -> Path:
    """The data folder of a training: DATA, or with `--from-text` the one that is made from it.

    Args:
        args: of `tdo train`.
        words: all flags of fairseq-train.
        save_dir: the checkpoint folder.

    Raises:
        UserError: options contradict each other.
    """
    if not args.from_text:
        for option in ("vocab_size", "model_of"):
            if (value := getattr(args, option)) is not None:
                shown = f"`--{option.replace('_', '-')}`"
                raise UserError(f"{shown} must be left out without --from-text; it is {value}")
        return Path(args.data)
    _check(args, words)
    out = save_dir / FOLDER
    if args.dry_run and not out.is_dir():
        raise UserError(
            "`--from-text` must be left out with --dry-run until the data folder is made; "
            f"{out} is not there"
        )
    earlier = next(save_dir.glob("checkpoint*.pt"), None)
    if earlier is not None and not out.is_dir():  # of other data
        raise UserError(f"`--save-dir` must be new for training from text; it has {earlier}")
    return out


def prepare_text(
    args: argparse.Namespace,
    words: Sequence[str],
    out: Path,
    check: Callable[[DataFolder], object],
) -> None:
    """Make the data folder so far that a training can begin.

    Args:
        args: of `tdo train`.
        words: all flags of fairseq-train.
        out: the data folder.
        check: called before anything is made, with a folder that has the text's languages, its
            directions and a dictionary, but no sentences.

    Raises:
        UserError: the text cannot be prepared.
    """
    from tdo_plugin.data.background_preparation import begin
    from tdo_plugin.data.folder_steps import taken_model
    from tdo_plugin.data.joint_model import SegmentationSettings
    from tdo_plugin.data.preprocessing import PreprocessSettings

    if args.model_of is not None:
        taken_model(args.model_of)
    segmentation = SegmentationSettings(args.vocab_size or VOCABULARY, sentences=SENTENCES)
    settings = PreprocessSettings(segmentation, model_of=args.model_of)
    text = read_text_folder(args.data)
    if settings_of(out) is None:
        # auxiliary data must have the dictionary of the data folder
        auxiliary = (last_value(words, option) for option in ("--monolingual", "--back-translated"))
        with _outline(text, args.model_of or next(filter(None, auxiliary), None)) as folder:
            check(folder)
    begin(text, out, settings, _workers())


@contextmanager
def _outline(text: TextFolder, dictionary_of: Path | str | None) -> Iterator[DataFolder]:
    """A data folder of a text, without sentences, and without symbols by default."""
    with TemporaryDirectory() as name:
        root = Path(name)
        dictionary = Path(dictionary_of or root, "dict.txt")
        symbols = dictionary.read_bytes() if dictionary.is_file() else b""
        for language in text.languages:
            (root / f"dict.{language}.txt").write_bytes(symbols)
        for (first, second), _ in text.valids():
            (root / f"valid.{first}-{second}.{first}.idx").touch()
        yield DataFolder(root, text.languages, tuple(map("-".join, text.directions())), ())


def continue_preparation(data: Path, beside: bool = True) -> None:
    """Prepare what is missing of a data folder beside the training, or before this returns."""
    from tdo_plugin.data.shard_plan import plan_of

    if plan_of(data) is not None:
        from tdo_plugin.data.background_preparation import complete, continue_beside

        (continue_beside if beside else complete)(data, _workers())


def _workers() -> int:
    """Half of the machine's cores, so that a training on the CPU has the rest."""
    return max(1, min(MOST_WORKERS, (os.cpu_count() or 1) // 2))


def _check(args: argparse.Namespace, words: Sequence[str]) -> None:
    for option, off in (("slurm", False), ("nodes", 1)):
        if (value := getattr(args, option)) != off:
            raise UserError(
                f"`--{option}` must be left out with --from-text, which prepares the text on this "
                f"machine; it is {value}"
            )
    if args.vocab_size is not None and args.vocab_size < 1:
        raise UserError(f"`--vocab-size` must be at least 1; it is {args.vocab_size}")
    if args.model_of is not None and args.vocab_size is not None:
        raise UserError(
            f"`--vocab-size` must be left out with --model-of, whose model has a size; it is "
            f"{args.vocab_size}"
        )
    if last_value(words, "--task") == STOCK_TASK:
        raise UserError(
            "`--task` must be tdo_translation with --from-text, since fairseq's does not wait for "
            f"text; it is {STOCK_TASK}"
        )
    if last_value(words, "--data-loading") == "fairseq":
        raise UserError("`--data-loading` must be lean with --from-text; it is fairseq")
