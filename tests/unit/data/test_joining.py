"""Validation sets of pairs without training text, from two that share a language."""

from pathlib import Path

import pytest

from tdo_plugin.data.binarization import commands
from tdo_plugin.data.joining import join_valids
from tdo_plugin.data.textfolder import read_lines, read_text_folder

VALID = {
    "en-de": [("one", "eins"), ("two", "zwei"), (" two", "zwo"), ("", "leer"), ("four", "vier")],
    "en-fr": [("four ", "quatre"), ("two", "deux"), ("", "vide"), ("three", "trois")],
    "en-es": [("six", "seis")],
    "de-es": [("vier", "cuatro"), ("zwei", "dos")],
    "de-it": [("vier", "quattro"), ("zwei", "due"), ("eins", "uno")],
}


@pytest.fixture
def text(tmp_path):
    """Two hubs, en and de."""
    folder = tmp_path / "text"
    folder.mkdir()
    for pair, lines in VALID.items():
        for position, language in enumerate(pair.split("-")):
            side = "".join(f"{line[position]}\n" for line in lines)
            (folder / f"valid.{pair}.{language}").write_text(side)
            (folder / f"train.{pair}.{language}").write_text("a\n")
    return folder


def joined(text: Path, out: Path, least: int = 1) -> dict[tuple[str, str], list[tuple[str, ...]]]:
    files = dict(join_valids(read_text_folder(text), least, out))
    return {pair: [*zip(*map(read_lines, paths), strict=True)] for pair, paths in files.items()}


def test_lines_with_the_same_sentence_between_them_are_joined(text, tmp_path):
    assert joined(text, tmp_path) == {
        ("de", "fr"): [("zwei", "deux"), ("vier", "quatre")],
        # through German there are two lines, through English none
        ("es", "it"): [("cuatro", "quattro"), ("dos", "due")],
        ("it", "en"): [("quattro", "four"), ("due", "two"), ("uno", "one")],
    }
    written = sorted(path.name for path in tmp_path.glob("**/valid.es-it.*"))
    assert written == ["valid.es-it.es", "valid.es-it.it"]


def test_repeated_sentences_meet_in_their_order(text, tmp_path):
    (text / "valid.en-fr.en").write_text("two\ntwo\n\nthree\n")
    assert joined(text, tmp_path)["de", "fr"] == [("zwei", "quatre"), ("zwo", "deux")]


def test_a_set_may_name_its_pair_the_other_way_round(text, tmp_path):
    for language in ("en", "fr"):
        (text / f"valid.en-fr.{language}").rename(text / f"valid.fr-en.{language}")
    assert joined(text, tmp_path)["de", "fr"] == [("zwei", "deux"), ("vier", "quatre")]


def test_too_few_lines_and_pairs_with_their_own_set_are_left(text, tmp_path):
    for language in ("en", "it"):
        (text / f"valid.en-it.{language}").write_text("own\n")
    assert set(joined(text, tmp_path, 2)) == {("de", "fr"), ("es", "it")}
    assert not joined(text, tmp_path, 3)


def test_a_zero_shot_set_is_binarised_with_its_test_set(text, tmp_path):
    for language in ("de", "fr", "it"):
        (text / f"test.{language}").write_text("a\n")
    folder = read_text_folder(text)
    before = commands(folder, tmp_path, 1, folder.pairs)
    after = commands(folder, tmp_path, 1, [*folder.pairs, ("de", "fr"), ("en", "it")])
    changed = [words for words in after if words not in before]
    assert [words for words in before if words in after] == before[:5] + before[6:]
    assert [words[1::2][:4] for words in changed] == [
        ["de", "fr", f"{tmp_path}/pieces/test", f"{tmp_path}/pieces/valid.de-fr"],
        ["en", "it", f"{tmp_path}/pieces/valid.en-it", f"{tmp_path}/dict.txt"],
    ]
