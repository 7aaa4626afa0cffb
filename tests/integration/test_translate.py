"""`tdo translate` against `fairseq-generate`, on a model trained here."""

import io
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from integration.data import (
    CROSS_ENTROPY,
    TAG,
    TDO,
    TRAIN,
    built,
    environment,
    generate,
    hypotheses,
    iterate,
    kept_logging,
    scores,
)
from integration.prepared import LARGER, TASK, TEST_SENTENCES, prepared, trained

from tdo_plugin.cli import main
from tdo_plugin.data.segmentation import join_pieces, load_model
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding import checkpoints
from tdo_plugin.evaluation.decoding.options import DecodingOptions
from tdo_plugin.evaluation.decoding.pool import Work, load
from tdo_plugin_checkpoint import safe_load


@pytest.fixture
def translate(capsys, monkeypatch):
    """`tdo translate` on the prepared folder, the model's workers in processes of their own."""
    import logging

    def run(*words, stdin="", code=0):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        with kept_logging():
            found = main(["translate", str(prepared().root), "--cpu", *map(str, words)])
        logging.disable(logging.NOTSET)
        output = capsys.readouterr()
        assert found == code, output
        return output.out, output.err

    return run


def lines(path):
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def generated(direction, *flags, path=None, task="tdo_translation"):
    """Hypotheses and scores of fairseq-generate."""
    source, target = direction.split("-")
    output = generate(
        *("--task", task, *TASK, *TAG, "-s", source, "-t", target, "--gen-subset", "test"),
        *("--path", path or trained(), "--beam", "4", *flags),
        data=prepared().root,
    )
    found, weights = hypotheses(output), scores(output)
    order = range(TEST_SENTENCES)
    return [join_pieces(found[number]) for number in order], [weights[number] for number in order]


def decoded(direction, *paths, **options):
    """What the translator makes of a test set, in this process."""
    import logging

    work = Work(DecodingOptions(paths or (trained(),), **options), prepared(), Path())
    with kept_logging():
        found = load(work, "cpu").translate_test(direction, lambda _: None)
    logging.disable(logging.NOTSET)
    return [one.text for one in found]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """All directions, translated by two workers; the folder, and what the command said."""
    out = tmp_path_factory.mktemp("translated")
    command = [sys.executable, "-m", "tdo_plugin", "translate", prepared().root, "--cpu"]
    command += ["--path", trained(), "--out", out, "--workers", "2"]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    return out, done.stderr


def test_every_direction_equals_fairseq_generate(everything):
    out, progress = everything
    assert len(prepared().test_directions) == 6
    for direction in prepared().test_directions:
        source, target = direction.split("-")
        texts, found = generated(direction)
        assert lines(out / f"{direction}.hyp") == texts
        assert lines(out / f"{direction}.src") == lines(
            prepared().root / f"reference/test.{source}"
        )
        assert lines(out / f"{direction}.ref") == lines(
            prepared().root / f"reference/test.{target}"
        )
        records = [json.loads(line) for line in lines(out / f"{direction}.jsonl")]
        assert [record["id"] for record in records] == list(range(TEST_SENTENCES))
        assert [record["hypothesis"] for record in records] == texts
        written = [record["score"] for record in records]
        assert written == pytest.approx(found, abs=1e-4)
    assert progress.count("directions, ") == 6
    assert "6 of 6 directions" in progress
    assert (
        len({line for direction in ("en-de", "de-fr") for line in lines(out / f"{direction}.hyp")})
        > 6
    )


def test_the_folder_says_what_made_it(everything):
    how = json.loads((everything[0] / "translate.json").read_text(encoding="utf-8"))
    assert how["settings"]["beam"] == 4
    (checkpoint,) = how["checkpoints"]
    assert checkpoint["path"] == str(trained())
    assert checkpoint["updates"] == 150
    assert "tdo_plugin" in checkpoint["training"]["versions"]
    assert how["command"].startswith("tdo translate")


