"""langdetect gives one answer a sentence: each time, in any order, on any file system."""

import random
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from support.covering import needs

from tdo_plugin.metrics.language_id import UNDETECTABLE, LangDetect

pytestmark = needs("langdetect")
# the first four are so short that other seeds give other languages
SENTENCES = [
    *("taxi hotel", "auto", "no water here", "Hallo Anna"),
    *("Der Hund sieht das weiße Haus.", "这是一个很长的句子。", "這是一個很長的句子。"),
    *("Det er ikke her.", "...", "", "ᏣᎳᎩ"),  # letters that none of the profiles has
]


@pytest.fixture(scope="module")
def identifier():
    return LangDetect()


def test_languages(identifier):
    identified = identifier.identify(SENTENCES)
    assert identified[4:] == ["de", "zh", "zh", "no", UNDETECTABLE, UNDETECTABLE, UNDETECTABLE]
    names = [identifier.label(code) for code in ("zh_CN", "zh-tw", "nb", "deu_Latn", "mn")]
    assert names == ["zh", "zh", "no", "de", None]


def test_it_is_langdetect_with_seed_0(identifier, monkeypatch):
    from langdetect import DetectorFactory, LangDetectException, detect

    assert DetectorFactory.seed is None  # the library's own state is left alone
    monkeypatch.setattr(DetectorFactory, "seed", 0)
    for sentence, code in zip(SENTENCES, identifier.identify(SENTENCES), strict=True):
        try:
            assert code == detect(sentence).split("-")[0]
        except LangDetectException:
            assert code == UNDETECTABLE
    assert identifier.signature == f"langdetect:{version('langdetect')}|seed:0"


def test_order_does_not_matter(identifier, monkeypatch):
    expected = dict(zip(SENTENCES, identifier.identify(SENTENCES), strict=True))
    shuffled = random.Random(3).sample(SENTENCES, len(SENTENCES)) * 2
    assert identifier.identify(shuffled) == [expected[sentence] for sentence in shuffled]
    # as a file system that lists its files backwards
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: reversed(sorted(listed(path))))
    assert LangDetect()._factory.langlist == identifier._factory.langlist


def test_without_the_package_it_says_what_to_install(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "langdetect", None)
    with refused.raised("no package", names="pip install langdetect"):
        LangDetect()
