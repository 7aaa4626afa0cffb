"""`tdo start`: from parallel text to trained models and a report."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli import reproduce
from tdo_plugin.cli import start_output as output
from tdo_plugin.errors import UserError
from tdo_plugin.launch.handed_on_options import device_options, gpus_here
from tdo_plugin.runtime.signals import GOES_ON, ended_by_signal

if TYPE_CHECKING:
    from tdo_plugin.start.choices import Choices, Corpus
    from tdo_plugin.start.recognised_text import Found, Pair
    from tdo_plugin.start.text_sizes import Sizes

HELP = "train a model on your parallel text, beside a baseline where they differ, and report scores"
EXAMPLE = "tdo start my-text --out runs/mine"
DETECTORS = ("fasttext", "langdetect")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "text", type=Path, nargs="+", metavar="TEXT",
        help="a folder of parallel text, or its files, plain or gzip: corpus.de and corpus.en, "
        "de-en.tsv, memory.tmx, or files of OPUS, mtdata or OpusFilter (docs/guide/own-data.md)",
    )  # fmt: skip
    _add_text(parser.add_argument_group("text selection"))
    _add_choices(parser.add_argument_group("sizes (default: chosen for text and machine)"))
    _add_run(parser)
    parser.set_defaults(experiments="", rest=[], scale=None)


def _add_text(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--langs", type=_languages, default=(), metavar="A,B", help="use only these languages")
    add(
        "--pairs", type=_names, default=(), metavar="A-B,...",
        help="train only these pairs, names or patterns such as en-*; other pairs of the same "
        "languages become zero-shot pairs. For files without languages in their "
        "names: the languages",
    )  # fmt: skip
    add(
        "--corpora", type=_names, default=(), metavar="NAME,...",
        help="use only texts with these names or patterns, if the folder has several texts",
    )  # fmt: skip
    add(
        "--filter-language", metavar="DETECTOR",
        help="drop sentence pairs with a side in the wrong language, as detected by fasttext "
        "(lid.176), langdetect or a fastText model (give its file)",
    )  # fmt: skip


def _add_choices(group: argparse._ArgumentGroup) -> None:
    from tdo_plugin.start.choices import SYSTEMS

    add = group.add_argument
    add(
        "--systems", type=_names, default=(), metavar="NAME,...",
        help=f"systems to train, among {', '.join(SYSTEMS)} (default: both if a pair has no "
        "training text, else encoder-decoder)",
    )  # fmt: skip
    add("--size", choices=("tiny", "small", "base", "big"), help="size of the models")
    add("--vocab-size", type=int, metavar="N", help="size of the vocabulary, in pieces")
    add("--updates", type=int, metavar="N", help="number of updates of each training run")
    add(
        "--hours", type=float, metavar="H",
        help="time limit of each training run, by estimated speed of the machine (default: 1 "
        "on a CPU, 8 on a GPU)",
    )  # fmt: skip
    add(
        "--eval-sentences", type=int, default=0, metavar="N",
        help="while training, log BLEU on N validation sentences per trained direction (default "
        "0: none)",
    )  # fmt: skip


def _add_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--out", type=Path, metavar="RUN", help="run folder (default: runs/NAME, the name of TEXT)")
    device_options(parser)
    add(
        "--jobs",
        type=int,
        metavar="N",
        help="steps to run at a time (default: one per GPU; 2 on a CPU, 1 if memory is short)",
    )
    add("--threads", type=int, metavar="N", help="CPU threads per step (default: equal share)")
    add("--fresh", action="store_true", help="redo every step (default: skip finished steps)")
    add("--dry-run", action="store_true", help="only print the choices and commands")


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(","))))


def _languages(text: str) -> tuple[str, ...]:
    from tdo_plugin.data.textnames import fit_code

    return tuple(fit_code(name) or name for name in _names(text))  # pt_BR for pt-BR


def _name(text: Path) -> str:
    """The name of a folder, or of a file up to its first dot."""
    path = text.resolve()
    return path.name if path.is_dir() else path.name.partition(".")[0] or path.name


def run(args: argparse.Namespace) -> int:
    """Run all steps; return 1 if a step of the experiment failed."""
    from tdo_plugin.runtime.lock import alone
    from tdo_plugin.start.experiment_file import FILE

    check(args)
    run_folder = (args.out or Path("runs") / _name(args.text[0])).resolve()
    for place in (path.resolve() for path in args.text):
        if run_folder in (place, *place.parents):
            raise UserError(f"`--out` must be a folder that TEXT is not in; it is {run_folder}")
    with ended_by_signal(hint=GOES_ON), _place(run_folder, args.dry_run) as place:
        with alone(place):
            choices, corpus = _prepare(args, run_folder, place)
        args.experiments, args.out, args.updates = str(place / FILE), run_folder, None
        if args.jobs is None and not choices.machine.gpus and choices.machine.together == 1:
            args.jobs = 1
        failed = reproduce.run(args)
        if not (failed or args.dry_run):
            output.show_result(run_folder, corpus)
        return failed


def check(args: argparse.Namespace) -> None:
    """Raise UserError for option values that are wrong for any text."""
    from tdo_plugin.start.choices import SYSTEMS

    least = {"vocab_size": 1, "updates": 1, "eval_sentences": 0, "jobs": 1}
    for name, limit in least.items():
        value = getattr(args, name)
        if value is not None and value < limit:
            raise UserError(f"`--{name.replace('_', '-')}` must be at least {limit}; it is {value}")
    if unknown := [name for name in args.systems if name not in SYSTEMS]:
        raise UserError(f"`--systems` must be among {', '.join(SYSTEMS)}; it has {unknown[0]}")
    detector = args.filter_language
    if detector and detector not in DETECTORS and not Path(detector).is_file():
        raise UserError(
            f"`--filter-language` must be {', '.join(DETECTORS)} or the file of a fastText model; "
            f"it is {detector}"
        )
    if args.hours is not None and not 0 < args.hours < 10_000:
        raise UserError(f"`--hours` must be above 0 and below 10,000; it is {args.hours:g}")


@contextmanager
def _place(run_folder: Path, dry: bool) -> Iterator[Path]:
    """Yield the folder to write to: the run folder, or a temporary folder in a dry run."""
    if not dry:
        yield run_folder
        return
    with tempfile.TemporaryDirectory(prefix="tdo-start-") as scratch:
        yield Path(scratch)


def _prepare(args: argparse.Namespace, run_folder: Path, place: Path) -> tuple[Choices, Corpus]:
    """Make the data folder and the experiment file from the user's text."""
    from tdo_plugin.corpora.preparing import prepare
    from tdo_plugin.corpora.sources.fetch import default_cache
    from tdo_plugin.launch.environment import cores
    from tdo_plugin.start.choices import Asked, choose
    from tdo_plugin.start.experiment_file import FILE, experiment, write_experiment
    from tdo_plugin.start.machine_facts import machine_facts
    from tdo_plugin.start.own_corpus import clean, corpus_of, refuse_long_tests, split_description

    asked = Asked(
        systems=args.systems, size=args.size or "", vocab_size=args.vocab_size or 0,
        updates=args.updates or 0, hours=args.hours or 0.0, eval_sentences=args.eval_sentences,
    )  # fmt: skip
    machine = machine_facts(gpus_here(args))
    found, pairs, sizes = _look(args, run_folder, place)
    _make_sets(args, found, pairs, sizes, place)
    title = f"text of {_name(args.text[0])}"
    records = clean(*split_description(place, title), place, cores())
    output.show_cleaning(records)
    corpus = corpus_of(records, sizes)
    choices = choose(corpus, machine, asked)
    output.show_choices(choices, corpus, machine)
    output.show_nllb(corpus, run_folder)
    text = experiment(title, run_folder / "data", choices)
    output.head(f"Training, translating and scoring, by {run_folder / FILE}")
    if args.dry_run:
        print(text)
        write_experiment(place, text)
    else:
        settings, files = split_description(place, title, choices.vocab_size)
        prepare(settings, default_cache(), files, place / "data", cores(), args.fresh, output.say)
        refuse_long_tests(place / "data")
        if not write_experiment(place, text):
            output.say(
                f"{run_folder / FILE} was edited and is used as it is; remove the file to get "
                "a new one with the choices above"
            )
    return choices, corpus


