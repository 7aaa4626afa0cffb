"""`tdo preprocess`: from a text folder by SentencePiece and `fairseq-preprocess` to data."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from tdo_compat.errors import tell
from tdo_plugin.corpora.rearranging import add_rearranging, rearranged
from tdo_plugin.errors import UserError
from tdo_plugin.launch.parser import seed
from tdo_plugin.metrics.textform import CASINGS, TOKENIZATIONS, TextForm

HELP = "segment and binarise a text folder for fairseq, including all test directions"
EXAMPLE = "tdo preprocess my-text my-data --vocab-size 8000"

VOCABULARY = 8000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    _add_text(parser)
    add_rearranging(parser.add_argument_group("text in other layouts"))
    _add_segmentation(parser.add_argument_group("segmentation"))
    _add_run(parser.add_argument_group("run"))


def _add_text(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "text",
        type=Path,
        metavar="TEXT",
        help="folder with train.X-Y.{X,Y}, and validation and test sets per pair, valid.X-Y.{X,Y}, "
        "or parallel over all languages, valid.X (none of them mandatory); plain/test.* are the "
        "original test sets before tokenization or recasing, used as references for scoring",
    )
    add("out", type=Path, metavar="DATA", help="data folder to make")
    add(
        "--langs",
        type=_codes,
        default=None,
        metavar="A,B",
        help="order of the languages, which determines the ids of their tags",
    )
    add(
        "--pairs",
        type=_codes,
        default=(),
        metavar="P,P",
        help="use only the files of these pairs, such as en-de,de-fr, in either order, and sets "
        "that are parallel over all languages (default: all pairs)",
    )
    add(
        "--casing",
        choices=CASINGS,
        default="cased",
        help="casing of the text: lowercased lowercases it; truecased declares that it is "
        "truecased, so that translations are recased (default cased)",
    )
    add(
        "--tokenization",
        choices=TOKENIZATIONS,
        default="none",
        help="tokenization of the text: moses declares that it is Moses-tokenized, so that "
        "translations, and references unless TEXT/plain has them, are detokenized (default none)",
    )
    add(
        "--max-pieces",
        type=int,
        default=1000,
        metavar="N",
        help="drop training and validation pairs with more than N pieces on a side (default 1000)",
    )
    add(
        "--join-valid",
        type=int,
        default=0,
        metavar="N",
        help="also make validation sets for pairs without training text, by joining the validation "
        "sentences of two trained pairs on their common language, if at least N match (default 0: "
        "off)",
    )
    add(
        "--shard-sentences",
        type=int,
        default=0,
        metavar="N",
        help="split training text into shards of at most N sentences per pair, in DATA, "
        "DATA/shard2 and so on; fairseq reads one shard per epoch (default 0: no shards)",
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
        help="size of a BPE model (--model-type bpe) as a number of merges; the vocabulary has "
        "the merges and all characters of the text",
    )
    add(
        "--model-type",
        choices=("unigram", "bpe"),
        default="unigram",
        help="SentencePiece model type (default unigram)",
    )
    add(
        "--character-coverage",
        type=float,
        default=1.0,
        metavar="C",
        help="share of characters that the model must cover (default 1.0)",
    )
    add(
        "--normalization",
        choices=("nmt_nfkc", "nfkc", "identity"),
        default="nmt_nfkc",
        help="SentencePiece text normalisation (default nmt_nfkc)",
    )
    add(
        "--sentences",
        type=int,
        default=0,
        metavar="N",
        help="train the model on N random sentences (default 0: all, but at most about 67 million "
        "characters, which takes less than 2 GiB of memory)",
    )
    add(
        "--temperature",
        type=float,
        default=1.0,
        metavar="T",
        help="sample sentences for the model with temperature T: each language's share is "
        "proportional to its share of the text to the power of 1/T; small languages are repeated "
        "(default 1)",
    )
    add(
        "--hub-pairs",
        type=_codes,
        default=(),
        metavar="A,B",
        help="for the model, take text of the language that all pairs share only from its pairs "
        "with these languages (default: from all pairs)",
    )
    add("--seed", type=seed, default=1, help="seed for drawing sentences (default 1)")
    add(
        "--model-of",
        type=Path,
        metavar="DATA",
        help="use the SentencePiece model and dictionary of this data folder, to continue training "
        "a model from it",
    )


def _add_run(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--workers", type=int, metavar="N", help="processes (default: one per CPU core)")
    add("--fresh", action="store_true", help="remake the folder even if it exists")
    add("--dry-run", action="store_true", help="only print the stock fairseq commands")


def _workers(args: argparse.Namespace) -> int:
    from tdo_plugin.launch.environment import cores

    return cores() if args.workers is None else int(args.workers)


def _codes(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def run(args: argparse.Namespace) -> int:
    """Make DATA, unless it was already made from the same text with the same settings."""
    from tdo_plugin.runtime.lock import refuse_same

    _check(args)
    refuse_same(args.out, args.text, "TEXT", "DATA")
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

    folder = read_text_folder(text, args.langs, args.pairs)
    if unused := folder.unused():
        tell(
            "not used, as a language has no training text or another file has the same pair: "
            f"{enumerated(unused)}"
        )
    form = TextForm(args.casing, args.tokenization)
    if folder.has_plain and form == TextForm():
        raise UserError(
            "`--tokenization` or `--casing` must describe the text if TEXT/plain has original test "
            "sets; neither is given"
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
                "`--model-of` must be used without other segmentation options, which are those of "
                f"{args.model_of}"
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
        for words in stock_commands(folder, args.out.resolve(), settings, _workers(args)):
            print(show_command(words))
        return 0
    with alone(args.out, "DATA"):
        preprocess(folder, args.out, settings, _workers(args), args.fresh)
    return 0


def _vocab_size(args: argparse.Namespace) -> int:
    """The number of pieces; 0 if `--bpe-operations` is given instead."""
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
