"""What text passes through on its way into a model, as the options of its training say it.

A checkpoint holds these options, and a model is of use only to text that comes the same way. Here
they are read from options, compared, and put back; ``tasks/checkpoint_options.py`` does so for a
command line, ``evaluation/decoding/loading.py`` for ``tdo``.
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

SIDES = ("encoder_langtok", "decoder_langtok")  # with which tags a source and a target begin
STYLES = ("multilingual", "mbart")
LONGEST = 200  # characters of a value in a message
# the history of a converted model: what fairseq asks of a checkpoint, trained or not
NOTHING_TRAINED = {"optimizer_name": "none", "lr_scheduler_state": {}, "num_updates": 0}


def settings_of(args: Namespace) -> Settings:
    """What options say of a text's way, by option.

    Of ``SIDES`` it is what ``--langtoks`` says, if that says anything of sentence pairs. Options
    that older checkpoints lack are as they were before there were any.

    Raises:
        UserError: on a style of tags that there is not, or other values that fairseq cannot read.
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
    """Let options say all of these settings, for whichever of fairseq's ways to read them."""
    for name, value in settings.items():
        # fairseq takes the sides of padding as text and would read True as False
        setattr(args, name, str(value) if name.startswith("left_pad") else value)
    source, target = (settings[name] for name in SIDES)
    args.decoder_langtok = target is not None
    args.langtoks = {**(getattr(args, "langtoks", None) or {}), "main": (source, target)}


def check_settings(current: Settings, stored: Settings, hint: str = "") -> None:
    """Hold settings against those of a checkpoint; what one of them lacks is not compared.

    Raises:
        UserError: on the first that differs; ``hint`` ends its line.
    """
    for name, value in stored.items():
        if current.get(name, value) != value:
            raise UserError(
                f"`--{name.replace('_', '-')}` must be the checkpoint's, {shown(value)}; "
                f"it is {shown(current[name])}{hint}"
            )


def check_members(members: Mapping[Path, State]) -> None:
    """Hold the checkpoints of an ensemble against the first: all of them read the same text.

    Raises:
        UserError: on the first that differs from it.
    """
    (first, state), *others = members.items()
    expected = {**settings_of(task_options(state)), "langs": fixed_languages(state)}
    for path, other_state in others:
        actual = {**settings_of(task_options(other_state)), "langs": fixed_languages(other_state)}
        for name, value in expected.items():
            free = name == "langs" and None in (value, actual[name])
            if actual[name] != value and not free:
                raise UserError(
                    "`--path` must name checkpoints whose text was made alike; "
                    f"`--{name.replace('_', '-')}` is {shown(value)} for {first}, "
                    f"{shown(actual[name])} for {path}"
                )


def task_options(state: State) -> Namespace:
    """The options of the task that trained a checkpoint; none where it holds none."""
    cfg = state.get("cfg") or {}
    options = cfg.get("task") if cfg else state.get("args")
    if isinstance(options, Namespace):
        return options
    return Namespace(**options) if isinstance(options, Mapping) else Namespace()


def is_multilingual(state: State) -> bool:
    """Whether fairseq's multilingual task or one that is built on it trained a checkpoint."""
    options = task_options(state)
    return hasattr(options, "lang_tok_style") and bool(getattr(options, "lang_pairs", None))


def is_converted(state: State) -> bool:
    """Whether it is what `tdo convert` wrote, which nothing has trained since."""
    history = state.get("optimizer_history") or ()
    trained_by = [part.get("optimizer_name") for part in history]
    return trained_by == [NOTHING_TRAINED["optimizer_name"]]


def pairs_of(state: State) -> list[str]:
    """The directions that a checkpoint was trained on."""
    return _names(task_options(state).lang_pairs)


def fixed_languages(state: State) -> list[str] | None:
    """The languages of a checkpoint where they and their order must stay; else None.

    A converted model, which remembers its dictionary alone, may be used with any of its languages.

    Raises:
        UserError: as :func:`languages_of`.
    """
    remembered = state.get("task_state") or {}
    if remembered and "languages" not in remembered:
        return None
    return languages_of(state)


def languages_of(state: State) -> list[str]:
    """The languages of a checkpoint of a multilingual task, in the order of their tags.

    Raises:
        UserError: they stand in a file alone, which is gone.
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
                "the list of languages that the checkpoint was trained with, `--lang-dict "
                f"{_cut(file)}`, must be a text file that is still there; it is not"
            ) from None
        return [line.strip() for line in lines if line.strip()]
    # as fairseq does where it is told no languages
    return sorted({language for pair in pairs_of(state) for language in pair.split("-")})


def shown(value: Any) -> str:
    """A setting in a message, as it would be given."""
    words = {None: "none", True: "on", False: "off"}
    if isinstance(value, list):
        return _cut(",".join(map(str, value)))
    return words[value] if value is None or isinstance(value, bool) else _cut(value)


def _tags(args: Namespace) -> tuple[Any, Any]:
    """What a source and a target begin with, such as `tgt`; None for nothing."""
    langtoks = getattr(args, "langtoks", None) or {}
    main = langtoks.get("main") if isinstance(langtoks, Mapping) else langtoks
    if main is not None:
        tags = main if isinstance(main, list | tuple) else ()
        if len(tags) != 2 or not all(tag is None or isinstance(tag, str) for tag in tags):
            raise UserError(
                "`--langtoks` must say with which tags a source and a target begin, such as "
                f"{{'main': ('tgt', None)}}; it is {_cut(langtoks)}"
            )
        return tags[0] or None, tags[1] or None
    target = "tgt" if getattr(args, "decoder_langtok", False) else None
    return getattr(args, "encoder_langtok", None) or None, target


def _side(args: Namespace, name: str, usual: bool) -> bool:
    """Whether padding stands on the left; fairseq would run the text that says so."""
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
            f"a checkpoint's languages and directions must be lists of names; one is {shown(value)}"
        )
    return [str(name) for name in value or ()]


def _cut(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
