"""`tdo preference`: figures 1(b) and 4 of the TDO paper, linguistic preference by layer."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import tell
from tdo_plugin.cli.analysis_command import analysis_options, show_analysis
from tdo_plugin.cli.decoding import MODEL
from tdo_plugin.cli.named_models import by_name
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoded_checkpoints import resolve_one
from tdo_plugin.launch.handed_on_options import device_options, gpus_here
from tdo_plugin.runtime.lock import refuse_same

if TYPE_CHECKING:
    import torch

    from tdo_plugin.analysis.figure_files import Score
    from tdo_plugin.analysis.preference.measure import Measured, Preference
    from tdo_plugin.analysis.preference.similarity import Form
    from tdo_plugin.cli.analysis_output import Analysis, Numbers
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.data.parallel import Parallel
    from tdo_plugin.evaluation.inspected_model import EvalModel
    from tdo_plugin.evaluation.report.table import Cell, Table

HELP = "measure whether source states resemble the source or target language (TDO paper)"
EXAMPLE = "tdo preference --data my-data --path tdo=tdo.pt prefix=prefix.pt --out my-figures"

DIGITS = 3
MOST_BY_CHANCE = 0.5  # highest similarity by chance without a warning
MARKS = 2  # tokens of a source besides its pieces: tag and end symbol
TITLES = {
    "sentence": "correlation sentence by sentence",
    "svcca": "SVCCA over all sentences",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "--path",
        action="extend",
        nargs="+",
        required=True,
        metavar="[NAME=]MODEL",
        help=f"{MODEL}; NAME: what figures call it (default: the folder)",
    )
    add("--data", type=Path, required=True, metavar="DATA", help="the models' data folder")
    add(
        "--langs",
        metavar="L,L",
        help="languages to compare (default: all with common sentences)",
    )
    add(
        "--pairs",
        default="zero-shot",
        metavar="P",
        help="language pairs: zero-shot, supervised, all, or a list such as de-fr,fr-* (default "
        "zero-shot)",
    )
    add(
        "--split",
        choices=("valid", "test"),
        default="test",
        help="split of the data (default test)",
    )
    add(
        "--form",
        choices=("both", *TITLES),
        default="both",
        help="similarity measure: per sentence, as in the published code, or SVCCA over all "
        "sentences (default both)",
    )
    add(
        "--variance",
        type=float,
        default=0.99,
        metavar="X",
        help="share of the variance that SVCCA keeps (default 0.99)",
    )
    add("--sentences", type=int, metavar="N", help="use the first N sentences (default: all)")
    add(
        "--longest",
        type=int,
        default=256,
        metavar="N",
        help="skip sentences with more than N tokens in any of the languages (default 256)",
    )
    add("--max-tokens", type=int, default=8000, metavar="N", help="tokens per batch (default 8000)")
    device_options(parser, several=False)
    analysis_options(parser)


def run(args: argparse.Namespace) -> int:
    """Extract every model's hidden states, and compare them."""
    return show_analysis(args, _analyze)


def _analyze(args: argparse.Namespace) -> Analysis:
    import torch

    from tdo_plugin.analysis.preference.similarity import forms
    from tdo_plugin.checkpoints import read
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.data.parallel import parallel_lines, within
    from tdo_plugin.metrics.silence import quiet_libraries

    _check(args)
    models = {
        name: resolve_one(path, None, tell, "--path")
        for name, path in by_name(args.path, "MODEL").items()
    }
    for path in models.values():  # fail before computing anything
        read(path, "--path")
    data = read_data_folder(args.data.resolve())
    refuse_same(args.out, data.root, "DATA")
    languages = None if args.langs is None else args.langs.split(",")
    lines = parallel_lines(data, args.split, languages)
    pairs = data.select(args.pairs, "--pairs", [f"{x}-{y}" for x, y in permutations(lines, 2)])
    lines = within(lines, args.longest - MARKS, args.sentences)
    (count, *_) = map(len, lines.values())
    if not count:
        raise UserError(
            f"`--longest` must be the length of some sentence in all of {', '.join(lines)}; it is "
            f"{args.longest}, below all lengths"
        )
    all_forms = forms(args.variance)
    chosen = {name: all_forms[name] for name in TITLES if args.form in ("both", name)}
    device = torch.device("cuda:0" if gpus_here(args) else "cpu")
    by_model = {}
    with quiet_libraries():
        for name, path in models.items():
            by_model[name] = _measure(args, name, path, data, lines, pairs, chosen, device)
    return _analysis(by_model, pairs, count, list(chosen))


def _check(args: argparse.Namespace) -> None:
    for option, least in (("sentences", 1), ("longest", MARKS + 1), ("max_tokens", 1)):
        value = getattr(args, option)
        if value is not None and value < least:
            name = option.replace("_", "-")
            raise UserError(f"`--{name}` must be at least {least}; it is {value}")
    if not 0 < args.variance <= 1:
        raise UserError(f"`--variance` must be above 0 and at most 1; it is {args.variance}")


