"""The reference page of the models' options, made from their declarations.

``python -m tdo_plugin.models.option_page > docs/reference/model-options.md`` writes it, and a test
compares.
"""

from typing import Any, Literal, get_args, get_origin, get_type_hints

from tdo_plugin.models.config import FFN_DIM, OPTIONS, destination
from tdo_plugin.models.presets import PRESETS
from tdo_plugin.modules.declared_options import Option
from tdo_plugin.modules.spec import ModelSpec

HEAD = """# Options of the models

What `fairseq-train`, `tdo train` and `tdo describe` take for every `--arch` of this package. The
page is made from the declarations in `tdo_plugin/modules/spec.py`, by
`python -m tdo_plugin.models.option_page > docs/reference/model-options.md`.

| option | values | default | what it is | needs |
|---|---|---|---|---|
"""
KINDS = {int: "N", float: "X", bool: "a switch", str: "text", tuple: "names, comma-separated"}
NEEDS = {
    None: "",
    "languages": "target languages of the task",
    "pairs": "trained language pairs",
    "both languages": "both languages of every sentence",
}


def page() -> str:
    """The page, as Markdown."""
    kinds = get_type_hints(ModelSpec)
    rows = [_row(option, kinds[name]) for name, option in OPTIONS.items()]
    name, kind, text, default = FFN_DIM
    place = next(place for place, row in enumerate(rows) if "--tdo-stage1-ffn-dim" in row)
    flag = "--" + name.replace("_", "-")
    rows.insert(place, _row(Option(flag, f"{text}, where no stage has its own", default), kind))
    return HEAD + "\n".join(rows) + "\n"


def _row(option: Option, kind: Any) -> str:
    literal = get_origin(kind) is Literal
    values = ", ".join(get_args(kind)) if literal else KINDS[get_origin(kind) or kind]
    by_arch = any(destination(option.flag) in row for row in PRESETS.values())
    default = "of the `--arch`" if by_arch else "off" if kind is bool else str(option.default)
    cells = (f"`{option.flag}`", values, default, option.help, NEEDS[option.needs])
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    print(page(), end="")
