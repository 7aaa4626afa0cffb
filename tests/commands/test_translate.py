"""`tdo translate` against `fairseq-generate`, on a model trained here."""

import json
import math

import pytest
from support.commands import command, hypotheses, scores
from support.covering import mostly_full
from support.data import CROSS_ENTROPY, TAG, TDO, TRAIN, built, generate, iterate
from support.prepared import LARGER, TASK, TEST_SENTENCES, prepared, trained
from support.translating import lines, translator_of

from tdo_compat.checkpoint import safe_load
from tdo_plugin.data.segmentation import join_pieces, load_model
from tdo_plugin.evaluation.decoding import decoded_checkpoints, translator
from tdo_plugin.evaluation.decoding.early_stop import EarlyStop

SHORT = 20  # at most, since hypotheses of a model that has hardly learnt do not end
STOPPED = ("--max-len-b", str(SHORT))


def generated(direction, *flags, path=None, task="tdo_translation"):
    """Hypotheses and scores of fairseq-generate."""
    source, target = direction.split("-")
    output = generate(
        *("--task", task, *TASK, *TAG, "-s", source, "-t", target, "--gen-subset", "test"),
        *("--path", path or trained(), "--beam", "4", *flags),
        data=prepared().root,
    )
    texts, weights = hypotheses(output), scores(output)
    order = range(TEST_SENTENCES)
    return [join_pieces(texts[number]) for number in order], [weights[number] for number in order]


def translations(direction, *paths, **options):
    """What the translator makes of a test set, in this process."""
    return translator_of(*paths, **options).translate_test(direction, lambda _: None)


def decoded(direction, *paths, **options):
    return [translation.text for translation in translations(direction, *paths, **options)]


def test_every_direction_equals_fairseq_generate(everything):
    out, progress = everything
    assert len(prepared().test_directions) == 6
    reference = prepared().root / "reference"
    model = load_model(prepared().root / "spm.model")
    for direction in prepared().test_directions:
        source, target = direction.split("-")
        texts, expected = generated(direction)
        assert lines(out / f"{direction}.hyp") == texts
        assert lines(out / f"{direction}.src") == lines(reference / f"test.{source}")
        assert lines(out / f"{direction}.ref") == lines(reference / f"test.{target}")
        records = [json.loads(line) for line in lines(out / f"{direction}.jsonl")]
        assert [record["id"] for record in records] == list(range(TEST_SENTENCES))
        assert [record["hypothesis"] for record in records] == texts
        assert [model.decode(record["pieces"].split()) for record in records] == texts
        written = [record["score"] for record in records]
        assert written == pytest.approx(expected, abs=1e-4)
    assert progress.count("directions, ") == 6
    assert "6 of 6 directions" in progress
    assert len({*lines(out / "en-de.hyp"), *lines(out / "de-fr.hyp")}) > 6


def test_the_folder_says_what_made_it(everything):
    how = json.loads((everything[0] / "translate.json").read_text(encoding="utf-8"))
    assert how["settings"]["beam"] == 4
    (checkpoint,) = how["checkpoints"]
    assert checkpoint["path"] == str(trained())
    assert checkpoint["updates"] == 150
    assert "tdo_plugin" in checkpoint["training"]["versions"]
    assert how["command"].startswith("tdo translate")


STOCK = {
    "--beam 1 --max-len-b 4": {"beam": 1, "max_len_b": 4},
    "--bf16": {"precision": "bf16"},
    "--beam 7 --min-len 9": {"beam": 7, "min_len": 9},
    "--lenpen 0.3 --max-len-a 1.2": {"length_penalty": 0.3, "max_len_a": 1.2},
    "--unkpen 2 --no-repeat-ngram-size 2": {"unk_penalty": 2.0, "no_repeat_ngram_size": 2},
    "--batch-size 5 --temperature 2": {"batch_size": 5, "temperature": 2.0},
}


@pytest.mark.parametrize("stock", mostly_full(STOCK, quick=2))
def test_options_mean_what_they_mean_to_fairseq(stock):
    texts, _ = generated("de-fr", *STOPPED, *stock.split(), "--max-tokens", "4000")
    assert decoded("de-fr", **{"max_len_b": SHORT, **STOCK[stock]}) == texts


def test_sentences_that_run_on_are_decoded_again_to_the_same_end(monkeypatch):
    stopped = []

    class Hasty(EarlyStop):
        def __init__(self, generator, ratio=0.4):
            super().__init__(generator, ratio)

        def search(self, *args):
            result = super().search(*args)
            stopped.append(sum(result[1]))
            return result

    expected = decoded("de-fr", batch_size=4, max_len_b=30)
    monkeypatch.setattr(translator, "EarlyStop", Hasty)
    assert decoded("de-fr", batch_size=4, max_len_b=30) == expected
    assert 0 < sum(stopped) < TEST_SENTENCES
    assert stopped[-1] == 0 and stopped[0] > 0