def _measure(
    args: argparse.Namespace,
    name: str,
    path: Path,
    data: DataFolder,
    lines: Parallel,
    pairs: Sequence[str],
    forms: Mapping[str, Form],
    device: torch.device,
) -> Measured:
    from tdo_plugin.analysis.preference.measure import measure
    from tdo_plugin.analysis.preference.pooled import pooled_outputs
    from tdo_plugin.evaluation.inspected_model import EvalModel

    model: EvalModel = EvalModel(path, data, device)
    if not model.begins_with_target:
        raise UserError(
            "`--path` must name models whose sources begin with the target language's tag "
            f"(`--encoder-langtok tgt`); those of {path} do not"
        )
    layers = range(1, model.spec.source_layers + 1)

    def read(language: str, tag: str) -> Mapping[int, torch.Tensor]:
        sentences = lines[language]
        batches = model.readings(f"{language}-{tag}", sentences, args.longest, args.max_tokens)
        states = pooled_outputs(model.core, batches, layers, len(sentences))
        for layer, vectors in states.items():
            if not vectors.isfinite().all():
                raise UserError(
                    f"`--path` must name models whose states are finite; those of {path} after "
                    f"layer {layer} are not"
                )
        return states

    tell(f"{name}: {len(layers)} layers, {len(pairs)} pairs")
    return measure(read, pairs, forms)


# --- tables, figures and numbers -------------------------------------------------------------


def _analysis(
    by_model: Mapping[str, Measured], pairs: Sequence[str], count: int, forms: Sequence[str]
) -> Analysis:
    from tdo_plugin.analysis.preference.figure import draw_preference
    from tdo_plugin.cli.analysis_output import Analysis

    of_form = {
        form: {name: _by_layer(measured, form) for name, measured in by_model.items()}
        for form in forms
    }
    over = f"{len(pairs)} pair{'s' * (len(pairs) > 1)}, {count} sentence{'s' * (count > 1)}"
    pictures = {
        form: partial(
            draw_preference,
            {
                name: {layer: _score(members) for layer, members in layers.items()}
                for name, layers in models.items()
            },
            f"linguistic preference, {TITLES[form]} ({over})",
        )
        for form, models in of_form.items()
    }
    remarks = [f"Over {over}; above 0.5, states are more similar to the target language."]
    chance = max(measured.chance for measured in by_model.values())
    if "svcca" in forms:
        few = "warning: few sentences for so many dimensions; " * (chance > MOST_BY_CHANCE)
        remarks.append(f"{few}SVCCA would find up to {chance:.2f} in unrelated states.")
    return Analysis(
        [_table(form, models) for form, models in of_form.items()],
        remarks,
        {"pairs": _pairs_numbers(by_model), "layers": _layers_numbers(of_form)},
        pictures,
    )


def _by_layer(measured: Measured, form: str) -> dict[int, list[Preference]]:
    """The pairs' preferences by layer."""
    layers: dict[int, list[Preference]] = {}
    for preference in measured.preferences:
        if preference.form == form:
            layers.setdefault(preference.layer, []).append(preference)
    return layers


def _ends(members: Sequence[Preference]) -> tuple[Preference, Preference]:
    """The pairs with the lowest and the highest score."""
    return min(members, key=lambda pair: pair.score), max(members, key=lambda pair: pair.score)


def _score(members: Sequence[Preference]) -> Score:
    from tdo_plugin.analysis.figure_files import Score

    mean = sum(preference.score for preference in members) / len(members)
    return Score(mean, *(preference.score for preference in _ends(members)))


def _table(form: str, models: Mapping[str, Mapping[int, Sequence[Preference]]]) -> Table:
    from tdo_plugin.cli.analysis_output import cell
    from tdo_plugin.evaluation.report.table import ABSENT, Block, Cell, Column, Row, Table

    def cells(members: Sequence[Preference] | None) -> tuple[Cell, ...]:
        if members is None:  # the model has fewer layers than another
            return (Cell(ABSENT),) * 3
        ends = [(preference, cell(preference.score, DIGITS)) for preference in _ends(members)]
        named = (Cell(f"{preference.pair} {shown.text}", shown.value) for preference, shown in ends)
        return cell(_score(members).mean, DIGITS), *named

    layers = sorted({layer for by_layer in models.values() for layer in by_layer})
    rows = [
        Row(
            (str(layer),),
            tuple(c for by_layer in models.values() for c in cells(by_layer.get(layer))),
        )
        for layer in layers
    ]
    columns = [Column(name, what) for name in models for what in ("mean", "lowest", "highest")]
    title = f"Linguistic preference by layer, {TITLES[form]}"
    return Table(form, title, ("layer",), tuple(columns), (Block(tuple(rows)),))


def _pairs_numbers(by_model: Mapping[str, Measured]) -> Numbers:
    from tdo_plugin.cli.analysis_output import Numbers

    rows = [
        (name, *preference)
        for name, measured in by_model.items()
        for preference in measured.preferences
    ]
    return Numbers(("model", "layer", "form", "pair", "rho_source", "rho_target", "score"), rows)


def _layers_numbers(
    of_form: Mapping[str, Mapping[str, Mapping[int, Sequence[Preference]]]],
) -> Numbers:
    from tdo_plugin.cli.analysis_output import Numbers

    head = ("model", "layer", "form", "mean", "lowest", "highest", "lowest_pair", "highest_pair")
    rows = [
        (name, layer, form, *_score(members), *(preference.pair for preference in _ends(members)))
        for form, models in of_form.items()
        for name, layers in models.items()
        for layer, members in layers.items()
    ]
    return Numbers(head, rows)
