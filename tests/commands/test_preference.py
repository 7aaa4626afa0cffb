"""`tdo preference` on models trained here."""

import functools
from pathlib import Path

import pytest
import torch
from support.commands import csv_rows, told
from support.covering import one_in
from support.data import ENCODER_DECODER, INSTRUCL
from support.prepared import TEST_SENTENCES, prepared, trained

from tdo_plugin.analysis.preference.pooled import pooled_outputs
from tdo_plugin.analysis.preference.similarity import forms
from tdo_plugin.data.parallel import parallel_lines
from tdo_plugin.evaluation.inspected_model import Cut, EvalModel, Sampling

SHORT = ("--max-update", "2")
ONE_STAGE = ("--tdo-target-layer", "0", "--tdo-adaptation-dim", "0")
PLAIN_ENCODER_DECODER = (*ENCODER_DECODER, "--tdo-adaptation-dim", "0")


@functools.cache
def checkpoint(*flags: str) -> Path:
    return trained(*SHORT, *flags)


@pytest.fixture
def preference(capsys, tmp_path):
    """The command, into the folder `out`."""

    def run(*words: object) -> tuple[str, str]:
        flags = ["--cpu", "--data", prepared().root, "--out", tmp_path / "out", *words]
        return told(capsys, "preference", *flags)

    return run


def test_two_models_and_every_file(preference, tmp_path):
    out = tmp_path / "out"
    paths = (f"tdo={checkpoint()}", f"ed={checkpoint(*PLAIN_ENCODER_DECODER)}")
    printed, errors = preference("--path", *paths, "--pairs", "all", "--variance", "0.9")
    pictures = {f"{form}{end}" for form in ("sentence", "svcca") for end in (".png", ".svg")}
    files = {*pictures, "pairs.csv", "layers.csv"}
    assert {path.name for path in out.iterdir()} == files
    assert all(str(out / name) in printed for name in files)
    assert "tdo: 3 layers, 6 pairs" in errors and "ed: 2 layers, 6 pairs" in errors
    assert f"Over 6 pairs, {TEST_SENTENCES} sentences; " in printed
    assert "warning: few sentences for so many dimensions" in printed
    pairs = csv_rows(out / "pairs.csv")
    assert len(pairs) == 6 * 2 * (3 + 2)
    assert {row["pair"] for row in pairs} == set(prepared().test_directions)
    layers = csv_rows(out / "layers.csv")
    assert [(row["model"], row["layer"]) for row in layers if row["form"] == "svcca"] == [
        *(("tdo", layer) for layer in "123"),
        *(("ed", layer) for layer in "12"),
    ]
    for row in layers:
        scores = {
            pair_row["pair"]: float(pair_row["score"])
            for pair_row in pairs
            if all(pair_row[name] == row[name] for name in ("model", "layer", "form"))
        }
        assert float(row["mean"]) == pytest.approx(sum(scores.values()) / 6)
        assert float(row["lowest"]) == min(scores.values()) == scores[row["lowest_pair"]]
        assert float(row["highest"]) == max(scores.values()) == scores[row["highest_pair"]]
        assert 0 < min(scores.values()) < max(scores.values()) < 1
        assert f"{row['lowest_pair']} {float(row['lowest']):.3f}" in printed


OTHERS = {
    "prefix": ONE_STAGE,
    "causal": (*ONE_STAGE, "--tdo-source-attention", "causal"),
    "pre-norm": ("--tdo-norm", "pre"),
    "InstruCL": INSTRUCL,
    "language-aware": ("--tdo-laln", "both", "--tdo-lalt", "xavier"),
    "tags on both sides": ("--decoder-langtok",),
}


@pytest.mark.parametrize("name", one_in(3, OTHERS, 1))
def test_other_models(preference, tmp_path, name):
    words = ("--path", checkpoint(*OTHERS[name]), "--form", "sentence", "--no-figures")
    printed, _ = preference(*words)
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"layers.csv", "pairs.csv"}
    assert "SVCCA" not in printed
    rows = csv_rows(tmp_path / "out" / "pairs.csv")
    assert [(row["layer"], row["pair"]) for row in rows] == [
        (layer, pair) for pair in ("de-fr", "fr-de") for layer in "123"
    ]


def test_the_same_numbers_whatever_the_batches(preference, tmp_path):
    scores = []
    for tokens in ("8000", "40"):
        words = ("--path", checkpoint(), "--form", "sentence", "--max-tokens", tokens)
        preference(*words, "--no-figures")
        scores.append([float(row["score"]) for row in csv_rows(tmp_path / "out" / "pairs.csv")])
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)


