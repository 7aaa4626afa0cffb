"""Plain text to a model's form and back."""

import json

import pytest

from tdo_plugin.data.databin import MARK
from tdo_plugin.metrics.textform import TextForm, read_text_form, truecaser
from tdo_plugin.metrics.truecasing import train_truecaser


def test_a_folder_that_says_nothing_has_plain_text(data):
    form = read_text_form(data.root)
    assert form == TextForm()
    assert form.prepare(["Ein Haus, rot."], "de") == ["Ein Haus, rot."]
    assert form.restore("▁Ein ▁Ha us , ▁rot .", "de") == "Ein Haus, rot."


@pytest.mark.parametrize(
    ("form", "prepared", "pieces", "restored"),
    [
        (("lowercased",), "the house, red.", "▁the ▁house ,", "the house,"),
        (("cased", "moses"), "The house , red .", "▁The ▁house ▁, ▁red ▁.", "The house, red."),
        (("lowercased", "moses"), "the house , red .", "▁the ▁cat ▁.", "the cat."),
        (("truecased", "moses"), "The house , red .", "▁the ▁house ▁.", "The house."),
    ],
)
def test_there_and_back(form, prepared, pieces, restored):
    assert TextForm(*form).prepare(["The house, red."], "en") == [prepared]
    assert TextForm(*form).restore(pieces, "en") == restored


def test_all_steps_of_a_corpus_are_done_to_plain_text(tmp_path):
    (tmp_path / "text").write_text("- a house of John\n")
    train_truecaser([tmp_path / "text"], truecaser(tmp_path, "en"))
    form = TextForm("truecased", "moses", normalize_punctuation=True, aggressive_hyphens=True)
    tokens = "house of John : &quot; Well @-@ known . &quot;"
    assert form.prepare(["HOUSE of john: “Well-known”."], "en", tmp_path) == [tokens]
    assert form.prepare(["The House"], "de", tmp_path) == ["The House"]
    cased = TextForm("cased", "moses")
    assert cased.prepare(["HOUSE of john"], "en", tmp_path) == ["HOUSE of john"]


@pytest.mark.parametrize(
    ("language", "plain", "tokens"),  # the tokens are those of tokenizer.perl
    [
        ("zh", "他写《红楼梦》。很好", "他写 《 红楼梦 》 。 很好"),
        ("ja", "「デリック・K」と言いました。", "「 デリック ・ K 」 と言いました 。"),
        ("ko", "책 「가」를 썼습니다. 나", "책 「 가 」 를 썼습니다 . 나"),
        ("en", 'It\'s "red".', "It &apos;s &quot; red &quot; ."),
    ],
)
def test_plain_text_becomes_what_the_source_made_of_its_own(language, plain, tokens):
    form = TextForm("cased", "moses", tokenized_at_source=True)
    assert form.prepare([plain], language) == [tokens]
    (restored,) = form.plain([tokens], language)
    assert restored.replace(" ", "") == plain.replace(" ", "")
    assert language != "zh" or restored == plain


@pytest.mark.parametrize(
    "form",
    [
        TextForm(),
        TextForm("lowercased", "moses"),
        TextForm("truecased", "moses", aggressive_hyphens=True),
        TextForm("cased", "none", normalize_punctuation=True),
        TextForm("cased", "moses", tokenized_at_source=True),
    ],
    ids=str,
)
def test_a_stored_form_is_read_again(data, form):
    (data.root / MARK).write_text(json.dumps({"form": form.stored()}))
    assert read_text_form(data.root) == form
    # as before there were flags
    stored = {"casing": "lowercased", "tokenization": "moses"}
    assert (form.stored() == stored) == (form == TextForm("lowercased", "moses"))


def test_an_unknown_form_is_refused(data, refused):
    wrong = [{"casing": "upper"}, {"tokenization": "jieba"}, {"size": 1}, 3]
    for form in (*wrong, {"aggressive_hyphens": "yes"}):
        (data.root / MARK).write_text(json.dumps({"form": form}))
        with refused.raised(f"{form}", names="`form` in "):
            read_text_form(data.root)


@pytest.mark.parametrize(
    ("form", "tokenizes", "named"),
    [
        (TextForm("lowercased"), False, 0),
        (TextForm("cased", "moses"), True, 2),
        (TextForm("cased", "none", normalize_punctuation=True), True, 0),
        (TextForm("cased", "moses", tokenized_at_source=True), False, 0),
    ],
)
def test_what_is_done_to_the_sources_text(form, tokenizes, named):
    assert form.tokenizes == tokenizes
    names = form.tokenizers(["de", "zh"])
    assert len(names) == named
    assert [name.split("-")[0] for name in names] == ["moses", "jieba"][:named]
