"""Sharded training equals training with whole models, and its checkpoints are theirs."""

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from support.commands import logged
from support.covering import mostly_full
from support.data import (
    BOTH_WAYS,
    CROSS_ENTROPY,
    ENCODER_DECODER,
    INSTRUCL,
    TAG,
    TASK,
    TDO,
    TRAIN,
    built,
    iterate,
    train,
)
from support.ending import TWO_WORKERS, Training, trouble
from support.neuron_files import write_masks
from support.trainings import last_state
from support.workers import SHARDED, WHOLE, assert_same_states, trained

from tdo_compat.overflow import Diverged
from tdo_compat.sharded_model import joined_state, split_state
from tdo_compat.sharding import CannotShard, wrap_models
from tdo_plugin.analysis.neurons.neuron_importance import (
    METHODS,
    NeuronMeans,
    RealPositions,
    unlike,
)
from tdo_plugin.modules.methods.neurons import neuron_outputs

EXACT = {"rtol": 1e-9, "atol": 1e-9}
TDO_TASK = ("--task", "tdo_translation")
BASE = (*TASK, *TAG, *TRAIN, *TDO, "--no-epoch-checkpoints", "--max-update", "3")
QUIET = (*BASE, "--disable-validation")
KEEP = "--no-reshard-after-forward"
CHECKPOINTS = "--checkpoint-activations"
SMOOTHED = ("--label-smoothing", "0.1")
TPDM = ("--criterion", "label_smoothed_cross_entropy_tpdm", *SMOOTHED)
TERMS = ("--criterion", "label_smoothed_cross_entropy_terms", *SMOOTHED)
LEXICAL = (*TERMS, "--loss-terms", "lexical,instrucl,reconstruction", "--lexical-updates", "9")
ACCUMULATED = ("--update-freq", "2", "--max-tokens", "60", "--clip-norm", "0.5")
FEW = ("--robt-share", "0.3", "--max-tokens", "40", "--update-freq", "3")
AWARE = (*TDO_TASK, *QUIET, *INSTRUCL, "--tdo-laln", "both", "--tdo-lalt", "identity")

PLAIN = (*TDO_TASK, *QUIET)
MERGED = ("--tdo-decoder-attention", "merged")
GATE = ("--tdo-tpdm-gate", "hard-concrete")
OWN_PARTS = ("--tdo-adapter-dim", "4", "--tdo-ffn-experts", "target")
CASES = {
    "InstruCL, language-aware": (*AWARE, *ACCUMULATED),
    "gathered once": (*AWARE, *ACCUMULATED),
    "dropout": (*PLAIN, *INSTRUCL, "--dropout", "0.3"),
    "encoder-decoder": (*PLAIN, *ENCODER_DECODER, *INSTRUCL, "--tdo-norm", "pre"),
    "merged attention": (*PLAIN, *ENCODER_DECODER, *CROSS_ENTROPY, *MERGED),
    "TPDM": (*PLAIN, *TPDM, "--tdo-tpdm-layer", "1"),
    "GTPDM": (*PLAIN, *TPDM, "--tdo-tpdm-layer", "1", *GATE),
    # of small batches, some of which have nothing to translate
    "ROBT": ("--task", "tdo_robt", *QUIET, *INSTRUCL, *FEW),
    "terms, adapters, experts": (*PLAIN, *LEXICAL, *OWN_PARTS),
    # more than rows of some parameters: workers without any part
    "four workers": (*AWARE, "--max-tokens", "40", "--tdo-heads", "1", "--clip-norm", "0.5"),
    "frozen": (*PLAIN, *INSTRUCL, "--tdo-freeze-embeddings"),
    "scores": (*TDO_TASK, *BASE, *INSTRUCL, "--eval-translation", "all", "--eval-sentences", "4"),
}
SHARDED_ALONE = {"gathered once": KEEP, "ROBT": KEEP}
SHARDED_ALONE |= dict.fromkeys(("dropout", "encoder-decoder", "GTPDM"), CHECKPOINTS)