@pytest.mark.parametrize(
    ("own", "stock"),
    [
        ({"beam": 1, "max_len_b": 4}, ["--beam", "1", "--max-len-b", "4"]),
        ({"beam": 7, "min_len": 9}, ["--beam", "7", "--min-len", "9"]),
        ({"length_penalty": 0.3, "max_len_a": 1.2}, ["--lenpen", "0.3", "--max-len-a", "1.2"]),
        (
            {"unk_penalty": 2.0, "no_repeat_ngram_size": 2},
            ["--unkpen", "2", "--no-repeat-ngram-size", "2"],
        ),
        ({"batch_size": 5, "temperature": 2.0}, ["--batch-size", "5", "--temperature", "2"]),
        ({"precision": "bf16"}, ["--bf16"]),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else None,
)
def test_options_mean_what_they_mean_to_fairseq(own, stock):
    texts, _ = generated("de-fr", *stock, "--max-tokens", "4000")
    assert decoded("de-fr", **own) == texts


def test_draws_follow_the_seed():
    """fairseq-generate draws for the model's start before, so it cannot be compared."""
    options = {"sampling": True, "sampling_topk": 5, "beam": 1}
    first = decoded("de-fr", seed=7, **options)
    assert first == decoded("de-fr", seed=7, **options)
    assert first != decoded("de-fr", seed=8, **options)
    assert first != decoded("de-fr", beam=1)


def test_the_gnmt_penalty_divides_by_its_formula():
    """With one beam there is one hypothesis, so the form shows in the score alone."""
    work = [
        Work(
            DecodingOptions((trained(),), beam=1, length_penalty=0.6, penalty_form=form),
            prepared(),
            Path(),
        )
        for form in ("length", "gnmt")
    ]
    with kept_logging():
        plain, gnmt = (load(one, "cpu").translate_test("de-fr", lambda _: None) for one in work)
    for one, other in zip(plain, gnmt, strict=True):
        length = len(one.pieces.split()) + 1
        total = one.score * length**0.6
        assert other.score == pytest.approx(total / ((5 + length) / 6) ** 0.6, rel=1e-5)


@pytest.mark.parametrize(
    "flags",
    [("--decoder-langtok",), ("--decoder-langtok", "--lang-tok-replacing-bos-eos")],
    ids=" ".join,
)
def test_target_tags(flags):
    path = trained(*flags)
    assert decoded("de-fr", path) == generated("de-fr", *flags, path=path)[0]


def test_ensembles_and_the_stock_task():
    other, stock = trained(seed="4"), "translation_multi_simple_epoch"
    expected, _ = generated("de-fr", path=f"{trained()}:{other}")
    assert decoded("de-fr", trained(), other) == expected
    path = trained(task=stock)
    assert decoded("fr-de", path) == generated("fr-de", path=path, task=stock)[0]


def test_plain_text(translate, everything, tmp_path):
    out, _ = everything
    sources = lines(out / "de-fr.src")
    text = "\n".join([sources[0], "", *sources[1:]])
    expected = lines(out / "de-fr.hyp")
    expected.insert(1, "")
    languages = ("-s", "de", "-t", "fr", "--path", trained())
    printed, _ = translate("--input", "-", *languages, stdin=text)
    assert printed.split("\n")[:-1] == expected
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    translate("--input", tmp_path / "in.txt", *languages, "--output", tmp_path / "out.txt")
    assert lines(tmp_path / "out.txt") == expected


def test_a_conversation_survives_mistakes_and_changes_languages(translate, everything):
    out, _ = everything
    german = lines(out / "de-en.src")[0]
    typed = "\n".join([german, ":xx", ":en", german, ":en-fr", lines(out / "en-fr.src")[0]])
    printed, errors = translate(
        "--interactive", "-s", "de", "-t", "fr", "--path", trained(), stdin=typed
    )
    assert printed.split("\n")[:-1] == [
        lines(out / "de-fr.hyp")[0],
        "de → en",
        lines(out / "de-en.hyp")[0],
        "en → fr",
        lines(out / "en-fr.hyp")[0],
    ]
    assert "must know the languages of de-xx" in errors


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


def test_what_is_whole_is_kept_and_what_is_not_is_done_again(translate, everything, tmp_path):
    words = ("--path", trained(), "--out", tmp_path, "--workers", "1")
    translate(*words, "--pairs", "de-en,en-de")
    kept = (tmp_path / "en-de.hyp").stat().st_mtime_ns
    (tmp_path / "de-en.json").unlink()
    (tmp_path / "de-en.hyp").write_text("half of it")
    _, said = translate(*words, "--pairs", "de-en,en-de", "--max-tokens", "500")
    assert "1 of 2 directions are whole already" in said
    assert (tmp_path / "en-de.hyp").stat().st_mtime_ns == kept
    assert lines(tmp_path / "de-en.hyp") == lines(everything[0] / "de-en.hyp")
    _, said = translate(*words, "--pairs", "de-en", "--beam", "2", code=2)
    assert "was made with other beam" in said
    translate(*words, "--pairs", "de-en", "--beam", "2", "--fresh")
    assert not list(tmp_path.glob("en-de.*"))


def test_a_killed_run_goes_on_where_it_was(translate, everything, tmp_path):
    command = [sys.executable, "-m", "tdo_plugin", "translate", prepared().root, "--cpu"]
    command += ["--path", trained(), "--out", tmp_path, "--workers", "1"]
    process = subprocess.Popen(
        list(map(str, command)), env=environment(), stderr=subprocess.DEVNULL
    )
    while not list(tmp_path.glob("*-*.json")):
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    translate(*command[6:])
    for direction in prepared().test_directions:
        assert lines(tmp_path / f"{direction}.hyp") == lines(everything[0] / f"{direction}.hyp")


def started(*words):
    """The command with one worker, in a process of its own."""
    command = [sys.executable, "-m", "tdo_plugin", "translate", prepared().root, "--cpu"]
    command += ["--path", trained(), "--workers", "1", *words]
    return subprocess.Popen(
        list(map(str, command)), env=environment(), stderr=subprocess.PIPE, text=True
    )


def workers_of(process):
    """Process ids of its workers, without the one that looks after spawned processes' resources."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    found = [int(number) for number in path.read_text().split()]
    return [one for one in found if "spawn_main" in Path(f"/proc/{one}/cmdline").read_text()]


def wait_for(process, pattern, folder):
    while not list(folder.glob(pattern)):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_that_dies_costs_its_direction(tmp_path):
    process = started("--out", tmp_path)
    wait_for(process, "*-*.json", tmp_path)
    (worker,) = workers_of(process)
    os.kill(worker, signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    whole = {path.stem for path in tmp_path.glob("*-*.json")}
    assert process.returncode == 1
    assert "error: its worker ended with signal 9" in errors and "Traceback" not in errors
    assert len(whole) == len(prepared().test_directions) - 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_ended_takes_its_workers_along(number, tmp_path):
    process = started("--out", tmp_path)
    wait_for(process, "*-*.json", tmp_path)
    children = workers_of(process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGTERM: 143, signal.SIGINT: 130}[number]
    assert "Traceback" not in errors
    assert children and not any(Path(f"/proc/{one}").exists() for one in children)


def test_a_folder_of_something_else_is_left_alone(translate, tmp_path):
    (tmp_path / "de-fr.hyp").write_text("mine\n")
    _, errors = translate("--path", trained(), "--out", tmp_path, "--fresh", code=2)
    assert "has hypotheses of something else" in errors
    assert (tmp_path / "de-fr.hyp").read_text() == "mine\n"


def test_perplexity_is_that_of_validation():
    with kept_logging():
        translator = load(Work(DecodingOptions((trained(),)), prepared(), Path()), "cpu")
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "OUT", "--path", "no.pt"], "`--path` must name checkpoints that exist"),
        (["--out", "OUT", "--pairs", "en-xx"], "en-xx is not one"),
        (["--out", "OUT", "--pivot", "xx"], "`--pivot` must be one of"),
        (["--out", "OUT", "--beam", "0"], "`--beam` must be at least 1"),
        (["--out", "OUT", "--workers", "0"], "`--workers` must be at least 1"),
        (["--out", "OUT", "-s", "de"], "`--source-lang` must be left out without plain text"),
        ([], "`--out` must name a folder"),
        (["--input", "no.txt", "-s", "de", "-t", "fr"], "`--input` must be a text file"),
        (["--input", "-", "-s", "de"], "`--target-lang` must name the language"),
        (["--input", "-", "-s", "de", "-t", "xx"], "must know the languages of de-xx"),
        (["--out", "OUT", "--path", "DATA/dict.txt"], "not a whole checkpoint"),
        (["--out", "OUT", "--sampling-topk", "3"], "`--sampling-topk` must be above 0"),
        (["--out", "OUT", "--min-len", "300"], "`--min-len` must be at most --max-len-b, 200"),
        (["--out", "OUT", "--lenpen", "nan"], "`--lenpen` must be a number"),
        (["--out", "OUT", "--seed", "-1"], "`--seed` must be at least 0"),
        (["--out", "OUT", "--average", "best-2"], "`--average` must come with a folder"),
        (["--out", "OUT", "--output", "x"], "`--output` must be left out without plain text"),
        (["--out", "DATA/dict.txt"], "`--out` must be a folder of its own"),
        (["--input", "-", "-s", "de", "-t", "fr", "--fresh"], "`--fresh` must be left out with"),
        (["--out", "OUT", "--path", ""], "`--path` must be checkpoints with colons"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else None,
)
def test_bad_input_is_one_line(translate, words, message, tmp_path):
    places = {"OUT": tmp_path, "DATA/dict.txt": prepared().root / "dict.txt"}
    path = () if "--path" in words else ("--path", trained())
    _, errors = translate(*path, *(places.get(word, word) for word in words), code=2)
    assert message in errors
    assert len([line for line in errors.split("\n") if line]) == 1


def test_a_checkpoint_without_a_language_leaves_the_others(translate, tmp_path):
    path = trained("--langs", "en,de", "--lang-pairs", "en-de,de-en")
    _, errors = translate("--path", path, "--pairs", "en-de,en-fr", "--out", tmp_path, code=1)
    assert (
        "en-fr: error: the checkpoint must know the languages of en-fr; it knows en, de, not fr"
        in errors
    )
    assert len(lines(tmp_path / "en-de.hyp")) == TEST_SENTENCES
    assert not (tmp_path / "en-fr.hyp").exists()


def test_a_folder_is_averaged_as_the_protocol_has_it():
    saving = ("--save-interval-updates", "5", "--keep-interval-updates", "3")
    folder = trained("--max-update", "25", *saving, seed="5").parent
    said = []
    (path,) = checkpoints.resolve(str(folder), "last-3", said.append)
    state = safe_load(str(path))
    names = [one["name"] for one in state["extra_state"]["averaged"]]
    assert path.name == "average-last-3.pt" and len(names) == 3
    assert checkpoints.resolve(str(folder), "last-3", said.append) == (path,)
    assert ["average of" in said[0], said[1].endswith("already")] == [True, True]
    with pytest.raises(UserError, match="must be at most 3"):
        checkpoints.resolve(str(folder), "last-5", said.append)
    with pytest.raises(UserError, match="`--average` must be best-N or last-N"):
        checkpoints.resolve(str(folder), "newest", said.append)


def test_a_second_run_in_the_same_folder_is_refused(translate, tmp_path):
    import fcntl

    with (tmp_path / ".lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        _, errors = translate("--path", trained(), "--out", tmp_path, code=2)
    assert "no other tdo translate is writing to" in errors


def test_the_segmentation_of_plain_text_is_the_folders(everything):
    record = json.loads(lines(everything[0] / "de-fr.jsonl")[0])
    model = load_model(prepared().root / "spm.model")
    assert model.decode(record["pieces"].split()) == record["hypothesis"]
