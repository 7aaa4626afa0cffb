"""`tdo convert`: convert a pre-trained M2M-100 or NLLB into a model of this package."""

from __future__ import annotations

import argparse
import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_plugin.errors import UserError
from tdo_plugin.launch.parser import seed
from tdo_plugin.runtime.files import replaced_folder
from tdo_plugin.runtime.log_lines import without_log_lines
from tdo_plugin.runtime.signals import ended_by_signal

if TYPE_CHECKING:
    from tdo_plugin.pretrained.original import Original
    from tdo_plugin.pretrained.parameter_origins import Layers

HELP = "convert a pre-trained M2M-100 or NLLB into a model of this package"
EXAMPLE = (
    "tdo convert m2m100_418M --from m2m100 --to tdo_transformer --layers 6 "
    "--langs en,de --out begun"
)

EXPORTED = "tdo"  # a folder that `tdo export` wrote with code of its own
FAMILIES = ("m2m100", "nllb", EXPORTED)
# options that change a model
CHANGES = (
    *("to", "layers", "target_layer", "adaptation_dim", "stack", "encoder", "decoder"),
    *("langs", "dict", "spm", "new_langs", "like", "extend_vocabulary", "new_pieces"),
    "seed",
)
SEED = 1
ARCHES = (
    "tdo_transformer",
    "tdo_prefix_decoder_only",
    "tdo_causal_decoder_only",
    "tdo_encoder_decoder",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "original",
        type=Path,
        metavar="CHECKPOINT",
        help="an original fairseq checkpoint, or a folder in Hugging Face format",
    )
    add(
        "--from",
        dest="family",
        choices=FAMILIES,
        required=True,
        help="model family of CHECKPOINT; tdo: a folder of `tdo export` with its own code, which "
        "becomes the model it was and is not run",
    )
    add("--to", choices=ARCHES, help="architecture to convert to; required unless `--from tdo`")
    add("--out", type=Path, required=True, metavar="DIR", help="output folder")
    _add_shape(parser)
    _add_vocabulary(parser)
    add("--seed", type=seed, help=f"random seed of new parameters (default {SEED})")
    add("--fresh", action="store_true", help="overwrite an earlier conversion")


def _add_shape(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--layers",
        type=_positive,
        metavar="N",
        help="layers of encoder and decoder each; a decoder-only model has 2N (default: as in the "
        "original; for a decoder-only model half of the original's decoder layers)",
    )
    add(
        "--target-layer",
        type=int,
        metavar="M",
        help="number of source-only layers; the target enters after layer M (default: N)",
    )
    add(
        "--adaptation-dim",
        type=int,
        metavar="I",
        help="inner size of the adaptation modules, which are new; 0: none (default: that of the "
        "feed-forward networks)",
    )
    add(
        "--stack",
        metavar="SIDE[:LAYERS]",
        help="original layers for a decoder-only model, such as decoder:1-6,12 (default: the "
        "decoder's first 2N)",
    )
    add(
        "--encoder",
        metavar="SIDE[:LAYERS]",
        help="original layers for the encoder (default: the encoder's first N; decoder or "
        "decoder:1-6 takes decoder layers without their cross-attention)",
    )
    add(
        "--decoder",
        metavar="decoder[:LAYERS]",
        help="original layers for an encoder-decoder's decoder (default: the decoder's first N)",
    )


def _add_vocabulary(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--langs",
        type=_languages,
        metavar="A,B=TAG",
        help="languages to keep in the checkpoint; en=eng_Latn renames eng_Latn to en (default: "
        "all, with the original names)",
    )
    add("--dict", type=Path, metavar="FILE", help="dictionary of an original fairseq checkpoint")
    add("--spm", type=Path, metavar="FILE", help="SentencePiece model of such a checkpoint")
    add(
        "--new-langs",
        type=_codes,
        default=(),
        metavar="A,B",
        help="languages to add: each gets a tag at the end of the vocabulary",
    )
    add(
        "--like",
        metavar="LANG",
        help="initialise new tags with this language's tag (default: mean of all tags)",
    )
    add(
        "--extend-vocabulary",
        type=Path,
        nargs="+",
        default=(),
        metavar="TEXT",
        help="files with sentences of the new languages, whose pieces are added to the vocabulary",
    )
    add(
        "--new-pieces",
        type=_positive,
        metavar="N",
        help="size of the SentencePiece model trained on TEXT for new pieces (default 8000)",
    )


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0; it is {text}")
    return int(text)


