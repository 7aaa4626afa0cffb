"""``tdo average`` on synthetic checkpoints, and on those of a real training."""

from argparse import Namespace

import pytest
import torch

from tdo_compat.checkpoint import CheckpointError, safe_load
from tdo_plugin import cli
from tdo_plugin.checkpoints import average, best_of, last_of
from tdo_plugin.errors import UserError


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
        "extra_state": {
            "train_iterator": {"epoch": updates},
            "val_loss": loss,
            "best": 0.0,
            "metrics": {"a": 1},
        },
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


def refused(capsys, *words):
    """The line that a mistake is answered with."""
    assert cli.main(["average", *map(str, words)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tdo average: error: ")
    assert error.count("\n") == 1
    return error


# --- which ---------------------------------------------------------------------------------------


def test_last_goes_by_updates(folder):
    assert names(last_of(folder, 4)) == [
        "checkpoint3.pt",
        "checkpoint_3_60.pt",
        "checkpoint2.pt",
        "checkpoint_2_40.pt",
    ]
    with pytest.raises(UserError, match=r"`--last` must be at most 7, .* it is 8"):
        last_of(folder, 8)


def test_last_reads_no_file_whose_name_tells(save, tmp_path):
    for updates in (9, 10, 11):
        (tmp_path / f"checkpoint_1_{updates}.pt").write_bytes(b"")
    assert names(last_of(tmp_path, 2)) == ["checkpoint_1_11.pt", "checkpoint_1_10.pt"]


def test_best_goes_by_validation_and_takes_no_copy(folder):
    assert names(best_of(folder, 3)) == ["checkpoint1.pt", "checkpoint2.pt", "checkpoint_2_30.pt"]
    with pytest.raises(UserError, match=r"`--best` must be at most 5, .* it is 6"):
        best_of(folder, 6)


def test_best_from_an_update_on(folder, tmp_path, capsys):
    assert names(best_of(folder, 1, since=30)) == ["checkpoint2.pt"]
    assert names(best_of(folder, 2, since=31)) == ["checkpoint2.pt", "checkpoint3.pt"]
    assert names(best_of(folder, 1, since=20)) == names(best_of(folder, 1))
    with pytest.raises(UserError, match=r"at most 2, .* from update 31 on; it is 3"):
        best_of(folder, 3, since=31)
    out = ["--output", tmp_path / "best.pt"]
    assert cli.main(["average", *map(str, ["--inputs", folder, "--best", "1", *out])]) == 0
    words = ["--inputs", folder, "--best", "1", "--from-update", "31", *out, "--force"]
    assert cli.main(["average", *map(str, words)]) == 0
    assert "checkpoint2.pt: 50 updates" in capsys.readouterr().out
    words = ("--inputs", folder, "--last", "1", "--from-update", "5")
    line = refused(capsys, *words, "--output", tmp_path / "out.pt")
    assert "`--from-update` must come with --best; it is 5" in line


def test_best_finds_what_fairseq_kept(folder, save):
    """fairseq rounds the loss in the name and adds a digit; the stored loss decides."""
    save("run/checkpoint.best_loss_2.5001.pt", checkpoint(5, 2.4996))
    save("run/checkpoint.best_loss_2.5000.pt", checkpoint(6, 2.5004))
    assert names(best_of(folder, 3)) == [
        "checkpoint.best_loss_2.5001.pt",
        "checkpoint.best_loss_2.5000.pt",
        "checkpoint1.pt",
    ]


def test_best_of_a_score_is_the_highest(save, tmp_path):
    for updates, score in ((10, 20.0), (20, 31.5), (30, 30.0)):
        state = checkpoint(updates, score)
        state["cfg"]["checkpoint"]["maximize_best_checkpoint_metric"] = True
        save(f"run/checkpoint_1_{updates}.pt", state)
    assert names(best_of(tmp_path / "run", 2)) == ["checkpoint_1_20.pt", "checkpoint_1_30.pt"]


@pytest.mark.parametrize("count", [0, -1])
def test_counts_are_positive(folder, count):
    for choose in (last_of, best_of):
        with pytest.raises(UserError, match=f"must be at least 1; it is {count}"):
            choose(folder, count)


# --- the mean ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_mean_is_taken_in_float64(save, dtype):
    models = [parameters(updates, dtype) for updates in (30, 10, 20)]
    paths = [
        save(f"{index}.pt", checkpoint(updates, model=model))
        for index, (updates, model) in enumerate(zip((30, 10, 20), models, strict=True))
    ]
    result = average(paths)["model"]
    for name in ("source.weight", "output.weight", "layer.weight", "layer.copy"):
        exact = sum(model[name].double() for model in models) / 3
        assert torch.equal(result[name], exact.to(dtype))
    assert torch.equal(result["version"], torch.tensor([30]))
    for path, model in zip(paths, models, strict=True):
        stored = safe_load(path)["model"]
        assert all(torch.equal(stored[name], value) for name, value in model.items())


def test_small_differences_survive_in_half_precision(save):
    """Summing these in half precision would lose all but the first."""
    values = [2048.0, 1.0, 1.0, 1.0]
    paths = [
        save(f"{index}.pt", checkpoint(index, model={"w": torch.tensor([value]).half()}))
        for index, value in enumerate(values)
    ]
    assert average(paths)["model"]["w"].item() == torch.tensor(2051 / 4).half().item()


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


def test_tied_parameters_stay_tied(save):
    model = average([save("a.pt", checkpoint(1)), save("b.pt", checkpoint(2))])["model"]
    assert model["source.weight"].data_ptr() == model["output.weight"].data_ptr()
    assert model["layer.weight"].data_ptr() != model["layer.copy"].data_ptr()


def test_tied_in_one_input_only_is_not_tied(save):
    apart = parameters(2)
    apart["output.weight"] = apart["output.weight"] + 1
    model = average([save("a.pt", checkpoint(1)), save("b.pt", checkpoint(2, model=apart))])[
        "model"
    ]
    shared = (parameters(1)["source.weight"].double() + parameters(2)["source.weight"]) / 2
    assert torch.allclose(model["source.weight"].double(), shared, atol=1e-6)
    assert torch.allclose(model["output.weight"].double(), shared + 0.5, atol=1e-6)


# --- what does not fit ---------------------------------------------------------------------------


def other_model(change):
    model = parameters(2)
    change(model)
    return checkpoint(2, model=model)


def other_languages():
    return {**checkpoint(2), "task_state": {"languages": ["en", "fr"]}}


@pytest.mark.parametrize(
    ("make_second", "part"),
    [
        (lambda: other_model(lambda m: m.pop("layer.copy")), "layer.copy, which only one of"),
        (lambda: other_model(lambda m: m.update(more=torch.ones(1))), "more, which only one of"),
        (
            lambda: other_model(lambda m: m.update({"layer.copy": torch.ones(3, 4)})),
            "layer.copy: float32 [3, 3] and float32 [3, 4]",
        ),
        (
            lambda: other_model(lambda m: m.update({"layer.copy": torch.ones(3, 3).half()})),
            "layer.copy: float32 [3, 3] and float16 [3, 3]",
        ),
        (lambda: checkpoint(2, tdo_layers=3), "tdo_layers: 2 and 3"),
        (lambda: checkpoint(2, arch="transformer"), 'arch: "tdo_transformer" and "transformer"'),
        (lambda: checkpoint(2, tdo_norm="pre"), 'tdo_norm: "post" and "pre"'),
        (lambda: checkpoint(2, encoder_langtok="src"), "encoder_langtok"),
        (other_languages, "languages of the task's state"),
        (
            lambda: other_model(lambda m: m["layer.weight"].fill_(float("inf"))),
            "must have finite parameters; layer.weight in",
        ),
    ],
)
def test_different_models_are_refused(save, tmp_path, capsys, make_second, part):
    paths = save("a.pt", checkpoint(1)), save("b.pt", make_second())
    assert part in refused(capsys, "--inputs", *paths, "--output", tmp_path / "out.pt")
    assert not (tmp_path / "out.pt").exists()


def test_options_that_train_only_may_differ(save):
    second = checkpoint(2, dropout=0.3, lr=[0.1], tdo_freeze_embeddings=True, save_dir="elsewhere")
    assert average([save("a.pt", checkpoint(1)), save("b.pt", second)])


def test_an_older_checkpoint_lacks_newer_options_that_are_off(save, tmp_path, capsys):
    newer = checkpoint(2, tdo_tpdm_layer=0, tdo_tpdm_gate="none")
    assert average([save("a.pt", checkpoint(1)), save("b.pt", newer)])
    with_tpdm = save("c.pt", checkpoint(3, tdo_tpdm_layer=1))
    words = ("--inputs", tmp_path / "a.pt", with_tpdm, "--output", tmp_path / "out.pt")
    assert "tdo_tpdm_layer: 0 and 1" in refused(capsys, *words)


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


def test_missing_damaged_and_foreign_files(save, tmp_path, capsys):
    good, out = save("a.pt", checkpoint(1)), ("--output", tmp_path / "out.pt")
    missing = tmp_path / "none.pt"
    assert f"{missing} does not" in refused(capsys, "--inputs", good, missing, *out)
    cut = tmp_path / "cut.pt"
    cut.write_bytes(good.read_bytes()[:-600])
    assert f"{cut} is not a complete checkpoint" in refused(capsys, "--inputs", good, cut, *out)
    foreign = save("foreign.pt", {"weights": torch.ones(2)})
    assert f"{foreign} does not" in refused(capsys, "--inputs", foreign, *out)
    assert "once" in refused(capsys, "--inputs", good, good, *out)
    with pytest.raises(CheckpointError):
        average([cut])
    assert not (tmp_path / "out.pt").exists()


def test_options_that_do_not_fit(folder, save, tmp_path, capsys):
    file, out = save("a.pt", checkpoint(1)), ("--output", tmp_path / "out.pt")
    assert "`--best` or `--last` must be given" in refused(capsys, "--inputs", folder, *out)
    both = refused(capsys, "--inputs", folder, file, "--last", 1, *out)
    assert "must be one folder or checkpoint files" in both
    files = refused(capsys, "--inputs", file, "--last", 1, *out)
    assert "`--last` must be left out with files" in files
    few = refused(capsys, "--inputs", folder, "--last", 9, *out)
    assert "`--last` must be at most 7" in few
    itself = refused(capsys, "--inputs", file, "--output", file, "--force")
    assert "`--output` must be none of the inputs" in itself
    assert "is a folder" in refused(capsys, "--inputs", file, "--output", folder)
    below = refused(capsys, "--inputs", file, "--output", file / "out.pt")
    assert "`--output` must be writable" in below
    assert not (tmp_path / "out.pt").exists()


# --- the command ---------------------------------------------------------------------------------


def test_the_command_writes_and_tells(folder, tmp_path, capsys):
    out = tmp_path / "new" / "average.pt"
    words = ["average", "--inputs", str(folder), "--best", "2", "--output", str(out)]
    assert cli.main(words) == 0
    text = capsys.readouterr().out
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
    words[words.index("--best")] = "--last"
    assert "`--force` given to overwrite it" in refused(capsys, *words[1:])
    assert out.read_bytes() == before
    assert cli.main([*words, "--force"]) == 0
    assert [entry["num_updates"] for entry in safe_load(out)["extra_state"]["averaged"]] == [70, 60]


def test_of_a_real_training(tmp_path, capsys):
    """Checkpoints of fairseq-train, averaged, decode in fairseq-generate."""
    from support import commands, data

    task = ("--task", "tdo_translation", *data.TASK, *data.TAG)
    every = ("--save-interval-updates", "2", "--max-update", "6", "--keep-best-checkpoints", "2")
    data.train(tmp_path, *task, *data.TRAIN, *data.TDO, *data.CROSS_ENTROPY, *every)
    for option in ("--last", "--best"):
        out = tmp_path / f"average{option}.pt"
        words = ["average", "--inputs", str(tmp_path), option, "2", "--output", str(out)]
        assert cli.main(words) == 0
    capsys.readouterr()

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

    output = commands.succeed(
        "generate",
        data.databin(),
        *("--user-dir", data.PACKAGE, *task, "--source-lang", "de", "--target-lang", "fr"),
        *("--path", tmp_path / "average--last.pt", "--beam", "2", "--cpu", "--batch-size", "3"),
    )
    assert output.count("\nH-") == 6
