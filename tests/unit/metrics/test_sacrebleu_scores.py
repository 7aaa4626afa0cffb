"""BLEU, chrF++ and TER are SacreBLEU's, whether summed, pooled or asked for on the command line."""

import importlib.util
import json
import subprocess
import sys

import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from support.covering import needs

from tdo_plugin.errors import UserError
from tdo_plugin.metrics import moses
from tdo_plugin.metrics.sacrebleu_scores import looks_tokenized, text_metric, tokenizer_for
from tdo_plugin.metrics.statistics import pooled

ROWS = {  # hypotheses beside their references; some are empty, short, or right
    "en": [
        ("The small dog sees a cat .", "The small dog saw a cat."),
        ("Two birds sing today.", "Two birds sing today."),
        ("", "No."),
        ("He didn't pay $5.00 for it.", "He hasn't paid $5.00 for this!"),
    ],
    "de": [
        ("Der Hund Hat heute kein Wasser.", "Der Hund hat kein Wasser heute."),
        ("Das ist, wie man sagt, gut", "Das ist, wie man sagt, sehr gut."),
        ("Wir lesen", "Sie lesen Bücher."),
    ],
    "zh": [("今天天气非常好。", "今天天气很好。"), ("我们去公园吧", "我们一起去公园吧。")],
    "ja": [
        ("猫が魚を食べます。", "猫が魚を食べました。"),
        ("明日は雨です。", "明日は雨でしょう。"),
    ],
    "ko": [("나는 책을 읽는다.", "나는 책을 읽었다."), ("오늘 비가 온다.", "오늘은 비가 온다.")],
    "th": [("วันนี้อากาศดี", "วันนี้อากาศดีมาก"), ("แมวกินปลา", "แมวกำลังกินปลา")],
}
TEXT = {code: [list(side) for side in zip(*rows, strict=True)] for code, rows in ROWS.items()}
NEEDS = {"ja": needs("MeCab"), "ko": needs("mecab_ko")}


@pytest.mark.parametrize(
    ("key", "plain"), [("bleu", BLEU(force=True)), ("chrf", CHRF(word_order=2)), ("ter", TER())]
)
def test_pooled_test_sets_score_as_their_concatenation(key, plain):
    metric = text_metric(key, "de")
    whole = pooled([metric.statistics(*TEXT["en"]), metric.statistics(*TEXT["de"])])
    both = [first + second for first, second in zip(TEXT["en"], TEXT["de"], strict=True)]
    assert whole.score() == pytest.approx(plain.corpus_score(both[0], [both[1]]).score, abs=1e-10)


@pytest.mark.parametrize(
    "language", [pytest.param(language, marks=NEEDS.get(language, ())) for language in TEXT]
)
def test_scores_and_signatures_are_those_of_the_sacrebleu_command(tmp_path, language):
    hypotheses, references = TEXT[language]
    paths = [tmp_path / "hyp", tmp_path / "ref"]
    for path, lines in zip(paths, (hypotheses, references), strict=True):
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    flags = ["--ter-normalized", "--ter-asian-support"] if language in ("zh", "ja") else []
    command = [sys.executable, "-m", "sacrebleu", str(paths[1]), "-i", str(paths[0]), "-w", "10"]
    command += ["-m", "bleu", "chrf", "ter", "--chrf-word-order", "2"]
    command += ["--tokenize", tokenizer_for(language), *flags]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    results = json.loads(shown.stdout)
    for key, row in zip(("bleu", "chrf", "ter"), results, strict=True):
        metric = text_metric(key, language)
        score = metric.statistics(hypotheses, references).score()
        assert score == pytest.approx(row["score"], abs=1e-9) and score > 0
        assert metric.signature == f"{row['name']}|{row['signature']}"


def test_lowercasing_is_shown_and_makes_case_irrelevant():
    hypotheses, references = ["The DOG saw a Cat."], ["the dog saw a cat."]
    for key in ("bleu", "chrf", "ter"):
        metric = text_metric(key, "en", lowercase=True)
        score = metric.statistics(hypotheses, references).score()
        assert score == pytest.approx(0 if key == "ter" else 100)
        assert "|case:lc|" in metric.signature
    for key in ("bleu", "chrf"):
        assert text_metric(key, "en").statistics(hypotheses, references).score() < 90