def _codes(text: str) -> tuple[str, ...]:
    codes = tuple(filter(None, text.split(",")))
    if len({*codes}) < len(codes):
        raise argparse.ArgumentTypeError(f"must name each language once; it is {text}")
    return codes


def _languages(text: str) -> dict[str, str]:
    """The original's language names by the new names."""
    pairs = [code.partition("=") for code in _codes(text)]
    originals = {name: original or name for name, _, original in pairs}
    if len(originals) < len(pairs) or len({*originals.values()}) < len(pairs):
        raise argparse.ArgumentTypeError(f"must name each language once; it is {text}")
    return originals


def check(args: argparse.Namespace) -> None:
    """Raise UserError for layers that no original has, or whose number is not that of --layers."""
    from tdo_plugin.pretrained.design import Design
    from tdo_plugin.pretrained.original import Sizes
    from tdo_plugin.pretrained.parameter_origins import MOST_LAYERS

    _check_family(args)
    stacks = _stacks(args)
    if stacks and args.layers:
        languages = list(args.langs or ("en", "de"))
        shape = (args.to, args.layers, args.target_layer, args.adaptation_dim, stacks)
        Design(*shape, languages, _seed(args)).layers(Sizes(MOST_LAYERS, MOST_LAYERS, *[1] * 5))


def _check_family(args: argparse.Namespace) -> None:
    """Raise UserError for a missing `--to`, and for options that would change an exported model."""
    if args.family != EXPORTED:
        if args.to is None:
            raise UserError(f"`--to` must be given with `--from {args.family}`; it is missing")
        return
    for option in CHANGES:
        if getattr(args, option) not in (None, ()):
            raise UserError(
                f"`--{option.replace('_', '-')}` must be left out with `--from {EXPORTED}`, which "
                "restores the model as it was; it is set"
            )


def run(args: argparse.Namespace) -> int:
    """Read, convert and write the model; prints what was kept, dropped and added."""
    with without_log_lines(logging.WARNING), ended_by_signal():  # transformers logs many warnings
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from tdo_plugin.pretrained.conversion import convert, write
    from tdo_plugin.pretrained.design import Design

    _check_family(args)
    out = args.out.resolve()
    _check_out(out, args.fresh)
    if args.family == EXPORTED:
        return _restore(args.original, out)
    original = _extended(args, _read(args))
    names = args.langs or {}
    original = original.named({old: new for new, old in names.items()})
    languages = list(names) or list(original.tags)
    languages += [language for language in args.new_langs if language not in languages]
    design = Design(
        args.to,
        args.layers,
        args.target_layer,
        args.adaptation_dim,
        _stacks(args),
        languages,
        _seed(args),
        original.tag_flags,
    )
    converted = convert(original, design)
    try:
        with replaced_folder(out) as unfinished:
            facts = write(original, converted, design, unfinished)
    except OSError as error:
        raise UserError(f"`--out` must be writable; {error.filename}: {error.strerror}") from None
    _print(facts, out)
    return 0


def _restore(folder: Path, out: Path) -> int:
    """Write the model that was exported."""
    from tdo_plugin.pretrained import exported_folder
    from tdo_plugin.pretrained.conversion import CHECKPOINT

    restored = exported_folder.read(folder)
    try:
        with replaced_folder(out) as unfinished:
            restored.write(unfinished)
    except OSError as error:
        raise UserError(f"`--out` must be writable; {error.filename}: {error.strerror}") from None
    parameters = sum(parameter.numel() for parameter in restored.model.parameters())
    print(f"written: {out / CHECKPOINT} ({_millions(parameters)} parameters)")
    return 0


def _check_out(out: Path, fresh: bool) -> None:
    from tdo_plugin.pretrained.conversion import RECORD

    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / RECORD).is_file():
        raise UserError(f"`--out` must be new, or an earlier conversion; {out} is neither")
    if not fresh:
        raise UserError(f"`--out` must be new, or `--fresh` given to overwrite it; {out} exists")


