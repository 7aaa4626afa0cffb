"""``tdo average`` on synthetic checkpoints, and on those of a real training."""

from argparse import Namespace

import pytest
import torch
from support import data
from support.commands import told

from tdo_compat.checkpoint import CheckpointError, safe_load
from tdo_plugin.checkpoints import average, best_of, last_of


def parameters(seed, dtype=torch.float32):
    torch.manual_seed(seed)
    embedding = torch.randn(5, 3, dtype=torch.float64).to(dtype)
    return {
        "source.weight": embedding,
        "output.weight": embedding,
        "layer.weight": torch.randn(3, 3, dtype=torch.float64).to(dtype),
        "layer.copy": torch.randn(3, 3, dtype=torch.float64).to(dtype),
        "version": torch.tensor([seed]),
    }


def checkpoint(updates, loss=None, model=None, **changed):
    """As fairseq's trainer writes it; ``changed`` are options of the model."""
    options = {"arch": "tdo_transformer", "tdo_layers": 2, "dropout": 0.1, "data": f"d{updates}"}
    return {
        "args": None,
        "cfg": {
            "task": Namespace(task="tdo_translation"),
            "model": Namespace(**{**options, **changed}),
            "checkpoint": {"maximize_best_checkpoint_metric": False},
        },
        "model": parameters(updates) if model is None else model,
        "criterion": None,
        "optimizer_history": [{"num_updates": updates, "lr_scheduler_state": {}}],
        "task_state": {"languages": ["en", "de"]},
        "extra_state": {"val_loss": loss, "best": 0.0, "metrics": {"a": []}}
        | {"train_iterator": {"epoch": updates}},
        "last_optimizer_state": {"state": torch.zeros(1000)},
    }


@pytest.fixture
def save(tmp_path):
    """``save(name, state)`` writes one file; returns its path."""

    def write(name, state):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        torch.save(state, path)
        return path

    return write


@pytest.fixture
def folder(save, tmp_path):
    """Three epochs and four intervals of updates, the best and the last as copies."""
    losses = {10: 5.0, 20: 3.0, 30: 3.5, 40: float("nan"), 50: 3.25, 60: None, 70: 4.0}
    names = {10: "_1_10", 20: "1", 30: "_2_30", 40: "_2_40", 50: "2", 60: "_3_60", 70: "3"}
    for updates, loss in losses.items():
        save(f"run/checkpoint{names[updates]}.pt", checkpoint(updates, loss))
    save("run/checkpoint_best.pt", checkpoint(20, 3.0))
    save("run/checkpoint_last.pt", checkpoint(70, 4.0))
    (tmp_path / "run" / "train.log").write_text("no checkpoint\n")
    return tmp_path / "run"


def names(paths):
    return [path.name for path in paths]


def test_last_goes_by_updates(folder, tmp_path):
    last = ["checkpoint3.pt", "checkpoint_3_60.pt", "checkpoint2.pt", "checkpoint_2_40.pt"]
    assert names(last_of(folder, 4)) == last
    for updates in (9, 10, 11):  # no file is read whose name tells
        (tmp_path / f"checkpoint_1_{updates}.pt").write_bytes(b"")
    assert names(last_of(tmp_path, 2)) == ["checkpoint_1_11.pt", "checkpoint_1_10.pt"]


def test_best_goes_by_validation_and_takes_no_copy(folder):
    assert names(best_of(folder, 3)) == ["checkpoint1.pt", "checkpoint2.pt", "checkpoint_2_30.pt"]
    assert names(best_of(folder, 1, since=20)) == ["checkpoint1.pt"]
    assert names(best_of(folder, 1, since=30)) == ["checkpoint2.pt"]
    assert names(best_of(folder, 2, since=31)) == ["checkpoint2.pt", "checkpoint3.pt"]


EQUAL = {10: 3.0, 30: 3.0, 20: 3.0}


@pytest.mark.parametrize(
    ("maximize", "scores", "best"),
    [
        (True, {10: 20.0, 20: 31.5, 30: 30.0}, [20, 30]),
        (False, EQUAL, [30, 20]),
        (True, EQUAL, [30, 20]),
    ],
)
def test_of_a_score_the_highest_is_best_and_of_equals_the_later(
    save, tmp_path, maximize, scores, best
):
    for updates, score in scores.items():
        state = checkpoint(updates, score)
        state["cfg"]["checkpoint"]["maximize_best_checkpoint_metric"] = maximize
        save(f"run/checkpoint_1_{updates}.pt", state)
    expected = [f"checkpoint_1_{updates}.pt" for updates in best]
    assert names(best_of(tmp_path / "run", 2)) == expected


