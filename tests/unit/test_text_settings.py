"""What options say of a text's way into a model: read, compared, put back."""

from argparse import Namespace
from pathlib import Path

import pytest
from support.data import generation

from tdo_plugin import text_settings as text
from tdo_plugin.errors import UserError

USUAL = {
    "encoder_langtok": None,
    "decoder_langtok": None,
    "lang_tok_style": "multilingual",
    "lang_tok_replacing_bos_eos": False,
    "langtoks_specs": ["main"],
    "left_pad_source": True,
    "left_pad_target": False,
    "source_noise": "none",
    "back_translated_tag": None,
}


def state(remembered=None, **options):
    """A checkpoint, as far as its text goes."""
    task = {"lang_pairs": ["de-en", "en-fr"], "lang_tok_style": "multilingual", **options}
    return {"cfg": {"task": Namespace(**task)}, "task_state": remembered}


def test_options_that_are_not_there_have_fairseqs_usual_values():
    words = "--task tdo_translation --lang-pairs en-de -s en -t de"
    for args in (Namespace(), generation(*words.split())[0]):
        assert text.settings_of(args) == USUAL


@pytest.mark.parametrize(
    ("options", "tags"),
    [
        ({"encoder_langtok": "src"}, ("src", None)),
        ({"encoder_langtok": "tgt", "decoder_langtok": True}, ("tgt", "tgt")),
        ({"encoder_langtok": "src", "langtoks": {"main": ("tgt", "tgt")}}, ("tgt", "tgt")),
        ({"encoder_langtok": "src", "langtoks": {"mined": ("tgt", "tgt")}}, ("src", None)),
        ({"decoder_langtok": True, "langtoks": {"main": (None, None)}}, (None, None)),
    ],
)
def test_tags_are_those_that_fairseq_puts(options, tags):
    settings = text.settings_of(Namespace(**options))
    assert (settings["encoder_langtok"], settings["decoder_langtok"]) == tags
    again = Namespace()
    text.apply(settings, again)
    assert text.settings_of(again) == settings
    assert again.langtoks == {"main": tags}


@pytest.mark.parametrize(
    ("value", "side"), [(True, True), ("True", True), ("False", False), ("1", True), (0, False)]
)
def test_sides_of_padding(value, side):
    settings, args = text.settings_of(Namespace(left_pad_source=value)), Namespace()
    assert settings["left_pad_source"] is side
    text.apply(settings, args)  # as text, which fairseq reads
    assert (args.left_pad_source, args.left_pad_target) == (str(side), "False")


def test_what_cannot_be_read_is_never_run(refused):
    for options in (
        {"left_pad_source": "__import__('os').system('true') or True"},
        {"langtoks": {"main": "tgt"}},
        {"langtoks": {"main": ("tgt", 1)}},
        {"langtoks": "tgt"},
        {"lang_tok_style": "spam"},
    ):
        (name,) = options
        with refused.raised(str(options), names=f"`--{name.replace('_', '-')}` must"):
            text.settings_of(Namespace(**options))


def test_a_message_is_short_whatever_the_checkpoint_holds(refused):
    with refused.raised("a long value", names="--source-noise") as line:
        text.check_settings({"source_noise": "none"}, {"source_noise": "x\n" * 10**6})
    assert len(line[0]) < 400


def test_what_one_of_them_lacks_is_not_compared():
    text.check_settings({"encoder_langtok": "src"}, {"later": 1})
    text.check_settings({"later": 1}, {"encoder_langtok": "src"}, "")


def test_languages_by_every_way_to_give_them(tmp_path):
    file = tmp_path / "langs.txt"
    file.write_text("fr\nen\n\n de\n", encoding="utf-8")
    assert text.languages_of(state()) == ["de", "en", "fr"]
    assert text.languages_of(state(lang_dict=str(file))) == ["fr", "en", "de"]
    assert text.languages_of(state(langs="fr,de,en")) == ["fr", "de", "en"]
    file.unlink()
    assert text.languages_of(state({"languages": ["en", "fr", "de"]}, lang_dict=str(file))) == [
        *("en", "fr", "de")
    ]
    with pytest.raises(UserError, match=r"langs.txt`, must still exist as text"):
        text.languages_of(state(lang_dict=str(file)))


def test_a_converted_model_is_of_no_fixed_languages():
    converted = state({"source_dictionary": "0" * 16}, langs=["de", "en", "fr"])
    assert text.fixed_languages(converted) is None
    assert text.fixed_languages(state()) == text.languages_of(converted) == ["de", "en", "fr"]


def test_other_checkpoints_have_no_such_text():
    assert not text.is_multilingual({"cfg": {"task": Namespace(source_lang="de")}})
    assert not text.is_multilingual({})
    assert text.is_multilingual({"args": Namespace(lang_tok_style="mbart", lang_pairs="en-de")})


def test_members_of_an_ensemble(refused):
    text.check_members({Path("a.pt"): state(), Path("b.pt"): state(left_pad_source="True")})
    for name, value in (
        ("encoder_langtok", "tgt"),
        ("left_pad_source", "False"),
        ("langs", ["en", "de", "fr"]),
    ):
        with refused.raised(name, names=f"`--{name.replace('_', '-')}` is "):
            text.check_members({Path("a.pt"): state(), Path("b.pt"): state(**{name: value})})