def test_moses_tokens_are_scored_as_they_are():
    hypotheses, references = TEXT["en"]
    tokens = [moses.tokenize(lines, "en") for lines in (hypotheses, references)]
    for key, plain in (("bleu", BLEU(tokenize="none", force=True)), ("ter", TER())):
        metric = text_metric(key, "en", "moses")
        score = metric.statistics(hypotheses, references).score()
        assert score == pytest.approx(plain.corpus_score(tokens[0], [tokens[1]]).score, abs=1e-10)
        assert score != pytest.approx(plain.corpus_score(hypotheses, [references]).score)
        assert "|tok:moses-en-sacremoses-" in metric.signature
    assert text_metric("chrf", "en", "moses").signature == text_metric("chrf", "en").signature


def test_a_named_tokenizer_holds_for_every_language():
    hypotheses, references = TEXT["zh"]
    metric = text_metric("bleu", "zh", "13a")
    expected = sacrebleu.corpus_bleu(hypotheses, [references], tokenize="13a").score
    assert metric.statistics(hypotheses, references).score() == pytest.approx(expected)
    assert "|tok:13a|" in metric.signature
    assert "|asian:no|" in text_metric("ter", "zh", "13a").signature


@pytest.mark.parametrize("language", ["ja", "ko"])
@pytest.mark.parametrize("tokenizer", ["language", "zh-ja-ko"])
def test_no_tokenizer_stands_in_for_a_missing_one(language, tokenizer, monkeypatch, refused):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with refused.raised("by language", names=f"{language}-mecab "):
        text_metric("bleu", language, tokenizer)
    with refused.raised("by name", names="sacrebleu[ko]"):
        text_metric("bleu", "en", "ko-mecab")
    # what the message recommends, and metrics that need no words
    assert "|tok:char|" in text_metric("bleu", language, "char").signature
    for key in ("chrf", "ter"):
        text_metric(key, language, tokenizer)
    for code, name in (("zh", "zh"), ("th", "13a")):
        assert f"|tok:{name}|" in text_metric("bleu", code, "zh-ja-ko").signature


@pytest.mark.parametrize(
    ("codes", "tokenizer"),
    [
        ("zh zh_CN zh_Hans zho_Hans zho cmn yue yue_Hant wuu zh-yue", "zh"),
        pytest.param("ja ja_XX jpn_Jpan", "ja-mecab", marks=NEEDS["ja"]),
        pytest.param("ko kor_Hang", "ko-mecab", marks=NEEDS["ko"]),
        ("th tha_Thai km khm_Khmr my mya_Mymr lo lao_Laoo bo bod_Tibt shn_Mymr", "char"),
        ("de deu_Latn pt_BR en eng_Latn yo nan_Latn", "13a"),
    ],
)
def test_a_language_has_one_tokenizer_under_every_code(codes, tokenizer):
    assert {tokenizer_for(code) for code in codes.split()} == {tokenizer}
    asian = "yes" if tokenizer in ("zh", "ja-mecab") else "no"
    of_three = "13a" if tokenizer == "char" else tokenizer
    for code in codes.split():
        for name, expected in (("language", tokenizer), ("zh-ja-ko", of_three)):
            assert f"|tok:{expected}" in text_metric("bleu", code, name).signature
            assert f"|asian:{asian}|" in text_metric("ter", code, name).signature


def test_unknown_tokenizers_and_those_that_would_fetch_a_model_are_refused(
    tmp_path, monkeypatch, refused
):
    with pytest.raises(UserError, match=r"`--tokenizer` must be one of language, .*; it is 14b"):
        text_metric("ter", "en", "14b")
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(tmp_path))
    with refused.raised("flores200", names="flores200"):
        text_metric("bleu", "en", "flores200")


@pytest.mark.parametrize(("hypotheses", "references"), [(["a"], ["a", "b"]), ([], [])])
def test_counts_must_be_equal_and_not_zero(hypotheses, references):
    count = rf"{len(hypotheses)} hypotheses for {len(references)} references"
    with pytest.raises(ValueError, match=count):
        text_metric("bleu", "en").statistics(hypotheses, references)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["The dog , which is small , sleeps ."], True),
        (["Il dort .", "C'est vrai.", "L&apos; eau est froide"], True),
        (["a well @-@ known dog"], True),
        (["« Est-ce vrai ? » ; oui : « C'est vrai ! »", "Oui, je crois.", "1 000,5 euros."], False),
        (["The dog, which is small, sleeps.", "One line is tokenized , by mistake ."], False),
        (["Well ... I see .5 of it", "no signs at all"], False),
        (["今天天气很好。"], False),
        ([], False),
    ],
)
def test_tokenized_references_are_noticed(lines, expected):
    assert looks_tokenized(lines) is expected
