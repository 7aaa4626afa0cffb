"""`tdo estimate --memory`: bytes of a worker, by part."""

import argparse

import pytest
import torch
from support.commands import told
from support.data import INSTRUCL, TAG, TASK, TRAIN, built, iterate

from tdo_plugin.costs import training_bytes
from tdo_plugin.runtime.memory import gib, machine_memory
from tdo_plugin.tasks.required_parts import check_memory

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN)
SIZES = training_bytes.Parameters(total=1000, root=100, layer=90)
WIDE = ("--tdo-model-dim", "32", "--tdo-heads", "4", "--tdo-ffn-dim", "96", "--dropout", "0.1")
MODELS = {
    "two-stage": (
        *("--arch", "tdo_transformer", "--tdo-layers", "12", "--tdo-target-layer", "6"),
        *("--tdo-adaptation-dim", "64"),
    ),
    "encoder-decoder": (
        *("--arch", "tdo_encoder_decoder", "--tdo-encoder-layers", "6"),
        *("--tdo-decoder-layers", "6"),
    ),
}


def test_bytes_of_whole_models_are_those_of_the_guide():
    """docs/guide/scale.md: 20 bytes a parameter in half precision, 16 in fp32, and buffers."""
    cases = ((1, True, 20_000), (8, True, 22_000), (1, False, 16_000), (8, False, 20_000))
    for workers, half, total in cases:
        assert training_bytes.whole_bytes(SIZES, workers, half=half).total == total


def test_sharded_bytes_fall_as_the_number_of_workers():
    """All but what is gathered for the largest units."""
    two, many = (
        training_bytes.sharded_bytes(SIZES, n, True, keeps=False, accumulates=True)
        for n in (2, 200)
    )
    assert two.optimizer == 100 * many.optimizer and two.weights == 100 * many.weights
    assert two.gathered == many.gathered == 2 * (100 + 2 * 90)
    assert two.total - many.total == pytest.approx(16 * 1000 * (1 / 2 - 1 / 200))
    kept = training_bytes.sharded_bytes(SIZES, 2, True, keeps=True, accumulates=True)
    assert kept.gathered == 2 * 1000 and kept.gradients == 4 * 500 + 4 * 1000


@pytest.mark.parametrize(
    ("name", "more"),
    [*((name, ()) for name in MODELS), ("two-stage", ("--checkpoint-activations",))],
)
def test_activations_are_those_of_a_training_step(name, more):
    """What a step keeps, counted tensor by tensor, in fp32 on a CPU."""
    flags = (*BASE, *MODELS[name], *WIDE, *INSTRUCL, *more, "--instrucl-layer", "4")
    task, model, criterion = built(*flags)
    layers = list(model.core.stack.every_layer)
    weights = {part.untyped_storage().data_ptr() for part in model.parameters()}
    kept: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        held.append(tensor)  # so that no other takes its place
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights and tensor.dim():
            kept[storage.data_ptr()] = storage.size()
        return tensor

    held: list[torch.Tensor] = []
    (sample, *_) = sorted(iterate(task, "train"), key=lambda batch: -batch["ntokens"])
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        outputs = criterion(model.train(), sample)
    del outputs
    inputs = sample["net_input"]
    source, target = inputs["src_tokens"].numel(), inputs["prev_output_tokens"].numel()
    spec = model.core.spec
    mean = (source * len(layers) + target * 6) / (len(layers) + 6) if name == "two-stage" else None
    tokens = mean or (source + target) / 2
    batch = training_bytes.activations(spec, 1, 0, half=False, instrucl_layer=4)
    expected = tokens * (batch.inputs if more else batch.kept)
    assert sum(kept.values()) == pytest.approx(expected, rel=0.3 if more else 0.15)


def test_parameters_outside_of_layers_are_gathered_for_a_whole_step():
    core = built(*BASE, *MODELS["two-stage"], *WIDE)[1].core
    count = training_bytes.count_trained(core.spec, 35, 35)
    assert count.total == sum(part.numel() for part in core.parameters())
    assert count.layer == sum(part.numel() for part in core.stack.layers[0].parameters())
    assert count.root == count.total - 12 * count.layer


def test_a_table_for_each_config(tmp_path, capsys):
    path = tmp_path / "one.conf"
    path.write_text("--arch tdo_transformer_small\n--max-tokens 1000\nprecision bf16\n")
    said, _ = told(capsys, "estimate", path, "--vocab-size", "50", "--memory", "4")
    title, columns, *rows, note, machine = said.splitlines()
    assert "bf16, batches of 1,000 + 1,000 tokens; GiB of one of 4 workers" in title
    assert columns.split(maxsplit=2) == ["whole", "sharded", "gathered once"]
    last = [row[2:33].strip() for row in rows][-2:]
    assert last == ["activations, checkpointed", "total, checkpointed"]
    assert "not measurements" in note and machine == f"This machine has {gib(machine_memory())}"
    said, _ = told(capsys, "estimate", path, "--memory", "1")
    assert "sharded" not in said and "process on a CPU, in fp32" in said


def test_a_training_that_does_not_fit_says_so(monkeypatch, caplog):
    model = built(*BASE, *MODELS["two-stage"], *WIDE)[1]
    args = argparse.Namespace(cpu=True, bf16=False)
    least = training_bytes.process_bytes(0)
    for memory, tokens, workers, backend, again, warned in (
        (least, 4000, 1, "c10d", False, True),
        (2 * least, 4000, 1, "c10d", False, False),
        (2 * least, 4000, 3, "legacy_ddp", False, True),
        (least, 4000, 3, "fully_sharded", False, False),
        (2 * least, 60_000, 1, "c10d", False, True),
        (2 * least, 60_000, 1, "c10d", True, False),
        (least, None, 1, "c10d", False, False),
    ):
        monkeypatch.setattr("tdo_plugin.runtime.memory.machine_memory", lambda: memory)  # noqa: B023
        args.max_tokens, args.checkpoint_activations = tokens, again
        args.distributed_world_size, args.ddp_backend = workers, backend
        caplog.clear()
        check_memory(model, args)
        assert ("half of --max-tokens" in caplog.text) == warned
