"""Scores equal SacreBLEU's own functions, with the tokeniser that a language needs."""

import importlib.util

import pytest
import sacrebleu

from tdo_plugin.evaluation.scoring import score, tokenizer_for

HYPOTHESES = ["the small dog sees a cat .", "two birds sing today"]
REFERENCES = ["the small dog saw a cat.", "two birds sing today"]


def test_scores_are_sacrebleus() -> None:
    result = score(HYPOTHESES, REFERENCES, "en")
    assert result.bleu == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score)
    chrf = sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES], word_order=2).score
    assert result.chrf == pytest.approx(chrf)
    assert "tok:13a" in result.bleu_signature
    assert "nw:2" in result.chrf_signature


def test_text_without_spaces_is_scored_by_smaller_units() -> None:
    hypotheses, references = ["猫が魚を食べます。"], ["猫が魚を食べました。"]
    result = score(hypotheses, references, "ja")
    assert 10 < result.bleu < 95
    assert f"tok:{tokenizer_for('ja')}" in result.bleu_signature
    assert score(hypotheses, references, "de").bleu < result.bleu


def test_tokenizers_follow_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (tokenizer_for("de"), tokenizer_for("zh"), tokenizer_for("zh_CN")) == ("13a", "zh", "zh")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert (tokenizer_for("ja"), tokenizer_for("ko")) == ("char", "char")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert (tokenizer_for("ja"), tokenizer_for("ko")) == ("ja-mecab", "ko-mecab")


def test_unequal_lengths_are_an_error() -> None:
    with pytest.raises(ValueError, match="1 hypotheses for 2 references"):
        score(HYPOTHESES[:1], REFERENCES, "en")