def _look(
    args: argparse.Namespace, run_folder: Path, place: Path
) -> tuple[Found, list[Pair], Sizes]:
    """Recognise the text files and count their lines, words and characters."""
    from tdo_plugin.start.folder_files import as_lines, files_of
    from tdo_plugin.start.recognised_text import Selection
    from tdo_plugin.start.recognition import recognise, trained_pairs
    from tdo_plugin.start.text_sizes import sizes_of

    selection = Selection(args.langs, args.pairs, args.corpora)
    files = files_of(args.text, place / "unpacked", run_folder)
    found = recognise(args.text, files, selection)
    pairs = trained_pairs(found, selection)
    found.texts = [as_lines(text, place / "columns", found.unused) for text in found.texts]
    sizes = sizes_of(found.texts)
    output.show_texts(args.text, found, sizes)
    return found, pairs, sizes


def _make_sets(
    args: argparse.Namespace, found: Found, pairs: Sequence[Pair], sizes: Sizes, place: Path
) -> None:
    """Copy the user's sets, and split missing sets off the training text."""
    from tdo_plugin.start.language_filter import language_filter
    from tdo_plugin.start.own_corpus import make_sets

    output.head("Training, validation and test sets")
    wrong_language = None
    if args.filter_language:
        languages = sorted({language for pair in pairs for language in pair})
        wrong_language = language_filter(args.filter_language, languages, output.say)
    output.show_sets(make_sets(found, pairs, sizes, place, wrong_language))
