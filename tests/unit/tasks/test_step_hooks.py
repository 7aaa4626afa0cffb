"""A batch that becomes several: what is trained on, what is logged, and when workers meet."""

from contextlib import contextmanager

import pytest
import torch
from support.criterion_models import Optimizer
from support.data import CROSS_ENTROPY, TAG, TASK, TDO, TRAIN, built, iterate
from support.workers import in_torch_s_wrapper

from tdo_plugin.runtime.jobs import run_jobs
from tdo_plugin.tasks.step_hooks import batches_of, in_one_update, summed, unwrapped

FLAGS = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *TDO, *CROSS_ENTROPY, "--dropout", "0")


class Hook:
    """Makes as many batches as a list says for each update, of words or of tensors."""

    def __init__(self, counts, name="hook"):
        self.counts, self.name, self.logged = counts, name, []

    def batches(self, sample, model, update):
        number = self.counts[update]
        return [sample] * number, {f"{self.name}_batches": number, f"{self.name}_calls": 1}

    def log(self, logging_outputs):
        self.logged.append(logging_outputs)


def step(task, sample, model, criterion, update=0):
    loss, size, logs = task.train_step(sample, model, criterion, Optimizer(), update)
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    return loss, size, logs, gradients


# --- in one process --------------------------------------------------------------------------


def test_each_hook_gets_every_batch_of_the_one_before():
    batches, logs = batches_of([Hook([2], "first"), Hook([3], "second")], "batch", None, 0)
    assert batches == ["batch"] * 6
    first = {"first_batches": 2, "first_calls": 1}
    assert logs == {**first, "second_batches": 6, "second_calls": 2}


def test_without_hooks_a_batch_is_itself():
    assert batches_of([], "batch", None, 0) == (["batch"], {})


def test_logs_are_added_up_whatever_they_are():
    logs = [{"a": 1, "b": torch.tensor(0.5)}, {"a": 2, "b": torch.tensor(0.25)}]
    assert summed(logs) == {"a": 3, "b": torch.tensor(0.75)}
    assert summed([{"text": ["kept"]}]) == {"text": ["kept"]}


def test_losses_sizes_logs_and_gradients_are_sums():
    task, model, criterion = built(*FLAGS)
    sample = iterate(task, "train")[0]
    loss, size, logs, once = step(task, sample, model, criterion)
    task.step_hooks.append(Hook([3]))
    threefold = step(task, sample, model, criterion)
    torch.testing.assert_close(threefold[0], 3 * loss)
    assert threefold[1] == 3 * size
    assert threefold[2].pop("hook_batches") == 3
    assert threefold[2].pop("hook_calls") == 1
    assert threefold[2].keys() == logs.keys()
    for key, value in logs.items():
        assert float(threefold[2][key]) == pytest.approx(3 * float(value)), key
    for name, gradient in once.items():
        torch.testing.assert_close(threefold[3][name], 3 * gradient)


def test_hooks_log_in_training_alone():
    task, _, criterion = built(*FLAGS)
    hook = Hook([1])
    task.step_hooks.append(hook)
    logs = [{"loss": 1.0, "nll_loss": 1.0, "ntokens": 1, "nsentences": 1, "sample_size": 1}]
    task.reduce_metrics(logs, criterion.eval())
    assert not hook.logged
    task.reduce_metrics(logs, criterion.train())
    assert hook.logged == [logs]


# --- in several ------------------------------------------------------------------------------


class Shared(torch.nn.Module):
    """A wrapper that notes which passes workers do not hear of."""

    def __init__(self, module):
        super().__init__()
        self.module, self.alone, self.passes = module, False, []

    @contextmanager
    def no_sync(self):
        self.alone = True
        yield
        self.alone = False

    def forward(self, *args, **kwargs):
        self.passes.append(self.alone)
        return self.module(*args, **kwargs)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_workers_meet_at_the_last_pass(count):
    task, model, criterion = built(*FLAGS)
    wrapped = Shared(model)
    wrapped.get_targets, wrapped.set_num_updates = model.get_targets, model.set_num_updates
    wrapped.get_normalized_probs = model.get_normalized_probs
    task.step_hooks.append(Hook([count]))
    task.train_step(iterate(task, "train")[0], wrapped, criterion, Optimizer(), 0)
    assert wrapped.passes == [True] * (count - 1) + [False]
    assert unwrapped(Shared(wrapped)) is model


def test_a_model_of_one_process_has_nothing_to_keep_back():
    model = torch.nn.Linear(1, 1)
    for batch in in_one_update([torch.ones(1, 1)] * 3, model, None):
        model(batch).sum().backward()
    assert model.weight.grad.item() == 3


COUNTS = ([2, 1, 3, 1], [1, 2, 1, 1])  # batches of each worker at each update


def test_workers_with_different_numbers_of_batches_do_not_wait_for_each_other(tmp_path):
    """torch's own wrapper, which lays its buckets out anew at the second update."""
    task, model, criterion = built(*FLAGS)
    samples = iterate(task, "train")[:2]

    def work(rank):
        def train(wrapped):
            task.step_hooks = [Hook(COUNTS[rank])]
            gradients = []
            for update in range(len(COUNTS[0])):
                task.train_step(samples[rank], wrapped, criterion, Optimizer(), update)
                named = model.named_parameters()
                gradients.append({name: part.grad.clone().numpy() for name, part in named})
                model.zero_grad()
            return gradients

        return in_torch_s_wrapper(model, train, tmp_path / "meeting", rank, 2)

    by_rank = dict(run_jobs([(rank, lambda rank=rank: work(rank)) for rank in (0, 1)], 2))
    single = [step(task, sample, model, criterion)[3] for sample in samples]
    for update, counts in enumerate(zip(*COUNTS, strict=True)):
        for name in single[0]:
            mean = sum(n * gradients[name] for n, gradients in zip(counts, single, strict=True)) / 2
            for rank in (0, 1):
                gradient = torch.from_numpy(by_rank[rank][update][name])
                torch.testing.assert_close(gradient, mean, rtol=1e-4, atol=1e-4)
