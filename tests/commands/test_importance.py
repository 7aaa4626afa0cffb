"""`tdo neurons importance` on models trained here."""

import itertools
import json
import re
import shutil
import signal
from pathlib import Path

import pytest
import torch
from support.commands import told
from support.covering import in_turn, mostly_full
from support.data import ENCODER_DECODER
from support.prepared import prepared, trained
from support.processes import wait_for_files
from support.translating import begun

from tdo_compat.checkpoint import safe_load
from tdo_plugin.analysis.neurons.neuron_importance import METHODS, NeuronMeans, RealPositions
from tdo_plugin.cli import importance_jobs
from tdo_plugin.cli.importance_jobs import unlike_sides
from tdo_plugin.evaluation.inspected_model import Cut, EvalModel, Sampling
from tdo_plugin.modules.methods.neurons import neuron_outputs, rectified_projections
from tdo_plugin.neuron_files import Importance, digest_of

SMALL = ("--sentences", "8", "--max-tokens", "60")
PAIRS = ("en-de", "de-en", "en-fr", "fr-en")


def two_stages() -> Path:
    return trained("--max-update", "5")


@pytest.fixture
def importance(capsys: pytest.CaptureFixture[str]):
    """The command; what it prints, and what it says."""

    def run(out: Path, *words: object, code: int = 0, path: Path | None = None) -> tuple[str, str]:
        command = ["neurons", "importance", "--cpu", "--path", path or two_stages(), "--out", out]
        data = () if "--data" in words else ("--data", prepared().root)
        return told(capsys, *command, *data, *words, code=code)

    return run


MODELS = {
    "two stages": (),
    "merged attention": (
        *(*ENCODER_DECODER, "--tdo-adaptation-dim", "0"),
        *("--tdo-decoder-attention", "merged"),
    ),
    "language-aware": ("--tdo-laln", "both"),
}
CASES = dict.fromkeys([*in_turn(METHODS, MODELS), *itertools.product(METHODS, MODELS)])


@pytest.mark.parametrize(("method", "model"), mostly_full(CASES, quick=2))
def test_the_file_is_one_sentence_at_a_time(importance, tmp_path, method, model):
    path, out = trained("--max-update", "5", *MODELS[model]), tmp_path / "theta"
    printed, _ = importance(out, *SMALL, "--method", method, "--workers", "2", path=path)
    stored = Importance.read(out)
    assert (stored.method, stored.pairs) == (method, PAIRS)
    assert stored.checkpoint == digest_of(safe_load(str(path))["model"])
    assert stored.about["settings"]["label_smoothing"] == 0.1
    assert stored.inner == stored.about["settings"]["inner"] == "after"
    assert [entry.name for entry in tmp_path.iterdir()] == ["theta"]
    lines = printed.splitlines()[-6:]  # what comes before is of the training
    assert [line.split()[0] for line in lines] == ["pair", *PAIRS, str(out)]

    model = EvalModel(path, prepared(), torch.device("cpu"))
    sampling = Sampling(8, 256, 1)
    for row, pair in enumerate(PAIRS):
        stack = model.core.stack
        neuron_means = NeuronMeans(
            neuron_outputs(stack), METHODS[method], rectified=rectified_projections(stack)
        )
        total = tokens = sentences = 0
        for sample in model.samples(pair, Cut("train"), sampling, 1):
            fed, target, pad = unlike_sides(model, sample)
            real = RealPositions(fed["src_tokens"].ne(pad), fed["prev_output_tokens"].ne(pad))
            total += neuron_means.add(
                real,
                lambda: model.model(**fed, smoothed_target=(target, 0.1))[1]["cross_entropy"][0],  # noqa: B023
            )
            tokens += int(target.ne(pad).sum())
            sentences += len(target)
        assert sentences == stored.about["of_pairs"][pair]["sentences"] == 8
        assert stored.about["of_pairs"][pair]["loss"] == pytest.approx(total / tokens, rel=1e-5)
        assert list(neuron_means.means) == list(stored.modules)
        for name, mean in neuron_means.means.items():
            assert mean.sum() > 0
            torch.testing.assert_close(stored.modules[name][row], mean, rtol=2e-4, atol=1e-7)


def without_inner(path: Path) -> None:
    """Make a file as it was before files said on which side of the ReLU they were measured."""
    stored = Importance.read(path)
    del stored.about["settings"]["inner"]
    stored.write(path)


