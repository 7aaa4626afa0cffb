"""Text preprocessing settings of a model, from the options of its training.

A checkpoint contains these options, and its model needs text that was processed in the same way.
This module reads them from options, compares them, and sets them; ``tasks/checkpoint_options.py``
applies them to a command line, ``evaluation/decoding/loading.py`` in ``tdo``.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tdo_compat.settings import SettingError, literal
from tdo_plugin.errors import UserError

State = Mapping[str, Any]
Settings = dict[str, Any]

SIDES = ("encoder_langtok", "decoder_langtok")  # tags of sources and of targets
STYLES = ("multilingual", "mbart")
LONGEST = 200  # maximum characters of a value in a message
# the history of a converted model: what fairseq requires of a checkpoint, trained or not
NOTHING_TRAINED = {"optimizer_name": "none", "lr_scheduler_state": {}, "num_updates": 0}


def settings_of(args: Namespace) -> Settings:
    """The text settings in parsed options, by option.

    For ``SIDES``, ``--langtoks`` takes precedence if it sets the tags of sentence pairs. Options
    that older checkpoints lack have the values that applied at that time.

    Raises:
        UserError: the style of tags is unknown, or fairseq cannot parse another value.
    """
    style = getattr(args, "lang_tok_style", STYLES[0])
    if style not in STYLES:
        raise UserError(
            f"`--lang-tok-style` must be one of {', '.join(STYLES)}; it is {_cut(style)}"
        )
    return {
        **dict(zip(SIDES, _tags(args), strict=True)),
        "lang_tok_style": style,
        "lang_tok_replacing_bos_eos": bool(getattr(args, "lang_tok_replacing_bos_eos", False)),
        "langtoks_specs": _names(getattr(args, "langtoks_specs", "main")),
        "left_pad_source": _side(args, "left_pad_source", True),
        "left_pad_target": _side(args, "left_pad_target", False),
        "source_noise": getattr(args, "source_noise", "none"),
        "back_translated_tag": getattr(args, "back_translated_tag", None),
    }


def apply(settings: Settings, args: Namespace) -> None:
    """Set all of these settings in options, in each form that fairseq reads."""
    for name, value in settings.items():
        # fairseq parses the sides of padding from text and would read True as False
        setattr(args, name, str(value) if name.startswith("left_pad") else value)
    source, target = (settings[name] for name in SIDES)
    args.decoder_langtok = target is not None
    args.langtoks = {**(getattr(args, "langtoks", None) or {}), "main": (source, target)}


def check_settings(current: Settings, stored: Settings, hint: str = "") -> None:
    """Compare settings with those of a checkpoint; settings that either lacks are not compared.

    Raises:
        UserError: names the first difference; ``hint`` is appended.
    """
    for name, value in stored.items():
        if current.get(name, value) != value:
            raise UserError(
                f"`--{name.replace('_', '-')}` must be the checkpoint's, {shown(value)}; "
                f"it is {shown(current[name])}{hint}"
            )


def check_members(members: Mapping[Path, State]) -> None:
    """Check that all checkpoints of an ensemble need the same text as the first.

    Raises:
        UserError: names the first difference.
    """
    (first, state), *others = members.items()
    expected = {**settings_of(task_options(state)), "langs": fixed_languages(state)}
    for path, other_state in others:
        actual = {**settings_of(task_options(other_state)), "langs": fixed_languages(other_state)}
        for name, value in expected.items():
            free = name == "langs" and None in (value, actual[name])
            if actual[name] != value and not free:
                raise UserError(
                    "`--path` must name checkpoints with the same text settings; "
                    f"`--{name.replace('_', '-')}` is {shown(value)} for {first}, "
                    f"{shown(actual[name])} for {path}"
                )


def task_options(state: State) -> Namespace:
    """The options of the task that trained a checkpoint; empty if it has none."""
    cfg = state.get("cfg") or {}
    options = cfg.get("task") if cfg else state.get("args")
    if isinstance(options, Namespace):
        return options
    return Namespace(**options) if isinstance(options, Mapping) else Namespace()


def task_name(state: State) -> str | None:
    """The name of the task that trained a checkpoint; None if it has none."""
    options = task_options(state)
    return getattr(options, "_name", None) or getattr(options, "task", None)


def is_multilingual(state: State) -> bool:
    """Whether fairseq's multilingual task, or one based on it, trained a checkpoint."""
    options = task_options(state)
    return hasattr(options, "lang_tok_style") and bool(getattr(options, "lang_pairs", None))


