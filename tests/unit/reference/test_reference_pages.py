"""The generated pages of docs/reference are those of today's declarations."""

import pytest

from tdo_plugin.models.config import TdoConfig
from tdo_plugin.reference import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_each_page_is_up_to_date(name):
    page = (FOLDER / name).read_text(encoding="utf-8")
    assert page == PAGES[name](), "run `python -m tdo_plugin.reference` and commit what it wrote"


def test_every_model_option_has_a_row():
    names = set(TdoConfig.__dataclass_fields__) - {"_name"}
    flags = {"--" + name.replace("_", "-") for name in names}
    page = (FOLDER / "model-options.md").read_text(encoding="utf-8")
    assert len(flags) > 25
    assert {flag for flag in flags if f"| `{flag}` |" not in page} == set()
