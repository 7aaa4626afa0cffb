"""`tdo neurons`: importance in models trained here, allocated and drawn."""

import itertools
import json
import shutil
import signal
from pathlib import Path

import pytest
import torch
from support.commands import told
from support.covering import in_turn, mostly_full
from support.data import ENCODER_DECODER
from support.neuron_files import importance_of
from support.prepared import prepared, trained
from support.processes import wait_for_files
from support.translating import begun

from tdo_compat.checkpoint import safe_load
from tdo_plugin.analysis.neurons.neuron_importance import METHODS, NeuronMeans, RealPositions
from tdo_plugin.cli import importance_jobs
from tdo_plugin.cli.importance_jobs import unlike_sides
from tdo_plugin.evaluation.decoding import pool
from tdo_plugin.evaluation.inspected_model import Cut, EvalModel, Sampling
from tdo_plugin.modules.methods.neurons import neuron_outputs, rectified_projections
from tdo_plugin.neuron_files import Importance, Masks, digest_of

SMALL = ("--sentences", "8", "--max-tokens", "60")
SHORT = ("--max-update", "2")
PAIRS = ("en-de", "de-en", "en-fr", "fr-en")


def two_stages() -> Path:
    return trained("--max-update", "5")


def command(out: Path, *words: object, path: Path | None = None) -> tuple[object, ...]:
    data = () if "--data" in words else ("--data", prepared().root)
    begin = ("neurons", "importance", "--cpu", "--path", path or two_stages(), "--out", out)
    return (*begin, *data, *words)


@pytest.fixture
def importance(capsys: pytest.CaptureFixture[str]):
    """The command; what it prints, and what it says."""

    def run(*words: object, code: int = 0, path: Path | None = None) -> tuple[str, str]:
        return told(capsys, *command(*words, path=path), code=code)

    return run


def assert_same_thetas(one: Path, two: Path) -> None:
    first, second = Importance.read(one), Importance.read(two)
    for name, theta in first.modules.items():
        assert torch.equal(theta, second.modules[name])


MODELS = {
    "two stages": (),
    "merged attention": (
        *(*ENCODER_DECODER, "--tdo-adaptation-dim", "0", "--tdo-decoder-attention", "merged"),
    ),
    "language-aware": ("--tdo-laln", "both"),
}
CASES = dict.fromkeys([*in_turn(METHODS, MODELS), *itertools.product(METHODS, MODELS)])


@pytest.mark.parametrize(("method", "model"), mostly_full(CASES))
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


@pytest.mark.parametrize("method", mostly_full(METHODS))
def test_inner_neurons_after_the_relu_or_before_it(importance, refused, tmp_path, method):
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
    del before.about["settings"]["inner"]
    before.write(files["before"])
    assert Importance.read(files["before"]).inner == "before"
    _, messages = importance(files["before"], *words, "--inner", "before")
    assert "is already complete" in messages
    if method == "absolute":
        refused(*command(files["before"], *words, "--inner", "after"), names="different inner")
    else:
        _, messages = importance(files["before"], *words, "--inner", "after")
        assert "is already complete" in messages


def test_sides():
    assert [
        importance_jobs.side_of(name, 1)
        for name in (
            "encoder_layers.3.attention.query",
            "decoder_layers.0.cross_attention.key",
            "layers.0.feed_forward.inner",
            "layers.1.feed_forward.inner",
        )
    ] == ["source", "target", "source", "target"]


def test_it_goes_on_where_it_was(importance, refused, tmp_path, monkeypatch):
    out, parts = tmp_path / "theta", tmp_path / "theta.parts"
    importance(tmp_path / "whole", *SMALL)

    # a worker that does not measure one of the pairs
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
        refused(*command(out, *SMALL, *words), names=f"different {what}")
    other = trained("--max-update", "5", seed="4")
    refused(*command(out, *SMALL, path=other), names="different checkpoint", case="another")
    assert {part: part.read_bytes() for part in parts.glob("*.safetensors")} == finished

    marked = parts / "de-en.safetensors"
    stored = Importance.read(marked)
    stored.about["of_pairs"]["de-en"]["seconds"] = 77777.0
    stored.write(marked)
    printed, messages = importance(out, *SMALL)
    assert "3 of 4 pairs are already complete" in messages
    assert "77777.0" in printed  # that part was not made again
    assert not parts.exists()
    assert_same_thetas(tmp_path / "whole", out)

    again, messages = importance(out, *SMALL)
    assert again == printed and "is already complete" in messages
    refused(*command(out, *SMALL, "--seed", "2"), names="--fresh", case="complete")
    assert not parts.exists()
    printed, _ = importance(out, *SMALL, "--fresh")
    assert "77777.0" not in printed and not parts.exists()


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
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
    assert_same_thetas(tmp_path / "whole", out)