def is_converted(state: State) -> bool:
    """Whether it was written by `tdo convert` and has not been trained since."""
    history = state.get("optimizer_history") or ()
    trained_by = [part.get("optimizer_name") for part in history]
    return trained_by == [NOTHING_TRAINED["optimizer_name"]]


def pairs_of(state: State) -> list[str]:
    """The directions that a checkpoint was trained on."""
    return _names(task_options(state).lang_pairs)


def fixed_languages(state: State) -> list[str] | None:
    """The languages of a checkpoint if they and their order must not change; else None.

    A converted model, which records only its dictionary, may be used with any of its languages.

    Raises:
        UserError: as in :func:`languages_of`.
    """
    remembered = state.get("task_state") or {}
    if remembered and "languages" not in remembered:
        return None
    return languages_of(state)


def languages_of(state: State) -> list[str]:
    """The languages of a checkpoint of a multilingual task, in the order of their tags.

    Raises:
        UserError: they are only in a file, which is missing.
    """
    remembered = (state.get("task_state") or {}).get("languages")
    options = task_options(state)
    if remembered or getattr(options, "langs", None):
        return _names(remembered or options.langs)
    if file := getattr(options, "lang_dict", None):
        try:
            lines = Path(file).read_text(encoding="utf-8").split("\n")
        except (OSError, ValueError):
            raise UserError(
                "the file of languages that the checkpoint was trained with, `--lang-dict "
                f"{_cut(file)}`, must still exist as text; it does not"
            ) from None
        return [line.strip() for line in lines if line.strip()]
    # as fairseq does if no languages are set
    return sorted({language for pair in pairs_of(state) for language in pair.split("-")})


def shown(value: Any) -> str:
    """A setting for a message, as on the command line."""
    words = {None: "none", True: "on", False: "off"}
    if isinstance(value, list):
        return _cut(",".join(map(str, value)))
    return words[value] if value is None or isinstance(value, bool) else _cut(value)


def _tags(args: Namespace) -> tuple[Any, Any]:
    """The tags of sources and of targets, such as `tgt`; None for no tag."""
    langtoks = getattr(args, "langtoks", None) or {}
    main = langtoks.get("main") if isinstance(langtoks, Mapping) else langtoks
    if main is not None:
        tags = main if isinstance(main, list | tuple) else ()
        if len(tags) != 2 or not all(tag is None or isinstance(tag, str) for tag in tags):
            raise UserError(
                "`--langtoks` must set the tags of sources and targets, such as "
                f"{{'main': ('tgt', None)}}; it is {_cut(langtoks)}"
            )
        return tags[0] or None, tags[1] or None
    target = "tgt" if getattr(args, "decoder_langtok", False) else None
    return getattr(args, "encoder_langtok", None) or None, target


def _side(args: Namespace, name: str, usual: bool) -> bool:
    """Whether padding is on the left; fairseq would eval the option's text."""
    value = getattr(args, name, usual)
    try:
        return bool(literal(str(value)))
    except SettingError:
        raise UserError(
            f"`--{name.replace('_', '-')}` must be True or False; it is {_cut(value)}"
        ) from None


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split(",")
    if not isinstance(value, Sequence | None):
        raise UserError(
            f"a checkpoint's languages and directions must be lists of names; it has {shown(value)}"
        )
    return [str(name) for name in value or ()]


def _cut(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