def test_best_finds_what_fairseq_kept(folder, save):
    """fairseq rounds the loss in the name and adds a digit; the stored loss decides."""
    save("run/checkpoint.best_loss_2.5001.pt", checkpoint(5, 2.4996))
    save("run/checkpoint.best_loss_2.5000.pt", checkpoint(6, 2.5004))
    assert names(best_of(folder, 3)) == [
        "checkpoint.best_loss_2.5001.pt",
        "checkpoint.best_loss_2.5000.pt",
        "checkpoint1.pt",
    ]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_mean_is_taken_in_float64(save, dtype):
    models = {updates: parameters(updates, dtype) for updates in (30, 10, 20)}
    paths = [save(f"{n}.pt", checkpoint(n, model=model)) for n, model in models.items()]
    result = average(paths)["model"]
    for name in ("source.weight", "output.weight", "layer.weight", "layer.copy"):
        exact = sum(model[name].double() for model in models.values()) / 3
        assert torch.equal(result[name], exact.to(dtype))
    assert torch.equal(result["version"], torch.tensor([30]))
    for path, model in zip(paths, models.values(), strict=True):
        stored = safe_load(path)["model"]
        assert all(torch.equal(stored[name], value) for name, value in model.items())


def test_what_is_kept_and_what_is_dropped(save):
    paths = [save(f"{updates}.pt", checkpoint(updates, updates / 10)) for updates in (20, 30, 10)]
    state = average(paths)
    assert set(state) == {
        *("args", "cfg", "criterion", "model", "optimizer_history", "task_state", "extra_state")
    }
    assert state["cfg"]["model"].data == "d30"
    assert state["optimizer_history"][-1]["num_updates"] == 30
    assert state["task_state"] == {"languages": ["en", "de"]}
    assert state["extra_state"] == {
        "train_iterator": {"epoch": 30},
        "val_loss": None,
        "averaged": [
            {"name": "20.pt", "num_updates": 20, "val_loss": 2.0},
            {"name": "30.pt", "num_updates": 30, "val_loss": 3.0},
            {"name": "10.pt", "num_updates": 10, "val_loss": 1.0},
        ],
    }


def test_tied_parameters_stay_tied_unless_one_input_has_them_apart(save):
    first, second = save("a.pt", checkpoint(1)), save("b.pt", checkpoint(2))
    model = average([first, second])["model"]
    assert model["source.weight"].data_ptr() == model["output.weight"].data_ptr()
    assert model["layer.weight"].data_ptr() != model["layer.copy"].data_ptr()
    apart = parameters(2)
    apart["output.weight"] = apart["output.weight"] + 1
    model = average([first, save("c.pt", checkpoint(2, model=apart))])["model"]
    shared = (parameters(1)["source.weight"].double() + parameters(2)["source.weight"]) / 2
    assert torch.allclose(model["source.weight"].double(), shared, atol=1e-6)
    assert torch.allclose(model["output.weight"].double(), shared + 0.5, atol=1e-6)


def changed(**parts):
    """A checkpoint whose parameters are others."""
    model = parameters(2) | {name.replace("_", "."): value for name, value in parts.items()}
    kept = {name: value for name, value in model.items() if value is not None}
    return checkpoint(2, model=kept)