@pytest.mark.parametrize("method", METHODS)
def test_inner_neurons_after_the_relu_or_before_it(importance, tmp_path, method):
    files = {inner: tmp_path / inner for inner in ("after", "before")}
    words = (*SMALL, "--pairs", "de-en", "--method", method)
    for inner, path in files.items():
        importance(path, *words, "--inner", inner)
    after, before = (Importance.read(path) for path in files.values())
    assert (after.inner, before.inner) == ("after", "before")
    differing = {
        name for name, theta in after.modules.items() if not theta.equal(before.modules[name])
    }
    inner_neurons = {name for name in after.modules if name.endswith("feed_forward.inner")}
    assert differing == (inner_neurons if method == "absolute" else set())

    # files that do not say are the authors' way; by taylor it is one number
    without_inner(files["before"])
    assert Importance.read(files["before"]).inner == "before"
    for inner in ("before", "after"):
        differs = method == "absolute" and inner == "after"
        _, messages = importance(files["before"], *words, "--inner", inner, code=2 * differs)
        told_of = "was made with different inner" if differs else "is already complete"
        assert told_of in messages


def test_sides():
    sides = {
        name: importance_jobs.side_of(name, 1)
        for name in (
            "encoder_layers.3.attention.query",
            "decoder_layers.0.cross_attention.key",
            "layers.0.feed_forward.inner",
            "layers.1.feed_forward.inner",
        )
    }
    assert list(sides.values()) == ["source", "target", "source", "target"]


def test_it_goes_on_where_it_was(importance, tmp_path, monkeypatch):
    out, parts = tmp_path / "theta", tmp_path / "theta.parts"
    importance(tmp_path / "whole", *SMALL)

    # a worker that does not measure one of the pairs
    from tdo_plugin.evaluation.decoding import pool

    def failing(stages, *others):
        kept = [[job for job in stage if job.name != "fr-en"] for stage in stages]
        yield from decode_all(kept, *others)
        for stage in stages:
            for job in stage:
                if job.name == "fr-en":
                    yield pool.Event("failed", job, text="lost")

    decode_all = pool.decode_all
    monkeypatch.setattr(pool, "decode_all", failing)
    _, messages = importance(out, *SMALL, code=1)
    assert "1 of 4 pairs failed; run the same command again" in messages
    monkeypatch.undo()
    assert not out.exists()
    finished = {part: part.read_bytes() for part in parts.glob("*.safetensors")}
    assert {part.stem for part in finished} == {"en-de", "de-en", "en-fr"}

    # what is there is of these settings and of this checkpoint alone
    for words, what in (
        (("--seed", "2"), "seed"),
        (("--method", "absolute"), "method"),
        (("--pairs", "de-en"), "pairs"),
    ):
        _, errors = importance(out, *SMALL, *words, code=2)
        assert re.search(rf"or --fresh given; .* was made with different {what}$", errors.strip())
    other_checkpoint = trained("--max-update", "5", seed="4")
    _, errors = importance(out, *SMALL, path=other_checkpoint, code=2)
    assert errors.strip().endswith("was made with different checkpoint")
    assert {part: part.read_bytes() for part in parts.glob("*.safetensors")} == finished

    marked = parts / "de-en.safetensors"
    stored = Importance.read(marked)
    seconds = stored.about["of_pairs"]["de-en"]
    seconds["seconds"] = 77777.0
    stored.write(marked)
    printed, messages = importance(out, *SMALL)
    assert "3 of 4 pairs are already complete" in messages
    assert "77777.0" in printed  # that part was not made again
    assert not parts.exists()
    first, second = Importance.read(tmp_path / "whole"), Importance.read(out)
    for name, theta in first.modules.items():
        assert torch.equal(theta, second.modules[name])

    again, messages = importance(out, *SMALL)
    assert again == printed and "is already complete" in messages
    _, errors = importance(out, *SMALL, "--seed", "2", code=2)
    assert "must be a new file, or --fresh given" in errors
    assert not parts.exists()
    printed, _ = importance(out, *SMALL, "--fresh")
    assert "77777.0" not in printed and not parts.exists()


@pytest.mark.parametrize(
    "number", mostly_full([signal.SIGTERM, signal.SIGKILL, signal.SIGINT], quick=2)
)
def test_an_ended_run_goes_on_where_it_was(importance, tmp_path, number):
    out, parts = tmp_path / "theta", tmp_path / "theta.parts"
    slow = ("--sentences", "40", "--max-tokens", "1")
    importance(tmp_path / "whole", *slow)
    words = ("--cpu", "--workers", "2", "--path", two_stages(), "--data", prepared().root, *slow)
    process = begun("neurons", "importance", "--out", out, *words)
    wait_for_files(process, parts, "*.safetensors")
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}.get(number, -number)
    assert "Traceback" not in errors and not out.exists()
    _, messages = importance(out, *slow)
    assert "of 4 pairs are already complete" in messages and not parts.exists()
    first, second = Importance.read(tmp_path / "whole"), Importance.read(out)
    for name, theta in first.modules.items():
        assert torch.equal(theta, second.modules[name])