def numbers(trainer) -> dict[str, int]:
    """The numbers that a worker holds, by what they are, after an update."""
    state = trainer.optimizer.optimizer.state.values()
    of_state = sum(v.numel() for part in state for v in part.values() if torch.is_tensor(v))
    parameters = list(trainer.get_model().parameters())
    return {
        "whole": sum(part.numel() for part in parameters),
        "rows": sum(-(-len(part) // 2) * part[0].numel() for part in parameters),
        "weights": sum(part.untyped_storage().size() // 8 for part in trainer.model.parameters()),
        "gradients": sum(part.grad.numel() for part in trainer.model.parameters()),
        "state": of_state,
        "gathered": sum(not hasattr(part, "to_local") for part in parameters),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", mostly_full(CASES))
def test_two_workers_equal_those_with_whole_models(name, tmp_path):
    flags, more = CASES[name], [SHARDED_ALONE[name]] if name in SHARDED_ALONE else []
    count = 4 if name == "four workers" else 2
    whole = trained(count, tmp_path / "whole", *flags, *WHOLE)
    sharded = trained(count, tmp_path / "sharded", *flags, *SHARDED, *more, seen=numbers)
    for one, other in zip(whole, sharded, strict=True):
        for value in ("losses", "gnorm"):
            assert other[value] == pytest.approx(one[value], rel=1e-9)
    assert_same_states(tmp_path / "whole", tmp_path / "sharded", **EXACT)
    scores = [folder / "validation.jsonl" for folder in (tmp_path / "whole", tmp_path / "sharded")]
    assert [path.exists() for path in scores] == [name == "scores"] * 2
    if name == "scores":
        assert scores[0].read_text() == scores[1].read_text()
    if count == 4:
        return
    for worker in sharded:  # half of everything, and of each parameter at most a row more
        held = worker["seen"][-1]
        assert held["gathered"] == 0 and held["weights"] <= held["rows"] < 0.6 * held["whole"]
        assert held["gradients"] <= held["weights"] and held["state"] <= 2 * held["weights"]
    if name != "frozen":
        held = [worker["seen"][-1] for worker in sharded]
        assert sum(each["gradients"] for each in held) == held[0]["whole"]


# workers and back-end before and after
WAYS = [(2, SHARDED, 1, WHOLE), (1, WHOLE, 2, SHARDED), (2, SHARDED, 4, SHARDED)]
WAYS += [(2, SHARDED, 2, WHOLE), (2, WHOLE, 4, SHARDED)]


@pytest.mark.parametrize(("before", "first", "after", "then"), mostly_full(WAYS))
def test_resumed_by_other_workers(before, first, after, then, tmp_path):
    """Within an epoch, with dropout off, whose random numbers are a worker's."""
    flags = (*TDO_TASK, *QUIET[:-3], "--disable-validation", *INSTRUCL, "--dropout", "0")
    flags += ("--max-tokens", "40", "--clip-norm", "0.5")

    def updates(count: int, last: int) -> tuple[str, ...]:
        return (*flags, "--update-freq", str(4 // count), "--max-update", str(last))

    trained(1, tmp_path / "through", *updates(1, 4))
    trained(before, tmp_path / "parts", *updates(before, 2), *first)
    position = last_state(tmp_path / "parts")["extra_state"]["train_iterator"]
    assert position["iterations_in_epoch"] == 2 * 4 // before
    trained(after, tmp_path / "parts", *updates(after, 4), *then)
    assert_same_states(tmp_path / "through", tmp_path / "parts", **EXACT)


@pytest.mark.full
@pytest.mark.parametrize("precision", [("--bf16",), ("--fp16", "--fp16-no-flatten-grads")])
def test_half_precision(precision, tmp_path):
    """Weights in files are in single precision; the optimizer's state fits either way."""
    flags = (*TDO_TASK, *QUIET, *INSTRUCL, *precision)
    run = partial(trained, 2, double=False)
    whole, sharded = run(tmp_path / "w", *flags, *WHOLE), run(tmp_path / "s", *flags, *SHARDED)
    for one, other in zip(whole, sharded, strict=True):
        assert other["losses"] == pytest.approx(one["losses"], rel=1e-2)
    model = last_state(tmp_path / "s")["model"]
    assert {value.dtype for value in model.values()} == {torch.float32}
    assert any((value != value.to(torch.bfloat16)).any() for value in model.values())
    for name, backend in (("s", WHOLE), ("w", SHARDED)):
        longer = (*flags, *backend, "--max-update", "5")
        assert len(run(tmp_path / name, *longer)[0]["losses"]) == 2


@pytest.mark.full
def test_neurons_that_no_pair_uses_stay(tmp_path):
    flags = (*TDO_TASK, *QUIET, *INSTRUCL)
    train(tmp_path / "plain", *flags)
    start = tmp_path / "plain" / "checkpoint_last.pt"
    core = built(*flags)[1].core
    model = last_state(tmp_path / "plain")["model"]
    file = write_masks(tmp_path / "masks", core, BOTH_WAYS.split(","), model)
    flags += ("--tdo-neuron-masks", str(file), "--finetune-from-model", str(start))
    flags += ("--weight-decay", "0.1")
    for name, backend in (("whole", WHOLE), ("sharded", SHARDED)):
        trained(2, tmp_path / name, *flags, *backend)
    assert_same_states(tmp_path / "whole", tmp_path / "sharded", **EXACT)


@pytest.mark.full
def test_a_signal_ends_all_workers_with_a_whole_checkpoint(tmp_path):
    end = ("--max-update", "5", "--distributed-backend", "gloo", *SHARDED)
    through, _ = Training(tmp_path / "through", *end, torchrun=TWO_WORKERS).end()
    folder = tmp_path / "parts"
    happens = trouble(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)", update=2, rank=1)
    output, errors = Training(folder, *end, *happens, torchrun=TWO_WORKERS).end(143)
    assert "ended by a signal after update 3" in errors and "Traceback" not in errors
    rest, _ = Training(folder, *end, torchrun=TWO_WORKERS).end()
    assert logged(output, "loss") + logged(rest, "loss") == logged(through, "loss")
    assert_same_states(tmp_path / "through", folder, rtol=0, atol=0)


@pytest.mark.full
def test_a_failure_of_one_worker_is_one_line(tmp_path):
    """It does not try to gather a model for fairseq's crash.pt, for which it would wait."""
    flags = ("--max-update", "5", "--distributed-backend", "gloo", *SHARDED)
    happens = trouble(tmp_path, "raise ValueError('no luck')", update=2, rank=1)
    _, errors = Training(tmp_path / "run", *flags, *happens, torchrun=TWO_WORKERS).end(1)
    assert "no luck" in errors


@pytest.mark.full
def test_a_divergence_names_a_part_of_the_model(tmp_path):
    flags = (*TDO_TASK, *QUIET, *INSTRUCL, "--lr", "1e300", *SHARDED)
    with pytest.raises(Diverged, match=r"of update \d are not finite: the \w+ of \S+ is the first"):
        trained(2, tmp_path / "run", *flags)


def test_what_cannot_be_sharded():
    module = SimpleNamespace(DistributedFairseqModel=lambda args, *_: args.ddp_backend)
    wrap_models(module)
    wrap = partial(module.DistributedFairseqModel, model=torch.nn.Linear(1, 1))
    wrap = partial(wrap, process_group=None, device=None)
    assert wrap(SimpleNamespace(ddp_backend="legacy_ddp")) == "legacy_ddp"
    with pytest.raises(CannotShard, match="must be legacy_ddp for a Linear"):
        wrap(SimpleNamespace(ddp_backend="fully_sharded"))


def test_an_optimizer_that_sums_over_a_parameter_is_refused(tmp_path):
    flags = (*TDO_TASK, *QUIET, *INSTRUCL, *SHARDED, "--optimizer", "adafactor")
    with pytest.raises(CannotShard, match=r"such as adam, .* it is adafactor"):
        trained(2, tmp_path / "run", *flags)


def test_a_flat_state_is_that_of_all_parameters():
    """As fairseq has it in fp16 on a GPU."""
    shapes = [torch.Size(shape) for shape in ((3, 2), (4,), (1, 1))]
    parts = [{"step": 7, "exp_avg": torch.rand(shape)} for shape in shapes]
    groups = [{"lr": 0.1, "params": [0, 1, 2]}]
    state = {"state": dict(enumerate(parts)), "param_groups": groups, "loss_scale": 8}
    flat = joined_state(state)
    assert flat["param_groups"] == [{"lr": 0.1, "params": [0]}] and flat["loss_scale"] == 8
    expected = torch.cat([part["exp_avg"].flatten() for part in parts])
    torch.testing.assert_close(flat["state"], {0: {"step": 7, "exp_avg": expected}})
    again = split_state(flat, shapes)
    assert again["param_groups"] == groups
    torch.testing.assert_close(again["state"], state["state"])
    assert split_state(state, shapes) is state


# --- checkpointing of activations --------------------------------------------------------------

LAYERS = {
    "TDO": (*INSTRUCL,),
    "encoder-decoder": (*ENCODER_DECODER, *INSTRUCL),
    "TPDM": (*TPDM, "--tdo-tpdm-layer", "1"),
}


@pytest.mark.parametrize("name", mostly_full(LAYERS))
def test_layers_that_are_computed_again_change_nothing(name, tmp_path):
    """Bit for bit, with dropout."""
    flags = (*TDO_TASK, *QUIET, *LAYERS[name], "--dropout", "0.3", "--attention-dropout", "0.1")
    plain = train(tmp_path / "plain", *flags)
    assert train(tmp_path / "again", *flags, CHECKPOINTS) == plain
    assert_same_states(tmp_path / "plain", tmp_path / "again", rtol=0, atol=0)


def kept(model, criterion, sample) -> Iterator[int]:
    """Bytes of each tensor that a training step keeps for its backward pass, without weights."""
    weights = {part.untyped_storage().data_ptr() for part in model.parameters()}
    sizes = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            sizes[storage.data_ptr()] = storage.size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        criterion(model.train(), sample)[0].backward()
    yield from sizes.values()


def test_layers_that_are_computed_again_keep_only_their_input():
    layers = ("--tdo-layers", "12", "--tdo-target-layer", "6")
    sums = []
    for more in ((), (CHECKPOINTS,)):
        task, model, criterion = built(*TDO_TASK, *QUIET, *layers, *INSTRUCL, *more)
        sums.append(sum(kept(model, criterion, iterate(task, "train")[0])))
    assert sums[1] < sums[0] / 3


def test_an_analysis_computes_no_layer_again():
    """Its hooks, which change frozen models, are gone before the backward pass."""
    means = []
    for more in ((), (CHECKPOINTS,)):
        task, model, _ = built(*TDO_TASK, *QUIET, *INSTRUCL, *more)
        model.eval().requires_grad_(False)
        sample = iterate(task, "train")[0]
        fed, pad = sample["net_input"], model.core.padding_idx
        sides = fed["prev_output_tokens"], sample["target"]
        previous, target = (unlike(fed["src_tokens"], tokens, pad) for tokens in sides)
        fed = {**fed, "prev_output_tokens": previous, "smoothed_target": (target, 0.1)}
        neurons = NeuronMeans(neuron_outputs(model.core.stack), METHODS["taylor"])
        real = RealPositions(fed["src_tokens"].ne(pad), previous.ne(pad))
        neurons.add(real, lambda fed=fed, model=model: model(**fed)[1]["cross_entropy"][0])
        means.append(neurons.means)
    torch.testing.assert_close(*means, rtol=0, atol=0)