@pytest.mark.parametrize(
    ("second", "part"),
    [
        (changed(layer_copy=None), "layer.copy, which only one of"),
        (changed(more=torch.ones(1)), "more, which only one of"),
        (changed(layer_copy=torch.ones(3, 4)), "layer.copy: float32 [3, 3] and float32 [3, 4]"),
        (changed(layer_copy=torch.ones(3, 3).half()), "float32 [3, 3] and float16 [3, 3]"),
        (changed(layer_weight=torch.full((3, 3), torch.inf)), "layer.weight in"),
        (checkpoint(2, tdo_layers=3), "tdo_layers: 2 and 3"),
        (checkpoint(2, arch="transformer"), 'arch: "tdo_transformer" and "transformer"'),
        (checkpoint(2, tdo_norm="pre"), 'tdo_norm: "post" and "pre"'),
        (checkpoint(2, encoder_langtok="src"), "encoder_langtok"),
        (checkpoint(2, tdo_tpdm_layer=1), "tdo_tpdm_layer: 0 and 1"),  # an older one lacks it
        (checkpoint(2) | {"task_state": {"languages": ["en", "fr"]}}, "languages of the task's"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_different_models_are_refused(save, tmp_path, refused, second, part):
    paths = save("a.pt", checkpoint(1)), save("b.pt", second)
    refused("average", "--path", *paths, "--out", tmp_path / "out.pt", names=part)


def test_options_that_train_only_or_are_off_may_differ(save):
    first = save("a.pt", checkpoint(1))
    second = checkpoint(2, dropout=0.3, lr=[0.1], tdo_freeze_embeddings=True, save_dir="elsewhere")
    assert average([first, save("b.pt", second)])
    newer = checkpoint(2, tdo_tpdm_layer=0, tdo_tpdm_gate="none")
    assert average([first, save("c.pt", newer)])


def test_what_else_a_checkpoint_remembers_is_the_newest_s(save):
    states = [checkpoint(1), checkpoint(2)]
    for number, state in enumerate(states):
        state["task_state"]["remembered"] = {"part": torch.full((2,), float(number))}
    mean = average([save(f"{number}.pt", state) for number, state in enumerate(states)])
    assert mean["task_state"]["remembered"]["part"].tolist() == [1, 1]


def test_an_entry_that_fairseq_never_sets_may_hold_anything(save):
    """fairseq's sinusoidal positions save an uninitialised number."""
    name, paths = "encoder.embed_positions._float_tensor", []
    for updates, value in enumerate((1.0, float("nan"))):
        state = checkpoint(updates)
        state["model"][name] = torch.tensor([value])
        paths.append(save(f"{updates}.pt", state))
    mean = average(paths)["model"]
    expected = sum(checkpoint(updates)["model"]["layer.weight"] for updates in (0, 1)) / 2
    assert torch.equal(mean["layer.weight"], expected)
    assert name in mean


def test_what_is_refused(folder, save, tmp_path, refused):
    file, cut = save("a.pt", checkpoint(1)), tmp_path / "cut.pt"
    cut.write_bytes(file.read_bytes()[:-600])
    with pytest.raises(CheckpointError):
        average([cut])
    refused.rows(
        """
        average --out {out} --path {file}
            {cut}                         :: {cut}
            {foreign}                     :: {foreign}
            {file}                        :: once
            --last 1                      :: --last
            --out {file} --fresh       :: --out
            --out {folder}             :: --out
            --out {file}/out.pt        :: --out
        average --out {out} --path {folder} :: --best
            {file} --last 1               :: one folder
            --last 9                      :: 7
            --best 6                      :: 5
            --last 0                      :: --last
            --best -1                     :: --best
            --best 3 --from-update 31     :: 31
            --last 1 --from-update 5      :: --from-update
        """,
        out=tmp_path / "out.pt",
        file=file,
        cut=cut,
        foreign=save("foreign.pt", {"weights": torch.ones(2)}),
        folder=folder,
    )


def test_the_command_writes_and_tells(folder, tmp_path, capsys, refused):
    out = tmp_path / "new" / "average.pt"
    words = ("average", "--path", folder, "--best", "2", "--out", out)
    text, _ = told(capsys, *words)
    assert "averaging 2 checkpoints" in text
    assert f"{folder / 'checkpoint1.pt'}: 20 updates, validation 3" in text
    assert f"{folder / 'checkpoint2.pt'}: 50 updates, validation 3.25" in text
    assert f"written: {out}" in text
    assert list(out.parent.iterdir()) == [out]

    model = safe_load(out)["model"]
    expected = (parameters(20)["layer.weight"].double() + parameters(50)["layer.weight"]) / 2
    assert torch.equal(model["layer.weight"], expected.float())
    assert model["source.weight"].data_ptr() == model["output.weight"].data_ptr()

    before = out.read_bytes()
    refused(*words, names="--fresh")
    assert out.read_bytes() == before
    for more, taken in (([], [20, 50]), (["--from-update", "31"], [50, 70])):
        told(capsys, *words, *more, "--fresh")
        averaged = safe_load(out)["extra_state"]["averaged"]
        assert [entry["num_updates"] for entry in averaged] == taken


def test_of_a_real_training(tmp_path, capsys):
    """Checkpoints of fairseq-train, averaged, decode in fairseq-generate."""
    task = ("--task", "tdo_translation", *data.TASK, *data.TAG)
    every = ("--save-interval-updates", "2", "--max-update", "6", "--keep-best-checkpoints", "2")
    data.train(tmp_path, *task, *data.TRAIN, *data.TDO, *data.CROSS_ENTROPY, *every)
    for option in ("--last", "--best"):
        out = tmp_path / f"average{option}.pt"
        told(capsys, "average", "--path", tmp_path, option, "2", "--out", out)

    averaged = safe_load(tmp_path / "average--last.pt")
    taken = [tmp_path / entry["name"] for entry in averaged["extra_state"]["averaged"]]
    assert [entry["num_updates"] for entry in averaged["extra_state"]["averaged"]] == [6, 4]
    models = [safe_load(path)["model"] for path in taken]
    for name, value in averaged["model"].items():
        assert torch.equal(value, ((models[0][name].double() + models[1][name]) / 2).float())
    kept = {path.name for path in tmp_path.glob("checkpoint.best_loss_*.pt")}
    best = safe_load(tmp_path / "average--best.pt")["extra_state"]["averaged"]
    losses = sorted(safe_load(tmp_path / name)["extra_state"]["val_loss"] for name in kept)
    assert [entry["val_loss"] for entry in best] == losses

    search = ("-s", "de", "-t", "fr", "--beam", "2", "--max-len-b", "8")
    output = data.generate(*task, *search, "--path", str(tmp_path / "average--last.pt"))
    assert output.count("\nH-") == 6
