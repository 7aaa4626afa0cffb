"""`tdo preprocess`: text folder → SentencePiece → `fairseq-preprocess` for every pair."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.textform import CASINGS, TOKENIZATIONS, TextForm

if TYPE_CHECKING:
    from tdo_plugin.data.segmentation import SegmentationSettings
    from tdo_plugin.data.textfolder import Pair, TextFolder

HELP = "segment and binarise a text folder for fairseq, all test directions included"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    _add_text(parser)
    _add_segmentation(parser.add_argument_group("segmentation"))
    _add_run(parser.add_argument_group("run"))


def _add_text(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "text",
        type=Path,
        metavar="TEXT",
        help="folder with train.X-Y.{X,Y}, valid.X-Y.{X,Y} and test.X or test.X-Y.{X,Y}; for pairs "
        "without training text also valid.X or valid.X-Y.{X,Y}",
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
        help="of the text as it is: moses says that it was tokenized so, and translations and "
        "references will be detokenized (default none)",
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


def _add_segmentation(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--vocab-size",
        type=int,
        default=8000,
        metavar="N",
        help="pieces of the joint SentencePiece model (default 8000)",
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
        help="train the model on N sentences drawn at random (default 0: on all)",
    )
    add(
        "--hub-pairs",
        type=_codes,
        default=(),
        metavar="A,B",
        help="for the model, take the language that all pairs share only from its pairs with these",
    )
    add("--seed", type=int, default=1, help="seed for drawing sentences (default 1)")


def _add_run(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--workers", type=int, default=1, metavar="N", help="processes to use (default 1)")
    add("--fresh", action="store_true", help="make the folder anew even if it is whole")
    add("--dry-run", action="store_true", help="only print the stock commands")


def _codes(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def run(args: argparse.Namespace) -> int:
    """Prepare DATA unless it is there already, made of the same text with the same settings."""
    from tdo_plugin.data.joining import join_valids
    from tdo_plugin.data.textfolder import read_text_folder

    _check(args)
    folder = read_text_folder(args.text, args.languages)
    with tempfile.TemporaryDirectory() as scratch:
        valids = dict(folder.zero_shot_valids())
        if args.join_valid:
            valids.update(join_valids(folder, args.join_valid, Path(scratch)))
        return _prepare(args, folder, valids)


def _prepare(
    args: argparse.Namespace, folder: TextFolder, zero_shot_valids: dict[Pair, tuple[Path, Path]]
) -> int:
    from tdo_plugin.data import binarization
    from tdo_plugin.data.databin import MARK, settings_of
    from tdo_plugin.data.segmentation import SegmentationSettings, write_text

    out = args.out.resolve()
    commands = binarization.commands(folder, out, args.workers, zero_shot_valids)
    if args.dry_run:
        for words in commands:
            _show(words)
        return 0
    segmentation = SegmentationSettings(
        args.vocab_size,
        args.model_type,
        args.character_coverage,
        args.normalization,
        args.sentences,
        args.hub_pairs,
        args.seed,
    )
    settings = {
        "languages": list(folder.languages),
        "segmentation": {**asdict(segmentation), "hub_pairs": list(segmentation.hub_pairs)},
        "max_pieces": args.max_pieces,
        "text": {path.name: path.stat().st_size for path in folder.files()},
    }
    form = TextForm(args.casing, args.tokenization)
    if form != TextForm():
        settings["form"] = asdict(form)
    if args.join_valid:  # not otherwise: folders made before it was there stay what they are
        settings["join_valid"] = args.join_valid
    made = settings_of(out)
    if made == settings and not args.fresh:
        print(f"{out} is whole already")
        return 0
    if made is not None and not args.fresh:
        raise UserError(
            f"`DATA` must be a new folder, or `--fresh` given; {out} was made of other text or "
            "with other settings"
        )
    (out / MARK).unlink(missing_ok=True)
    # a pair that had a validation set and has none this time must not keep it
    for path in (*out.glob("valid.*-*.*"), *out.glob("pieces/valid.*-*.*")):
        path.unlink()
    _segment(folder, zero_shot_valids, out, segmentation, args)
    binarization.run(commands, before=_show)
    write_text(out / "langs.txt", folder.languages)
    write_text(out / "pairs.txt", (f"{a}-{b}" for a, b in folder.directions()))
    tests = [pair for pair, _ in folder.test_pairs()]
    write_text(out / "test-pairs.txt", (f"{s}-{t}" for a, b in tests for s, t in ((a, b), (b, a))))
    write_text(out / MARK, [json.dumps(settings, indent=1, ensure_ascii=False)])
    print(
        f"{out}: {len(folder.languages)} languages, {2 * len(folder.pairs)} training and "
        f"{2 * len(tests)} test directions"
    )
    return 0


def _check(args: argparse.Namespace) -> None:
    bounds = {"vocab_size": 1, "max_pieces": 1, "workers": 1, "sentences": 0, "join_valid": 0}
    for name, least in bounds.items():
        if getattr(args, name) < least:
            option = name.replace("_", "-")
            raise UserError(f"`--{option}` must be at least {least}; it is {getattr(args, name)}")
    if not 0 < args.character_coverage <= 1:
        raise UserError(
            f"`--character-coverage` must be above 0 and at most 1; it is {args.character_coverage}"
        )


def _show(words: Sequence[str]) -> None:
    print("+ fairseq-preprocess " + shlex.join(words), flush=True)


def _segment(
    folder: TextFolder,
    zero_shot_valids: dict[Pair, tuple[Path, Path]],
    out: Path,
    settings: SegmentationSettings,
    args: argparse.Namespace,
) -> None:
    from tdo_plugin.data import segmentation as sp

    pieces, reference = out / "pieces", out / "reference"
    for path in (pieces, reference):
        path.mkdir(parents=True, exist_ok=True)
    sides = sp.training_sides(folder, settings.hub_pairs)
    print(f"SentencePiece ({settings.model_type}) on {len(sides)} files", flush=True)
    lowercase = args.casing == "lowercased"
    sp.train_model(sides, out / "spm", settings, args.workers, lowercase)
    model = sp.load_model(out / "spm.model")
    entries = sp.write_dictionary(model, out / "dict.txt")
    print(f"{entries} pieces", flush=True)
    sets = [
        (split, pair, (folder.side(split, pair, pair[0]), folder.side(split, pair, pair[1])))
        for pair in folder.pairs
        for split in ("train", "valid")
    ]
    sets += [("valid", pair, sources) for pair, sources in zero_shot_valids.items()]
    for split, pair, sources in sets:
        name = f"{split}.{pair[0]}-{pair[1]}"
        targets = (pieces / f"{name}.{pair[0]}", pieces / f"{name}.{pair[1]}")
        dropped = sp.encode_pair(model, sources, targets, args.max_pieces, lowercase)
        if dropped.empty or dropped.long:
            print(
                f"{name}: left out {dropped.empty} pairs with an empty side and {dropped.long} "
                f"with more than {args.max_pieces} pieces",
                file=sys.stderr,
                flush=True,
            )
    tests = [folder.root / f"test.{language}" for language in folder.parallel_tests]
    tests += [folder.side("test", pair, lang) for pair in folder.pair_tests for lang in pair]
    for path in tests:
        sp.encode_test(model, path, pieces / path.name, args.max_pieces, lowercase)
        partial = reference / f"{path.name}.partial"
        shutil.copyfile(path, partial)
        os.replace(partial, reference / path.name)