def _read(args: argparse.Namespace) -> Original:
    path = args.original
    files = {"--dict": args.dict, "--spm": args.spm}
    if path.is_dir():
        if options := [option for option, value in files.items() if value]:
            raise UserError(
                f"`{options[0]}` must be left out with a folder; {path} is a folder with its own"
            )
        try:
            from tdo_plugin.pretrained import hugging_face

            return hugging_face.read(path, args.family)
        except ModuleNotFoundError as error:
            raise UserError(
                f"reading {path} requires the package {error.name}: "
                "pip install 'tdo_plugin[pretrained]'"
            ) from None
    from tdo_plugin.pretrained import fairseq_own

    if not path.is_file():
        raise UserError(f"`CHECKPOINT` must be a file or folder that exists; {path} is neither")
    if missing := [option for option, value in files.items() if not value]:
        raise UserError(f"`{missing[0]}` must be given with a fairseq checkpoint; it is missing")
    return fairseq_own.read(path, args.family, args.dict, args.spm)


def _extended(args: argparse.Namespace, original: Original) -> Original:
    if not args.new_langs:
        for option, value in (
            ("--like", args.like),
            ("--extend-vocabulary", args.extend_vocabulary),
            ("--new-pieces", args.new_pieces),
        ):
            if value:
                raise UserError(f"`{option}` must come with `--new-langs`; it does not")
        return original
    if args.new_pieces and not args.extend_vocabulary:
        raise UserError("`--new-pieces` must come with `--extend-vocabulary`; it does not")
    try:
        from tdo_plugin.pretrained.vocabulary import Extension, extended

        extension = Extension(
            args.new_langs,
            args.like,
            args.extend_vocabulary,
            args.new_pieces or Extension.pieces,
            _seed(args),
        )
        return extended(original, extension)
    except ModuleNotFoundError as error:
        raise UserError(
            f"`--extend-vocabulary` requires the package {error.name}: "
            "pip install 'tdo_plugin[pretrained]'"
        ) from None


def _seed(args: argparse.Namespace) -> int:
    return SEED if args.seed is None else int(args.seed)


def _stacks(args: argparse.Namespace) -> dict[str, Layers]:
    from tdo_plugin.pretrained.design import STACKS
    from tdo_plugin.pretrained.parameter_origins import Layers

    stacks = {name: (option, getattr(args, option[2:])) for name, option in STACKS.items()}
    return {name: Layers.parse(text, option) for name, (option, text) in stacks.items() if text}


def _print(facts: dict[str, Any], out: Path) -> None:
    """Print which parameters were taken, dropped and added, and how to continue training."""
    original = facts["original"]
    print(
        f"{original['path']}: {original['encoder_layers']} + {original['decoder_layers']} layers, "
        f"d = {original['model_dim']}, {original['num_heads']} heads, {original['entries']:,} "
        f"entries, {original['languages']} languages"
    )
    stacks = "; ".join(
        f"{name.replace('_', ' ')} of {layers}" for name, layers in facts["stacks"].items()
    )
    print(f"taken:   {_millions(facts['taken'])} ({stacks}; embeddings, norms)")
    for word in ("dropped", "new"):
        for number, (part, count) in enumerate(facts[word].items()):
            print(f"{word + ':' if number == 0 else '':8} {_millions(count)} ({part})")
        if not facts[word]:
            print(f"{word + ':':8} nothing")
    for remark in facts["remarks"]:
        print(f"rows:    {remark}")
    print(f"written: {out} ({facts['arch']}, {_millions(facts['parameters'])})")
    print(f"  tdo preprocess TEXT DATA --model-of {out}")
    print("  fairseq-train DATA --user-dir tdo_plugin --task tdo_translation ... \\")
    print(f"    {shlex.join(facts['flags'])} \\")
    print(f"    --finetune-from-model {out}/model.pt")


def _millions(count: int) -> str:
    return f"{count / 1e6:,.2f}M" if count >= 10_000 else f"{count:,}"
