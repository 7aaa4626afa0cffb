"""The reference page of the models' options is that of their declarations."""

from pathlib import Path

from tdo_plugin.models.config import TdoConfig
from tdo_plugin.models.option_page import page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "model-options.md"


def test_the_page_is_up_to_date():
    """If not: python -m tdo_plugin.models.option_page > docs/reference/model-options.md"""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_option_is_in_it():
    names = set(TdoConfig.__dataclass_fields__) - {"_name"}
    flags = {"--" + name.replace("_", "-") for name in names}
    assert len(flags) > 25
    assert {flag for flag in flags if f"| `{flag}` |" not in page()} == set()
