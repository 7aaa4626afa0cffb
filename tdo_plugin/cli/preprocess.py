"""`tdo preprocess`: text folder → SentencePiece → `fairseq-preprocess` for every pair."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from tdo_compat.errors import tell
from tdo_plugin.corpora.rearranging import add_rearranging, rearranged
from tdo_plugin.errors import UserError
from tdo_plugin.launch.parser import seed
from tdo_plugin.metrics.textform import CASINGS, TOKENIZATIONS, TextForm

HELP = "segment and binarise a text folder for fairseq, all test directions included"
EXAMPLE = "tdo preprocess my-text my-data --vocab-size 8000"

VOCABULARY = 8000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    _add_text(parser)
    add_rearranging(parser.add_argument_group("text as it lies there"))
    _add_segmentation(parser.add_argument_group("segmentation"))
    _add_run(parser.add_argument_group("run"))


def _add_text(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "text",
        type=Path,
        metavar="TEXT",
        help="folder with train.X-Y.{X,Y}, and validation and test sets of pairs, valid.X-Y.{X,Y}, "
        "or parallel over languages, valid.X; a pair need not have each; plain/test.* are the test "
        "sets as they were before the text was tokenized or recased, to score against",
    )
    add("out", type=Path, metavar="DATA", help="data folder to make")
    add(
        "--languages",
        type=_codes,
        default=None,
        metavar="A,B",
        help="order of the languages, which fixes the ids of their tags",
    )
    add(
        "--pairs",
        type=_codes,
        default=(),
        metavar="P,P",
        help="take the files of these pairs alone, such as en-de,de-fr, either way round, and sets "
        "that are parallel over languages (default: of all pairs)",
    )
    add(
        "--casing",
        choices=CASINGS,
        default="cased",
        help="of the text: lowercased makes it so; truecased says that it is, and translations "
        "will begin with a capital letter again (default cased)",
    )
    add(
        "--tokenization",
        choices=TOKENIZATIONS,
        default="none",
        help="of the text as it is: moses says that it was tokenized so, and translations, and "
        "references unless TEXT/plain has them, will be detokenized (default none)",
    )
    add(
        "--max-pieces",
        type=int,
        default=1000,
        metavar="N",
        help="leave out training and validation pairs with a longer side (default 1000)",
    )
    add(
        "--join-valid",
        type=int,
        default=0,
        metavar="N",
        help="give pairs without training text a validation set too, of the validation sentences "
        "that two trained pairs share in their common language, where there are at least N "
        "(default 0: do not)",
    )
    add(
        "--shard-sentences",
        type=int,
        default=0,
        metavar="N",
        help="deal training text out to folders with at most N sentences of a pair each, DATA, "
        "DATA/shard2 and so on, of which fairseq reads one an epoch (default 0: do not)",
    )


def _add_segmentation(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--vocab-size",
        type=int,
        default=None,
        metavar="N",
        help=f"pieces of the joint SentencePiece model (default {VOCABULARY})",
    )
    add(
        "--bpe-operations",
        type=int,
        default=None,
        metavar="N",
        help="size of a BPE model (--model-type bpe) as a number of merges; the vocabulary is what "
        "comes out, the merges and the characters of the text",
    )
    add(
        "--model-type",
        choices=("unigram", "bpe"),
        default="unigram",
        help="kind of SentencePiece model (default unigram)",
    )
    add(
        "--character-coverage",
        type=float,
        default=1.0,
        metavar="C",
        help="share of characters the model must cover (default 1.0)",
    )
    add(
        "--normalization",
        choices=("nmt_nfkc", "nfkc", "identity"),
        default="nmt_nfkc",
        help="SentencePiece's normalisation of text (default nmt_nfkc)",
    )
    add(
        "--sentences",
        type=int,
        default=0,
        metavar="N",
        help="train the model on N sentences drawn at random (default 0: on all, but on so "
        "many as are 67 million characters where the text has more, which takes less than 2 GiB)",
    )
    add(
        "--temperature",
        type=float,
        default=1.0,
        metavar="T",
        help="draw sentences for the model so that a language's share is in proportion to its "
        "share of the text to the power of 1/T; small languages are repeated (default 1)",
    )
    add(
        "--hub-pairs",
        type=_codes,
        default=(),
        metavar="A,B",
        help="for the model, take the language that all pairs share only from its pairs with these",
    )
    add("--seed", type=seed, default=1, help="seed for drawing sentences (default 1)")
    add(
        "--model-of",
        type=Path,
        metavar="DATA",
        help="take the SentencePiece model and the dictionary of this data folder instead of new "
        "ones, to go on with a model that was trained on it",
    )


def _add_run(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--workers", type=int, default=1, metavar="N", help="processes to use (default 1)")
    add("--fresh", action="store_true", help="make the folder anew, whatever is there")
    add("--dry-run", action="store_true", help="only print the stock commands")


def _codes(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def run(args: argparse.Namespace) -> int:
    """Prepare DATA unless it is there already, made of the same text with the same settings."""
    _check(args)
    with TemporaryDirectory() as scratch:
        return _run(args, rearranged(args.text, args, "TEXT", Path(scratch), tell, pairs=True))


def _run(args: argparse.Namespace, text: Path) -> int:
    from tdo_plugin.data.folder_steps import taken_model
    from tdo_plugin.data.joint_model import SegmentationSettings
    from tdo_plugin.data.preprocessing import (
        PreprocessSettings,
        preprocess,
        show_command,
        stock_commands,
    )
    from tdo_plugin.data.textfolder import read_text_folder
    from tdo_plugin.data.textnames import enumerated
    from tdo_plugin.runtime.lock import alone

    folder = read_text_folder(text, args.languages, args.pairs)
    if unused := folder.unused():
        tell(
            "not used, for want of training text of a language or for another file of the same "
            f"pair: {enumerated(unused)}"
        )
    form = TextForm(args.casing, args.tokenization)
    if folder.has_plain and form == TextForm():
        raise UserError(
            "`--tokenization` or `--casing` must say what was done to the text, where TEXT/plain "
            "has the test sets as they were before; neither does"
        )
    segmentation = SegmentationSettings(
        _vocab_size(args),
        args.model_type,
        args.character_coverage,
        args.normalization,
        args.sentences,
        args.hub_pairs,
        args.seed,
        args.temperature,
        bounded=not args.sentences,
        bpe_operations=args.bpe_operations or 0,
    )
    if args.model_of is not None:
        taken_model(args.model_of)
        if segmentation != SegmentationSettings(VOCABULARY):
            raise UserError(
                "`--model-of` must stand alone, without another option of the segmentation, which "
                f"is that of {args.model_of}"
            )
    settings = PreprocessSettings(
        segmentation,
        args.max_pieces,
        {} if form == TextForm() else form.stored(),
        args.join_valid,
        args.shard_sentences,
        args.model_of,
    )
    if args.dry_run:
        for words in stock_commands(folder, args.out.resolve(), settings, args.workers):
            print(show_command(words))
        return 0
    with alone(args.out, "DATA"):
        preprocess(folder, args.out, settings, args.workers, args.fresh)
    return 0


def _vocab_size(args: argparse.Namespace) -> int:
    """Pieces; 0 where operations are given in their place."""
    if args.vocab_size is not None:
        return int(args.vocab_size)
    return VOCABULARY if args.bpe_operations is None else 0


def _check(args: argparse.Namespace) -> None:
    bounds = {"vocab_size": 1, "bpe_operations": 1, "max_pieces": 1, "workers": 1}
    bounds |= {"sentences": 0, "join_valid": 0, "shard_sentences": 0}
    for name, least in bounds.items():
        value = getattr(args, name)
        if value is not None and value < least:
            raise UserError(f"`--{name.replace('_', '-')}` must be at least {least}; it is {value}")
    if not 0 < args.character_coverage <= 1:
        raise UserError(
            f"`--character-coverage` must be above 0 and at most 1; it is {args.character_coverage}"
        )
    if not args.temperature > 0:
        raise UserError(f"`--temperature` must be above 0; it is {args.temperature}")