def test_the_numbers_are_those_of_three_readings(preference, tmp_path):
    preference("--path", checkpoint(), "--variance", "0.8", "--no-figures")
    model = EvalModel(checkpoint(), prepared(), torch.device("cpu"))
    lines = parallel_lines(prepared(), "test")

    def states(language: str, tag: str) -> list[torch.Tensor]:
        """Of each sentence, read alone."""
        means = []
        for line in lines[language]:
            ((_, tokens, languages),) = model.readings(f"{language}-{tag}", [line], 256, 8000)
            means.append(model.core.encode(tokens, [3], languages).layer_outputs[3][0].mean(0))
        return means

    rows = csv_rows(tmp_path / "out" / "pairs.csv")
    found = {
        row["form"]: [float(row[name]) for name in ("rho_source", "rho_target", "score")]
        for row in rows
        if (row["pair"], row["layer"]) == ("de-fr", "3")
    }

    real, source, target = states("de", "fr"), states("de", "de"), states("fr", "fr")

    def rho(*two: torch.Tensor) -> float:
        return float(torch.corrcoef(torch.stack(two))[0, 1].abs())

    rhos = [[*map(rho, real, identity)] for identity in (source, target)]
    scores = [y / (y + x) for x, y in zip(*rhos, strict=True)]
    expected = [sum(values) / TEST_SENTENCES for values in (*rhos, scores)]
    assert found["sentence"] == pytest.approx(expected, abs=1e-5)
    assert expected[0] < 0.9999  # it does depend on the tag
    svcca = forms(0.8)["svcca"]
    basis, *identities = (svcca.prepare(torch.stack(each)) for each in (real, source, target))
    x, y = (float(svcca.similarity(basis, identity)) for identity in identities)
    assert found["svcca"] == pytest.approx([x, y, y / (y + x)], abs=1e-4)
    assert y < x < 0.9999


def test_long_sentences_are_left_out_of_all_languages(preference, tmp_path):
    lines = parallel_lines(prepared(), "test", ["de", "fr"])
    longest = sorted(
        max(len(sentence.split()) for sentence in same) + 2
        for same in zip(*lines.values(), strict=True)
    )
    middle = longest[TEST_SENTENCES // 2]
    words = ("--path", checkpoint(), "--langs", "de,fr", "--form", "sentence", "--no-figures")
    for limit in (middle, middle - 1):
        printed, _ = preference(*words, "--longest", limit)
        count = sum(length <= limit for length in longest)
        assert 1 < count < TEST_SENTENCES and f", {count} sentences; " in printed
        assert all(float(row["score"]) > 0 for row in csv_rows(tmp_path / "out" / "pairs.csv"))


def test_through_the_hub(preference, tmp_path):
    """The validation sets are of pairs, and have their English lines in common."""
    words = ("--path", checkpoint(), "--split", "valid", "--form", "sentence", "--no-figures")
    printed, _ = preference(*words)
    assert "Over 2 pairs, 6 sentences; " in printed
    printed, _ = preference(*words, "--sentences", "4", "--pairs", "supervised")
    assert "Over 4 pairs, 4 sentences; " in printed


def test_readings_have_the_tokens_of_the_sets_batches():
    """What is read of a direction with a test set is what a batch of that set has."""
    model = EvalModel(checkpoint(), prepared(), torch.device("cpu"))
    lines = parallel_lines(prepared(), "test")["fr"]

    def sources(batches):
        rows = [(n, row) for ns, tokens, _ in batches for n, row in zip(ns, tokens, strict=True)]
        return {int(number): row[row != 1].tolist() for number, row in rows}

    read = sources(model.readings("fr-de", lines, 256, 100))
    expected = sources(model.batches("fr-de", Cut("test"), Sampling(None, 256, 1)))
    assert read == expected and len(read) == TEST_SENTENCES


def test_the_identity_reading_is_in_the_language_of_the_sentence():
    """Its tag, and the rows of language-aware parts."""
    path = checkpoint("--tdo-laln", "both", "--tdo-lalt", "xavier")
    model = EvalModel(path, prepared(), torch.device("cpu"))
    lines = parallel_lines(prepared(), "test")["fr"]
    means = {}
    for tag, number in (("fr", 2), ("de", 1)):
        batches = list(model.readings(f"fr-{tag}", lines, 256, 60))
        assert len(batches) > 1
        for _, tokens, languages in batches:
            tags = {model.symbols[token] for token in tokens.max(1).values.tolist()}
            assert tags == {f"__{tag}__"}
            assert languages.target.tolist() == languages.norm.tolist() == [number] * len(tokens)
        means[tag] = pooled_outputs(model.core, batches, [3], len(lines))[3]
    assert not torch.allclose(means["fr"], means["de"], atol=1e-3)


def test_mistakes_leave_nothing(refused, tmp_path):
    state = torch.load(checkpoint(), map_location="cpu", weights_only=False)
    (name, *_) = [name for name in state["model"] if ".layers.1." in name and "weight" in name]
    state["model"][name].fill_(float("nan"))
    torch.save(state, tmp_path / "nan.pt")
    refused.rows(
        """
        preference --cpu --data {data} --out {out} --path
            {path} --langs de,es     :: es
            {path} --pairs de-es         :: de-es
            {path} --langs en,de     :: --pairs
            {path} --longest 3           :: --longest
            {path} --variance 1          :: --sentences
            {path} --out {data}          :: --out
            {nan}                        :: finite
            {source_tag}                 :: --path
            {replaced}                   :: --path
        """,
        data=prepared().root,
        out=tmp_path / "out",
        path=checkpoint(),
        nan=tmp_path / "nan.pt",
        source_tag=checkpoint("--encoder-langtok", "src", "--decoder-langtok"),
        replaced=checkpoint("--decoder-langtok", "--lang-tok-replacing-bos-eos"),
    )