@pytest.mark.parametrize("precision", mostly_full(["bf16", "fp16"]))
def test_half_precision_is_near(importance, tmp_path, precision):
    for name in ("fp32", precision):
        importance(tmp_path / name, *SMALL, "--pairs", "de-en", "--precision", name)
    exact, near = (Importance.read(tmp_path / name) for name in ("fp32", precision))
    for name, theta in exact.modules.items():
        ratio = near.modules[name].sum() / theta.sum()
        assert 0.8 < ratio < 1.25, name


def test_what_is_drawn(importance, tmp_path):
    results = {}
    for name, words in {
        "all": ("--sentences", "all"),
        "many": ("--sentences", "1000"),
        "other": (*SMALL, "--seed", "2"),
        "few": SMALL,
        "test": (*SMALL, "--split", "test"),
        "hard": (*SMALL, "--label-smoothing", "0"),
    }.items():
        importance(tmp_path / name, *words, "--pairs", "de-en")
        read = Importance.read(tmp_path / name)
        results[name] = read.modules["layers.0.feed_forward.inner"], read.about["of_pairs"]["de-en"]
    assert torch.equal(results["all"][0], results["many"][0])
    assert results["all"][1]["sentences"] > results["few"][1]["sentences"] == 8
    for variant in ("other", "test", "hard"):
        assert not torch.equal(results["few"][0], results[variant][0])


def test_numbers_that_overflow_are_named(importance, tmp_path):
    state = safe_load(str(two_stages()))
    state["model"]["core.stack.layers.0.feed_forward.inner.weight"].fill_(3e38)
    path = tmp_path / "huge.pt"
    torch.save(state, path)
    _, errors = importance(tmp_path / "theta", *SMALL, "--pairs", "de-en", path=path, code=1)
    assert "`--precision` must hold every gradient and activation of de-en" in errors
    assert [entry.name for entry in tmp_path.iterdir()] == ["huge.pt"]


def test_mistakes_are_one_line_and_leave_nothing(importance, tmp_path):
    out, empty = tmp_path / "theta", tmp_path / "empty.pt"
    cfg = {"task": {"_name": "translation"}, "model": {"_name": "transformer"}}
    torch.save({"model": {}, "cfg": cfg}, empty)
    english = trained("--max-update", "2", "--langs", "en,de", "--lang-pairs", "en-de,de-en")
    for words, path, message in (
        ((), tmp_path / "none.pt", "`--path` must name files that exist"),
        ((), empty, "`--path` must name checkpoints of tdo_translation"),
        ((), english, "the checkpoint must know the languages of en-fr"),
        (("--pairs", "de-fr"), None, "`--pairs` must be pairs with a train set in .*; de-fr is"),
        (("--pairs", "en-xx"), None, "`--pairs` must be pairs with a train set in .*; en-xx is"),
        (("--split", "valid", "--pairs", "de-fr"), None, "pairs with a valid set"),
        (("--sentences", "0"), None, "`--sentences` must be all or at least 1; it is 0"),
        (("--sentences", "x"), None, "`--sentences` must be all or at least 1; it is x"),
        (("--longest", "0"), None, "`--longest` must be at least 1"),
        (("--label-smoothing", "1"), None, "`--label-smoothing` must be from 0 to below 1"),
        (("--seed", "-1"), None, "`--seed` must be a whole number from 0"),
        (("--workers", "0"), None, "`--workers` must be at least 1"),
        (("--data", str(tmp_path)), None, "`DATA` must be a folder"),
    ):
        printed, errors = importance(out, *words, path=path, code=2)
        line = errors.splitlines()[-1]
        assert line.startswith("tdo neurons importance: error: ")
        assert re.search(message, line), line
        assert "Traceback" not in errors and not printed
        assert [entry.name for entry in tmp_path.iterdir()] == ["empty.pt"]
    _, errors = importance(tmp_path / "no" / "theta", code=2)
    assert "`--out` must be a file in an existing folder" in errors
    _, errors = importance(out, "--longest", "1", "--pairs", "de-en", code=1)
    assert "a train sentence of at most 1 tokens (`--longest`); it has none" in errors
    importance(out, "--method", "guess", code=2)


def test_another_dictionary_is_refused(importance, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(prepared().root, data)
    mark = data / "prepared.json"
    record = json.loads(mark.read_text(encoding="utf-8"))
    del record["digests"]  # as of a folder that was made before there were any
    mark.write_text(json.dumps(record), encoding="utf-8")
    for path in data.glob("dict*.txt"):
        first, second, *rest = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join([second, first, *rest]) + "\n", encoding="utf-8")
    _, errors = importance(tmp_path / "theta", "--data", data, code=2)
    assert "the source dictionary must be the checkpoint's" in errors
    assert not (tmp_path / "theta.parts").exists()