def test_draws_follow_the_seed():
    """fairseq-generate draws for the model's start before, so it cannot be compared."""
    options = {"sampling": True, "sampling_topk": 5, "beam": 1, "max_len_b": SHORT}
    first = decoded("de-fr", seed=7, **options)
    assert first == decoded("de-fr", seed=7, **options)
    assert first != decoded("de-fr", seed=8, **options)
    assert first != decoded("de-fr", beam=1, max_len_b=SHORT)
    assert first == decoded("de-fr", seed=7, batch_size=3, **options)


def test_the_gnmt_penalty_divides_by_its_formula():
    """With one beam there is one hypothesis, so the form shows in the score alone."""
    options = {"beam": 1, "length_penalty": 0.6, "max_len_b": SHORT}
    plain, gnmt = (
        translations("de-fr", penalty_form=form, **options) for form in ("length", "gnmt")
    )
    for by_length, by_gnmt in zip(plain, gnmt, strict=True):
        length = len(by_length.pieces.split()) + 1
        total = by_length.score * length**0.6
        assert by_gnmt.score == pytest.approx(total / ((5 + length) / 6) ** 0.6, rel=1e-5)


@pytest.mark.full
@pytest.mark.parametrize(
    "flags", ["--decoder-langtok --lang-tok-replacing-bos-eos", "--decoder-langtok"]
)
def test_target_tags(flags):
    path = trained(*flags.split())
    expected, _ = generated("de-fr", *flags.split(), *STOPPED, path=path)
    assert decoded("de-fr", path, max_len_b=SHORT) == expected


TAGGED = ("--decoder-langtok",)


@pytest.mark.full
def test_a_free_tag_is_fairseq_generates():
    first, second = trained(*TAGGED), trained(*TAGGED, "--max-update", "40", seed="4")
    free = translations("de-fr", first, second, free_tag=True, max_len_b=SHORT)
    stock = (*TAGGED, *STOPPED)
    texts, scored = generated("de-fr", *stock, "--free-tag", path=f"{first}:{second}")
    assert [translation.text for translation in free] == texts
    assert [translation.score for translation in free] == pytest.approx(scored, abs=1e-4)
    charged = generated("de-fr", *stock, path=f"{first}:{second}")[1]
    assert sum(scored) > sum(charged)


@pytest.mark.full
def test_a_free_tag_is_fairseq_interactives():
    line = lines(prepared().root / "reference/test.de")[0]
    pieces = " ".join(load_model(prepared().root / "spm.model").encode(line, out_type=str))
    done = command(
        *("interactive", prepared().root, "--task", "tdo_translation", *TASK, *TAG, *TAGGED),
        *("-s", "de", "-t", "fr", "--cpu", "--beam", "4", "--path", trained(*TAGGED)),
        *("--free-tag", *STOPPED),
        stdin=f"{pieces}\n",
    )
    assert done.returncode == 0, done.stderr
    _, expected = generated("de-fr", *TAGGED, *STOPPED, "--free-tag", path=trained(*TAGGED))
    assert scores(done.stdout)[0] == pytest.approx(expected[0], abs=1e-4)


@pytest.mark.full
def test_a_free_tag_is_one_of_the_folders_settings(translate, refused, tmp_path):
    """Where it is off, it is not named, so that folders of before are taken further."""
    words = ("--path", trained(*TAGGED), "--pairs", "de-fr", "--max-len-b", SHORT, "--out")
    usual, free = tmp_path / "usual", tmp_path / "free"
    translate(*words, usual)
    translate(*words, free, "--free-tag")
    first, second = (
        json.loads((out / "translate.json").read_text(encoding="utf-8"))["settings"]
        for out in (usual, free)
    )
    assert second == {**first, "free_tag": True} != first
    for out, flags in ((usual, ["--free-tag"]), (free, [])):
        command = ("translate", prepared().root, "--cpu", *words, out, *flags)
        refused(*command, names="was made with different free_tag")


@pytest.mark.parametrize(
    ("flags",), mostly_full([((),), (("--decoder-langtok", "--lang-tok-replacing-bos-eos"),)])
)
def test_a_free_tag_is_refused_where_none_is_forced(flags, refused):
    with refused.raised("tdo translate", names="--free-tag"):
        decoded("de-fr", trained(*flags), free_tag=True)
    with refused.raised("fairseq-generate", names="--free-tag"):
        generated("de-fr", *flags, "--free-tag", path=trained(*flags))


@pytest.mark.full
def test_ensembles():
    second = trained(seed="4")
    expected, _ = generated("de-fr", *STOPPED, path=f"{trained()}:{second}")
    assert decoded("de-fr", trained(), second, max_len_b=SHORT) == expected


