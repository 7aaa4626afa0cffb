"""Pages of model options and of loss and task options, from their declarations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tdo_plugin.cli.model_help import MODEL, option_sections
from tdo_plugin.models.config import CHECKPOINTS, FFN_DIM, OPTIONS, destination
from tdo_plugin.models.presets import PRESETS
from tdo_plugin.modules.declared_options import Option
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.reference.markdown_table import OPTION_HEAD, codes, option_rows, page, plain, table

MODEL_HEAD = ("option", "values", "default", "description", "needs")
KINDS = {int: "N", float: "X", bool: "a switch", str: "text", tuple: "names, comma-separated"}
NEEDS = {
    None: "",
    "languages": "target languages of the task",
    "pairs": "trained language pairs",
    "both languages": "both languages of every sentence",
}
SIZES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "layers": lambda row: (
        row.get("tdo_layers") or f"{row['tdo_encoder_layers']} + {row['tdo_decoder_layers']}"
    ),
    "source-only layers (M)": lambda row: row.get("tdo_target_layer", ""),
    "source attention": lambda row: row.get("tdo_source_attention", "prefix"),
    "width": lambda row: row["tdo_model_dim"],
    "FFN": lambda row: row["tdo_ffn_dim"],
    "heads": lambda row: row["tdo_heads"],
    "adaptation": lambda row: row.get("tdo_adaptation_dim", ""),
    "norm": lambda row: row.get("tdo_norm", "post"),
    "attention dropout": lambda row: row.get("attention_dropout", 0),
}


def model_options() -> str:
    """Return the page of model options and of the settings of each `--arch`."""
    kinds = get_type_hints(ModelSpec)
    rows = [_model_row(option, kinds[name]) for name, option in OPTIONS.items()]
    name, kind, text, default = FFN_DIM
    place = next(place for place, row in enumerate(rows) if "--tdo-stage1-ffn-dim" in row[0])
    flag = "--" + name.replace("_", "-")
    ffn_dim = Option(flag, f"{text}, where no stage has its own", default)
    rows.insert(place, _model_row(ffn_dim, kind))
    name, switch, text, off = CHECKPOINTS
    rows.append(_model_row(Option("--" + name.replace("_", "-"), text, off), switch))
    return page(
        "Options of the models",
        "`fairseq-train`, `tdo train` and `tdo describe` take these options for every `--arch` of "
        "this package. They are declared in `tdo_plugin/modules/spec.py`.",
        table(MODEL_HEAD, rows),
        "## Architectures",
        "Values that an `--arch` sets where the command line does not. Sizes without a suffix are "
        "the TDO paper's for TED-19, `_deep` and `_wide` its sizes for OPUS-100, `_small` is for "
        "a CPU (ours).",
        table(("`--arch`", *SIZES), [_size_row(*preset) for preset in PRESETS.items()]),
    )


def _model_row(option: Option, kind: Any) -> tuple[str, ...]:
    literal = get_origin(kind) is Literal
    values = ", ".join(get_args(kind)) if literal else KINDS[get_origin(kind) or kind]
    by_arch = any(destination(option.flag) in row for row in PRESETS.values())
    default = "set by `--arch`" if by_arch else "off" if kind is bool else str(option.default)
    return (f"`{option.flag}`", values, default, plain(option.help), NEEDS[option.needs])


def _size_row(arch: str, row: dict[str, Any]) -> tuple[str, ...]:
    return (f"`{arch}`", *(str(size(row)) for size in SIZES.values()))


def training_options() -> str:
    """Return the page of options that this package's losses and tasks add to fairseq's."""
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    ours = [
        sorted(name for name, cls in registry.items() if cls.__module__.startswith("tdo_plugin."))
        for registry in (CRITERION_REGISTRY, TASK_REGISTRY)
    ]
    sections = [
        part
        for title, actions in option_sections()
        if title != MODEL
        for part in (
            f"## {title[:1].upper()}{title[1:]}",
            table(OPTION_HEAD, option_rows(actions, "fairseq-train")),
        )
    ]
    return page(
        "Options of losses and tasks",
        "`fairseq-train` and `tdo train` take these options beside fairseq's own and those of the "
        "[models](model-options.md); `tdo train --help-model` prints them.",
        f"`--criterion` is one of {codes(ours[0])}, or one of fairseq's. `--task` is one of "
        f"{codes(ours[1])}, or fairseq's `translation_multi_simple_epoch`.",
        *sections,
    )
