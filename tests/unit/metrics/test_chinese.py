"""Words of Chinese, and their undoing."""

# ruff: noqa: RUF001 (signs of full width)

import logging
import sys
import tempfile

import pytest

from tdo_plugin.metrics import chinese, moses

LINES = {  # as `python -m jieba -d ' '` cuts them, runs of spaces made one
    "我来到北京清华大学。": "我 来到 北京 清华大学 。",
    "他说：“GDP增长了3.5%，Hello world, my friend.”": (
        "他 说 ： “ GDP 增长 了 3.5% ， Hello world , my friend . ”"
    ),
    "在2016年，联合国(UN)通过了决议。": "在 2016 年 ， 联合国 ( UN ) 通过 了 决议 。",
    "": "",
}


@pytest.mark.parametrize("code", ["zh", "zh_CN", "cmn", "zho_Hans"])
def test_tokens_of_chinese_are_words_and_can_be_undone(code):
    assert moses.tokenize(LINES, code) == list(LINES.values())
    assert moses.detokenize(LINES.values(), code) == list(LINES)


def test_spaces_of_the_text_are_forgotten_but_between_latin_words():
    assert chinese.words(["\u3000全角\u3000 空格 GDP  and\tmore"]) == ["全角 空格 GDP and more"]
    for tokens, text in {
        "两 个 words of English 和 a list : x , y 。": "两个words of English和a list: x, y。",
        "only English here .": "only English here.",
        "他 说 &quot; 好 &quot; 。": '他说"好"。',  # escapes of Moses
    }.items():
        assert moses.detokenize([tokens], "zh") == [text]


def test_nothing_is_said_and_nothing_left_behind(tmp_path, monkeypatch, capfd, caplog):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    caplog.set_level(logging.DEBUG)
    chinese._segmenter.cache_clear()
    assert chinese.words(["北京"]) == ["北京"]
    assert not list(tmp_path.iterdir())
    assert not caplog.records and capfd.readouterr() == ("", "")


def test_a_missing_package_is_named(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "jieba", None)
    chinese._segmenter.cache_clear()
    with refused.raised("no package", names="pip install jieba"):
        moses.tokenize(["北京"], "zh")