@pytest.mark.full
def test_the_stock_task():
    stock = "translation_multi_simple_epoch"
    path = trained(task=stock)
    assert decoded("fr-de", path) == generated("fr-de", path=path, task=stock)[0]


def test_plain_text(translate, everything, tmp_path):
    out, _ = everything
    sources = lines(out / "de-fr.src")[:4]
    text = "\n".join([sources[0], "", *sources[1:]])
    expected = lines(out / "de-fr.hyp")[:4]
    expected.insert(1, "")
    languages = ("-s", "de", "-t", "fr", "--path", trained())
    printed, _ = translate("--input", "-", *languages, stdin=text)
    assert printed.split("\n")[:-1] == expected
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    translate("--input", tmp_path / "in.txt", *languages, "--out", tmp_path / "out.txt")
    assert lines(tmp_path / "out.txt") == expected


def test_a_pivot_is_two_translations(translate, everything, tmp_path):
    out, _ = everything
    translate("--path", trained(), "--pairs", "de-fr,en-fr", "--pivot", "en", "--out", tmp_path)
    assert lines(tmp_path / "en-fr.hyp") == lines(out / "en-fr.hyp")
    records = [json.loads(line) for line in lines(tmp_path / "de-fr.jsonl")]
    assert [record["pivot"] for record in records] == lines(out / "de-en.hyp")
    printed, _ = translate(
        *("--input", out / "de-en.hyp", "-s", "en", "-t", "fr", "--path", trained())
    )
    assert lines(tmp_path / "de-fr.hyp") == printed.split("\n")[:-1]


@pytest.mark.full
def test_two_models_meet_in_a_pivot(translate, refused, tmp_path):
    into, out_of = trained(), trained(seed="4")

    def into_french(path, text):
        french = translator_of(path, max_len_b=SHORT).translate_lines("en-fr", text)
        return [translation.text for translation in french]

    between = decoded("de-en", into, max_len_b=SHORT)
    expected = into_french(out_of, between)
    assert expected != into_french(into, between)
    german, english = (prepared().root / f"reference/test.{language}" for language in ("de", "en"))
    pivot, out = (*STOPPED, "--pivot", "en", "--path", into, "--pivot-path"), tmp_path / "out"
    words = ("--pairs", "de-fr,en-fr,de-en", "--out", out)
    translate(*pivot, out_of, *words)
    assert lines(out / "de-fr.hyp") == expected
    assert lines(out / "de-en.hyp") == between
    assert lines(out / "en-fr.hyp") == into_french(out_of, lines(english))
    how = json.loads((out / "translate.json").read_text(encoding="utf-8"))
    assert [checkpoint["path"] for checkpoint in how["checkpoints"]] == [str(into), str(out_of)]
    printed, _ = translate(*pivot, out_of, "-s", "de", "-t", "fr", "--input", german)
    assert printed.split("\n")[:-1] == expected
    _, errors = translate(*pivot, out_of, *words)
    assert "4 of 4 directions are already complete" in errors  # with the first step
    command = ("translate", prepared().root, "--cpu", *pivot, into, *words)
    refused(*command, names="was made with different pivot_checkpoints_sha256")


def test_perplexity_is_that_of_validation():
    translator = translator_of()
    assert translator.perplexity("de-fr") is None
    flags = ("--task", "tdo_translation", "--langs", "en,de,fr", "--lang-pairs", "en-de", *TAG)
    flags = (*flags, *TRAIN, *TDO, *LARGER, *CROSS_ENTROPY)
    task, model, criterion = built(*flags, data=prepared().root)
    model.load_state_dict(safe_load(str(trained()))["model"])
    model.eval()
    criterion.eval()
    logs = [criterion(model, batch)[2] for batch in iterate(task, "valid")]
    mean = sum(float(log["nll_loss"]) for log in logs) / sum(log["ntokens"] for log in logs)
    assert translator.perplexity("en-de") == pytest.approx(math.exp(mean), rel=1e-5)


def test_a_folder_is_averaged_as_the_protocol_has_it(refused):
    saving = ("--save-interval-updates", "5", "--keep-interval-updates", "3")
    folder = trained("--max-update", "25", *saving, seed="5").parent
    messages = []
    (path,) = decoded_checkpoints.resolve(str(folder), "last-3", messages.append)
    state = safe_load(str(path))
    names = [checkpoint["name"] for checkpoint in state["extra_state"]["averaged"]]
    assert path.name == "average-last-3.pt" and len(names) == 3
    assert decoded_checkpoints.resolve(str(folder), "last-3", messages.append) == (path,)
    assert ["average of" in messages[0], "is already the average" in messages[1]] == [True, True]
    for average in ("last-5", "last-few", "newest-3"):
        with refused.raised(average, names="--average"):
            decoded_checkpoints.resolve(str(folder), average, messages.append)
