"""`tdo score`: every metric of systems' hypotheses, with significance, into one score sheet."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import did_you_mean, tell
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import languages_of
from tdo_plugin.evaluation.protocols import PROTOCOLS, Protocol, protocol
from tdo_plugin.evaluation.score_sheet import METRICS

if TYPE_CHECKING:
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.evaluation.groups import Groups
    from tdo_plugin.evaluation.score_sheet import ScoreSheet
    from tdo_plugin.evaluation.scoring import NeuralMetric, Settings
    from tdo_plugin.evaluation.systems import SystemTexts
    from tdo_plugin.metrics.language_id import Identifier

HELP = "score hypotheses: BLEU, chrF++, TER, BERTScore, COMET, off-target shares, significance"
EXAMPLE = "tdo score tdo=my-output --data my-data --out my-report"

SHEET = "scores.json"
MOST_SAMPLES = 10**6  # resamples are kept in memory, four bytes a sentence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "systems",
        nargs="*",
        metavar="NAME=DIR",
        help="a system and its folder: SRC-TGT.hyp, and .ref and .src unless --data has them; "
        "NAME may come again with another folder, which has other directions; of systems called "
        "`NAME, seed 1`, `NAME, seed 2`, ... tdo report has mean and spread",
    )
    add("--out", type=Path, required=True, metavar="DIR", help="folder for scores.json")
    add("--examples", type=int, default=5, metavar="N", help="sentences a direction (default 5)")
    files = parser.add_argument_group("one direction from single files")
    files.add_argument("--hyp", type=Path, metavar="FILE", help="hypotheses, one a line")
    add_reference(files)
    add_measures(parser)


def add_reference(files: argparse._ArgumentGroup) -> None:
    """Declare what single files of hypotheses are scored against."""
    add = files.add_argument
    add("--ref", type=Path, metavar="FILE", help="references")
    add("--src", type=Path, metavar="FILE", help="sources, which COMET needs")
    add("-s", "--source-lang", metavar="LANG", help="language of the source")
    add("-t", "--target-lang", metavar="LANG", help="language of the target")


def add_measures(parser: argparse.ArgumentParser) -> None:
    """Declare what is scored, and how, for all that score."""
    add = parser.add_argument
    add("--data", type=Path, metavar="DATA", help="the data folder that was decoded")
    add(
        "--validations",
        action="store_true",
        help="each DIR is a training's --save-dir: take what its last validation translated "
        "(--eval-translation), with --data and --group alone",
    )
    add(
        "--directions",
        metavar="D",
        help="all, supervised, zero-shot (with --data), a list such as en-de,de-fr, or patterns "
        "such as en-*, of what is there (default: all that the systems have)",
    )
    _measures(parser.add_argument_group("metrics"))
    _aggregates(parser.add_argument_group("groups and significance"))
    add(
        "--workers",
        type=int,
        metavar="N",
        help="processes for everything but neural metrics (default: one a core)",
    )


def _measures(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--protocol",
        choices=tuple(PROTOCOLS),
        help="measure as this paper does; options that are given as well win",
    )
    add(
        "--metrics",
        metavar="M",
        help=f"all, or a list of {','.join(METRICS)} (default: the protocol's, or bleu,chrf,off)",
    )
    add(
        "--tokenizer",
        metavar="T",
        help="of BLEU and TER: language (by the target), zh-ja-ko (by the target for these, else "
        "13a), moses, or one of SacreBLEU's",
    )
    add(
        "--lowercase",
        action=argparse.BooleanOptionalAction,
        help="ignore case (default: as the protocol and the data folder say)",
    )
    add(
        "--lid",
        metavar="DETECTOR",
        help="fasttext (lid.176), langdetect, a fastText model file, corpus (learnt from --data), "
        "or references (learnt from those); default: lid.176 where it is found, else corpus, else "
        "references",
    )
    add("--bertscore-model", metavar="MODEL", help="name or folder, for all languages")
    add("--bertscore-layer", type=int, metavar="N", help="its layer; a folder needs one")
    add("--comet-model", metavar="MODEL", help="name, checkpoint or folder")
    add("--cache", type=Path, metavar="FILE", help="where neural scores are kept")
    add(
        "--download",
        action="store_true",
        help="fetch the models of metrics and detector that are not on this machine",
    )


def _aggregates(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--hub", metavar="LANG", help="the language of en → X and X → en (default: the data's, en)")
    add(
        "--supervised",
        metavar="D",
        help="the directions that were trained, without --data: a list, others are zero-shot",
    )
    add(
        "--group",
        action="append",
        default=[],
        metavar="NAME=P,...",
        help="a group by patterns of directions such as *-fr,de-*; or @FILE, JSON",
    )
    add("--families", action="store_true", help="group by language family too")
    add("--sizes", action="store_true", help="group by training size too (High, Medium, Low)")
    add(
        "--size-bounds",
        metavar="HIGH,MEDIUM",
        help="sentence pairs from which on a direction is High, and Medium (default "
        "900000,100000); with --sizes or a protocol that has these groups",
    )
    add("--baseline", metavar="NAME", help="the system to compare with (default: the first)")
    add(
        "--samples",
        type=int,
        default=1000,
        metavar="N",
        help="resamples of the paired bootstrap (default 1000; 0: none)",
    )


def run(args: argparse.Namespace) -> int:
    """Score and write; 1 where something that was asked for is missing."""
    from dataclasses import replace

    from tdo_plugin.evaluation.systems import read_systems, single_system
    from tdo_plugin.runtime.provenance import made_by

    _check_single(args)
    check_measures(args)
    data = data_of(args)
    if args.validations:
        return _validations(args, data)
    failures: list[str] = []
    if args.hyp or args.ref:
        systems = [single_system(args.hyp, args.ref, args.src, args.source_lang, args.target_lang)]
    else:
        systems = read_systems(args.systems, args.directions, data, failures)
    sheet = score_systems(args, systems, data, failures, args.out)
    sheet = replace(sheet, made_by=made_by(shlex.join(["tdo", *sys.argv[1:]])))
    tell_remarks(sheet)
    _write(args, sheet)
    return 1 if sheet.failures or sheet.missing else 0


def data_of(args: argparse.Namespace) -> DataFolder | None:
    """The data folder that was decoded, if it is given."""
    from tdo_plugin.data.databin import read_data_folder

    return read_data_folder(args.data.resolve()) if args.data else None


def score_systems(
    args: argparse.Namespace,
    systems: list[SystemTexts],
    data: DataFolder | None,
    failures: list[str],
    out: Path | None = None,
) -> ScoreSheet:
    """The score sheet of systems, by the options of `add_measures`.

    Args:
        args: the options.
        systems: to be scored.
        data: the data folder that was decoded, if it is known.
        failures: what could not be read; gets what cannot be compared.
        out: a folder that is made before anything takes its time.

    Raises:
        UserError: options that do not fit together or the systems.
    """
    from dataclasses import replace

    from tdo_plugin.evaluation.scoring import score
    from tdo_plugin.evaluation.systems import in_order, same_references

    systems = same_references(systems, failures)
    directions = in_order(systems, data)
    if not directions:
        raise UserError(f"`NAME=DIR` must leave something to score; {'; '.join(failures)}")
    notes: list[str] = []
    settings = _settings(args, data, systems, directions, notes)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    sheet = score(systems, directions, _neural(args, settings.metrics), settings, tell)
    return replace(
        sheet,
        failures=tuple(failures),
        missing={**_without_detector(settings, notes), **sheet.missing},
        notes=(*notes, *sheet.notes),
    )


def tell_remarks(sheet: ScoreSheet) -> None:
    """Say what could not be scored, and what a reader must know."""
    for line in sheet.failures:
        tell(f"error: {line}")
    for key, reason in sheet.missing.items():
        tell(f"{METRICS[key].name} is missing: {reason}")
    for note in sheet.notes:
        tell(f"note: {note}")


def _validations(args: argparse.Namespace, data: DataFolder | None) -> int:
    """Write the sheet of what trainings have measured."""
    from dataclasses import replace

    from tdo_plugin.evaluation.systems import named_folders
    from tdo_plugin.evaluation.validated import validation_sheet
    from tdo_plugin.runtime.provenance import made_by

    sheet = validation_sheet(
        named_folders(args.systems),
        lambda directions: _groups(args, protocol(None), data, list(directions)),
    )
    _write(args, replace(sheet, made_by=made_by(shlex.join(["tdo", *sys.argv[1:]]))))
    return 0


def _write(args: argparse.Namespace, sheet: ScoreSheet) -> None:
    from tdo_plugin.evaluation.score_sheet import as_json
    from tdo_plugin.runtime.files import write_text

    args.out.mkdir(parents=True, exist_ok=True)
    write_text(args.out / SHEET, [json.dumps(as_json(sheet), ensure_ascii=False, indent=1)])
    print((args.out / SHEET).resolve(), flush=True)


def check_measures(args: argparse.Namespace) -> None:
    """Raise UserError where a number or a tokenizer cannot be."""
    for option in ("samples", "examples"):
        if getattr(args, option) < 0:
            raise UserError(f"`--{option}` must be at least 0; it is {getattr(args, option)}")
    if args.samples > MOST_SAMPLES:
        raise UserError(f"`--samples` must be at most {MOST_SAMPLES:,}; it is {args.samples:,}")
    if args.workers is not None and args.workers < 1:
        raise UserError(f"`--workers` must be at least 1; it is {args.workers}")
    if args.tokenizer:
        from tdo_plugin.metrics.sacrebleu_scores import text_metric

        text_metric("bleu", "en", args.tokenizer)


def _check_single(args: argparse.Namespace) -> None:
    single = ("hyp", "ref", "src", "source_lang", "target_lang")
    options = [option for option in single if getattr(args, option)]
    measuring = ("directions", "protocol", "metrics", "tokenizer", "lid", "baseline")
    for option in (*options, *(name for name in measuring if getattr(args, name))):
        if args.validations:
            name = option.replace("_", "-")
            raise UserError(f"`--{name}` must be left out with --validations; both are given")
    if options and (args.systems or args.directions):
        alternative = "NAME=DIR" if args.systems else "--directions"
        name = options[0].replace("_", "-")
        raise UserError(f"`--{name}` must be left out with {alternative}; both are given")


def _settings(
    args: argparse.Namespace,
    data: DataFolder | None,
    systems: list[SystemTexts],
    directions: list[str],
    notes: list[str],
) -> Settings:
    from tdo_plugin.evaluation.measuring import TEXT_METRICS, Plan
    from tdo_plugin.evaluation.scoring import Settings
    from tdo_plugin.launch.environment import cores
    from tdo_plugin.metrics.textform import read_text_form

    chosen = protocol(args.protocol)
    metrics = _metrics(args.metrics, chosen)
    lowercase = chosen.lowercase or any(system.lowercased for system in systems)
    if data is not None:
        lowercase = lowercase or read_text_form(data.root).casing == "lowercased"
    detector, reason = _detector(args, data, systems) if "off" in metrics else (None, "")
    if reason:
        notes.append(reason)
    if detector is None and not (args.metrics or args.protocol):  # it was not asked for
        metrics = tuple(key for key in metrics if key != "off")
    names = [system.name for system in systems]
    if args.baseline and args.baseline not in names:
        guess = did_you_mean(args.baseline, names)
        raise UserError(
            f"`--baseline` must be one of {', '.join(names)}; it is {args.baseline}{guess}"
        )
    return Settings(
        metrics=metrics,
        plan=Plan(
            metrics=tuple(key for key in metrics if key in TEXT_METRICS),
            tokenizer=args.tokenizer or chosen.tokenizer,
            lowercase=lowercase if args.lowercase is None else args.lowercase,
            english="en",
            detector=detector,
        ),
        groups=_groups(args, chosen, data, directions),
        baseline=args.baseline or names[0],
        skip_zeros=chosen.skip_zeros,
        pooled=chosen.pooled,
        samples=args.samples,
        examples=args.examples,
        protocol=args.protocol,
        workers=args.workers or cores(),
    )


def _metrics(requested: str | None, chosen: Protocol) -> tuple[str, ...]:
    if requested is None:
        return chosen.metrics
    names = tuple(METRICS) if requested == "all" else tuple(requested.split(","))
    for name in names:
        if name not in METRICS:
            guess = did_you_mean(name, METRICS)
            raise UserError(
                f"`--metrics` must be all or of {', '.join(METRICS)}; it has {name}{guess}"
            )
    return names


def _detector(
    args: argparse.Namespace, data: DataFolder | None, systems: list[SystemTexts]
) -> tuple[Identifier | None, str]:
    """The detector that was asked for, the protocol's, or the best that is here; and what to say.

    Without one that was asked for, lid.176; without that a classifier learnt from the training
    text, unless a protocol wants what its paper used.

    Raises:
        UserError: one that was asked for is not to be had.
    """
    from tdo_plugin.metrics.language_id import identifier

    references: dict[str, list[str]] = {}
    for system in systems:
        for direction, texts in system.texts.items():
            references.setdefault(languages_of(direction)[1], []).extend(texts.references)
    detector = args.lid or protocol(args.protocol).detector
    try:
        return identifier(detector, data, references, args.download), ""
    except UserError as error:
        if args.lid or args.download:
            raise
        reason = str(error)
    if data is None or args.protocol:
        return None, f"No off-target share: {reason}"
    return (
        identifier("corpus", data),
        "Languages are told apart by a classifier learnt from the training text, "
        "since fastText's lid.176 is not on this machine.",
    )


def _without_detector(settings: Settings, notes: list[str]) -> dict[str, str]:
    """Why there is no off-target share, if there is none though it was wanted."""
    if "off" not in settings.metrics or settings.plan.detector is not None:
        return {}
    return {"off": notes.pop(0)}


def _groups(
    args: argparse.Namespace, chosen: Protocol, data: DataFolder | None, directions: list[str]
) -> Groups:
    from tdo_plugin.evaluation.groups import (
        HIGH,
        MEDIUM,
        family_groups,
        size_groups,
        standard_groups,
        user_groups,
    )

    if data is not None:
        hub = args.hub or data.hub()
        trained: set[str] | None = set(data.directions)
    else:
        languages = {language for direction in directions for language in direction.split("-")}
        hub = args.hub or ("en" if "en" in languages else None)
        named = args.supervised.split(",") if args.supervised else []
        trained = {"-".join(languages_of(direction, "--supervised")) for direction in named} or None
    _check_hub(args.hub, trained if args.supervised else None, directions)
    groups = standard_groups(directions, trained, hub)
    if args.sizes or (chosen.size_groups and data is not None):
        if data is None:
            raise UserError("`--sizes` must have --data, which knows the training sizes")
        bounds = _size_bounds(args.size_bounds) if args.size_bounds else (HIGH, MEDIUM)
        groups |= size_groups(directions, data.training_sizes(), hub or "en", bounds)
    elif args.size_bounds:
        raise UserError("`--size-bounds` must come with --sizes or a protocol that has size groups")
    if args.families:
        families, unknown = family_groups(directions, hub or "en")
        groups |= families
        if unknown:
            tell(f"note: no language family is known for {', '.join(unknown)}")
    custom = user_groups(args.group, directions)
    if clash := [name for name in custom if name in groups]:
        raise UserError(f"`--group` must have names of its own; {clash[0]} is there already")
    return groups | custom


def _size_bounds(text: str) -> tuple[int, int]:
    """Sentence pairs from which on a direction is High, and Medium."""
    high, _, medium = text.partition(",")
    if not (high.isdecimal() and medium.isdecimal() and int(high) > int(medium) > 0):
        raise UserError(
            "`--size-bounds` must be two whole numbers above 0, the larger one first, such as "
            f"900000,100000; it is {text}"
        )
    return int(high), int(medium)


def _check_hub(hub: str | None, trained: set[str] | None, directions: list[str]) -> None:
    """Raise UserError where a hub or trained directions have nothing to do with what is scored."""
    languages = {language for direction in directions for language in direction.split("-")}
    if hub is not None and hub not in languages:
        raise UserError(f"`--hub` must be one of {', '.join(sorted(languages))}; it is {hub}")
    if trained is not None and not trained.intersection(directions):
        raise UserError(
            f"`--supervised` must name some of {', '.join(directions)}; it names none of them"
        )


def _neural(
    args: argparse.Namespace, metrics: Iterable[str]
) -> dict[str, Callable[[], NeuralMetric]]:
    """Makers of the neural metrics that are wanted; nothing heavy is imported before they run."""

    def bertscore() -> NeuralMetric:
        from tdo_plugin.metrics.bertscore import BertScore
        from tdo_plugin.metrics.cache import Cache, default_cache_path

        cache = Cache(args.cache or default_cache_path())
        return BertScore(args.bertscore_model, args.bertscore_layer, args.download, cache)

    def comet() -> NeuralMetric:
        from tdo_plugin.metrics.cache import Cache, default_cache_path
        from tdo_plugin.metrics.comet import Comet

        return Comet(args.comet_model, args.download, Cache(args.cache or default_cache_path()))

    makers: dict[str, Callable[[], NeuralMetric]] = {"bertscore": bertscore, "comet": comet}
    return {key: make for key, make in makers.items() if key in metrics}
