"""Plain text to a model's form and back."""

import json

import pytest

from tdo_plugin.data.databin import MARK
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.textform import TextForm, read_text_form


def test_a_folder_that_says_nothing_has_plain_text(data):
    form = read_text_form(data.root)
    assert form == TextForm()
    assert form.prepare(["Ein Haus, rot."], "de") == ["Ein Haus, rot."]
    assert form.restore("▁Ein ▁Ha us , ▁rot .", "de") == "Ein Haus, rot."


@pytest.mark.parametrize(
    ("form", "prepared", "pieces", "restored"),
    [
        (TextForm("lowercased"), "the house, red.", "▁the ▁house ,", "the house,"),
        (
            TextForm("cased", "moses"),
            "The house , red .",
            "▁The ▁house ▁, ▁red ▁.",
            "The house, red.",
        ),
        (TextForm("lowercased", "moses"), "the house , red .", "▁the ▁cat ▁.", "the cat."),
        (TextForm("truecased", "moses"), "The house , red .", "▁the ▁house ▁.", "The house."),
    ],
    ids=str,
)
def test_there_and_back(form, prepared, pieces, restored):
    assert form.prepare(["The house, red."], "en") == [prepared]
    assert form.restore(pieces, "en") == restored


def test_the_folders_own_form_is_read(data):
    form = {"casing": "lowercased", "tokenization": "moses"}
    (data.root / MARK).write_text(json.dumps({"form": form}))
    assert read_text_form(data.root) == TextForm("lowercased", "moses")


@pytest.mark.parametrize("form", [{"casing": "upper"}, {"tokenization": "jieba"}, {"size": 1}, 3])
def test_an_unknown_form_is_refused(data, form):
    (data.root / MARK).write_text(json.dumps({"form": form}))
    with pytest.raises(UserError, match=r"`form` in .* must"):
        read_text_form(data.root)