@pytest.mark.full
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_is_near(importance, tmp_path, precision):
    for name in ("fp32", precision):
        importance(tmp_path / name, *SMALL, "--pairs", "de-en", "--precision", name)
    exact, near = (Importance.read(tmp_path / name) for name in ("fp32", precision))
    for name, theta in exact.modules.items():
        ratio = near.modules[name].sum() / theta.sum()
        assert 0.8 < ratio < 1.25, name


@pytest.mark.full
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


def test_what_cannot_be_measured(importance, tmp_path):
    _, errors = importance(tmp_path / "theta", "--longest", "1", "--pairs", "de-en", code=1)
    assert "must have a train sentence of at most 1 tokens (`--longest`)" in errors
    state = safe_load(str(two_stages()))
    state["model"]["core.stack.layers.0.feed_forward.inner.weight"].fill_(3e38)
    path = tmp_path / "huge.pt"
    torch.save(state, path)
    _, errors = importance(tmp_path / "theta", *SMALL, "--pairs", "de-en", path=path, code=1)
    assert "`--precision` must hold every gradient and activation of de-en" in errors
    assert [entry.name for entry in tmp_path.iterdir()] == ["huge.pt"]


def test_mistakes(refused, tmp_path):
    reordered = tmp_path / "reordered"
    stock, outside = tmp_path / "stock.pt", tmp_path / "outside.pt"
    cfg = {"task": {"_name": "translation"}, "model": {"_name": "transformer"}}
    torch.save({"model": {}, "cfg": cfg}, stock)
    cfg["task"] = {
        "_name": "tdo_translation",
        "langs": "en,../x",
        "lang_pairs": "en-../x",
        "lang_tok_style": "multilingual",
    }
    torch.save({"model": {}, "cfg": cfg}, outside)
    shutil.copytree(prepared().root, reordered)
    mark = reordered / "prepared.json"
    record = json.loads(mark.read_text(encoding="utf-8"))
    del record["digests"]  # as of a folder that was made before there were any
    mark.write_text(json.dumps(record), encoding="utf-8")
    for path in reordered.glob("dict*.txt"):
        first, second, *rest = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join([second, first, *rest]) + "\n", encoding="utf-8")
    refused.rows(
        """
        neurons importance --cpu --path {model} --data {data} --out {folder}/theta
            --path {stock}                  :: --path
            --path {outside}                :: ../x
            --path {english_german}         :: en-fr
            --pairs de-fr                   :: de-fr
            --pairs en-xx                   :: en-xx
            --split valid --pairs de-fr     :: valid
            --sentences 0                   :: --sentences
            --sentences x                   :: --sentences
            --longest 0                     :: --longest
            --label-smoothing 1             :: --label-smoothing
            --seed -1                       :: --seed
            --workers 0                     :: --workers
            --data {reordered}              :: the source dictionary must be the checkpoint's
            --out {folder}/no/theta         :: --out
            --method guess                  :: --method
        """,
        model=two_stages(),
        data=prepared().root,
        folder=tmp_path,
        stock=stock,
        outside=outside,
        reordered=reordered,
        english_german=trained(*SHORT, "--langs", "en,de", "--lang-pairs", "en-de,de-en"),
    )


@pytest.mark.full
def test_from_importance_to_pictures(run, tmp_path):
    """Each command in a process of its own."""
    importance_of(["it-en", "en-it", "ro-en", "en-ro"], 2, 16, 32).write(tmp_path / "importance")

    def tdo(*words: str) -> str:
        done = run("python", "-m", "tdo_plugin", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return done.stdout

    words = ("--by", "separate", "--general", "0.5", "--out", "masks")
    tdo("neurons", "allocate", "importance", *words)
    masks = Masks.read(tmp_path / "masks")
    assert masks.about["importance"] == Importance.read(tmp_path / "importance").digest
    # by source and by target language there are three groups each
    encoder, decoder = (f"{name}_layers.0.feed_forward.inner" for name in ("encoder", "decoder"))
    assert masks.modules[encoder][1].equal(masks.modules[encoder][3])
    assert masks.modules[decoder][0].equal(masks.modules[decoder][2])
    printed = tdo("neurons", "draw", "allocation", "masks", "--out", "a")
    printed += tdo("neurons", "draw", "importance", "importance", "--out", "b")
    named = [Path(line) for line in printed.splitlines() if line.startswith(str(tmp_path))]
    files = {path for name in "ab" for path in (tmp_path / name).iterdir()}
    assert set(named) == files and len(named) == len(files) == 10 + 7
