"""The models' command-line options in fairseq's flat form, made from the specification's fields."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import field, make_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from fairseq.dataclass import ChoiceEnum, FairseqDataclass

from tdo_compat.settings import shown
from tdo_plugin.errors import UserError
from tdo_plugin.modules.declared_options import options_of
from tdo_plugin.modules.spec import ModelSpec, SpecError

OPTIONS = options_of(ModelSpec)
# the options that are not fields: the default of both stages' sizes, and one for training alone
FFN_DIM = ("tdo_ffn_dim", int, "inner size of the feed-forward networks", 2048)
CHECKPOINTS = (
    "checkpoint_activations",
    bool,
    "in training compute each layer again in the backward pass instead of keeping its activations: "
    "the same numbers with less memory and more time",
    False,
)


def destination(flag: str) -> str:
    """The attribute of the parsed arguments that holds a flag's value."""
    return flag.removeprefix("--").replace("-", "_")


def _typed(kind: Any) -> Any:
    """The type for fairseq's parser: an enumeration for choices, text for lists."""
    if get_origin(kind) is Literal:
        return ChoiceEnum(get_args(kind))
    return str if get_origin(kind) is tuple else kind


def _fields() -> list[tuple[str, Any, Any]]:
    kinds = get_type_hints(ModelSpec)
    rows = [
        (destination(option.flag), _typed(kinds[name]), option.help, option.default)
        for name, option in OPTIONS.items()
    ]
    place = [name for name, *_ in rows].index("tdo_stage1_ffn_dim")
    rows.insert(place, FFN_DIM)
    rows.append(CHECKPOINTS)
    return [
        (name, kind, field(default=default, metadata={"help": text}))
        for name, kind, text, default in rows
    ]


# Options of every architecture of this package; presets change the defaults.
TdoConfig = make_dataclass("TdoConfig", _fields(), bases=(FairseqDataclass,))
TdoConfig.__module__ = __name__


def spec_from_args(args: Namespace, num_languages: int = 0, num_pairs: int = 0) -> ModelSpec:
    """The validated specification for parsed arguments.

    Args:
        args: those of older checkpoints may lack newer options.
        num_languages: of the task; ignored by models without parts for each language.
        num_pairs: trained pairs of the task; ignored by models without parts for each pair.

    Raises:
        UserError: values are invalid; the message lists all of them.
    """
    values = {
        name: getattr(args, destination(option.flag), option.default)
        for name, option in OPTIONS.items()
    }
    _check_kinds(values)
    one_stage = values["topology"] == "decoder-only" and values["target_layer"] == 0
    if one_stage and values["stage1_ffn_dim"]:
        raise UserError(
            "`--tdo-stage1-ffn-dim` must not be set if `--tdo-target-layer` is 0: there is no "
            f"first stage; it is {values['stage1_ffn_dim']}"
        )
    values["init"] = tuple(filter(None, values["init"].split(",")))
    for name in ("stage1_ffn_dim", "stage2_ffn_dim"):
        values[name] = values[name] or args.tdo_ffn_dim
    needed = {option.needs for name, option in OPTIONS.items() if values[name] != option.off}
    try:
        return ModelSpec(
            **values,
            num_languages=num_languages if "languages" in needed else 0,
            num_pairs=num_pairs if "pairs" in needed else 0,
            max_source_positions=getattr(args, "max_source_positions", 1024),
            max_target_positions=getattr(args, "max_target_positions", 1024),
        )
    except SpecError as error:
        raise UserError(str(error)) from None


def _check_kinds(values: Mapping[str, Any]) -> None:
    """Refuse values of a wrong type, which a checkpoint can hold but a command line cannot."""
    kinds = get_type_hints(ModelSpec)
    for name, value in values.items():
        kind = str if get_origin(kinds[name]) is tuple else kinds[name]
        if kind not in (int, float, bool, str):
            continue  # one of several names, which the specification checks
        right = (int, float) if kind is float else kind
        if not isinstance(value, right) or isinstance(value, bool) != (kind is bool):
            raise UserError(
                f"`{OPTIONS[name].flag}` must be of type {kind.__name__}; it is "
                f"{shown(repr(value))}"
            )
