"""Who is trained by what: TPDM's generator, the model, and when either stands still."""

import pytest
import torch
from support.criterion_models import Optimizer
from support.tpdm_cases import EXACT, UPDATE, adversary, copies, made, objective, same

from tdo_plugin.criterions.loss_terms import Update


def test_a_generator_step_lowers_its_loss_and_changes_no_parameter_of_the_model():
    _, model, criterion, batch = made()
    before, generator = copies(model), copies(adversary(criterion).generator)
    losses = [float(objective(model, criterion, batch, UPDATE)[1]["tpdm_g"]) for _ in range(30)]
    assert losses[-1] < 0.8 * losses[0]
    assert losses[1] < losses[0]
    assert same(before, copies(model))
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not same(generator, copies(adversary(criterion).generator))


def test_the_generator_is_trained_before_the_mutual_information_counts():
    _, model, criterion, batch = made("--tpdm-disentangle-start", "3")
    before = copies(adversary(criterion).generator)
    objective(model, criterion, batch, Update(0.01, 0))
    assert not same(before, copies(adversary(criterion).generator))


def test_a_model_step_changes_no_parameter_of_the_generator():
    _, model, criterion, batch = made()
    loss, _ = objective(model, criterion, batch, UPDATE)
    before, model_before = copies(adversary(criterion).generator), copies(model)
    loss.backward()
    assert all(parameter.grad is None for parameter in adversary(criterion).generator.parameters())
    for part in ("semantic", "positional"):
        grads = [
            parameter.grad
            for name, parameter in model.named_parameters()
            if f"pre_ffn.{part}" in name
        ]
        assert grads and all(grad.abs().sum() > 0 for grad in grads)
    torch.optim.SGD(model.parameters(), 0.1).step()
    assert same(before, copies(adversary(criterion).generator))
    assert not same(model_before, copies(model))


def test_the_bound_is_measured_with_the_generator_s_new_weights():
    _, model, criterion, batch = made()
    loss, _ = objective(model, criterion, batch, UPDATE)
    again, _ = objective(model, criterion, batch)
    assert torch.equal(loss.detach(), again.detach())


@pytest.mark.parametrize(
    "update",
    [None, Update(lr=0.01, dummy=True), Update(lr=0.01, first=False)],
    ids=["validation", "dummy batch", "a hook's later batch"],
)
def test_the_generator_stands_still(update):
    _, model, criterion, batch = made()
    before = copies(adversary(criterion).generator)
    objective(model, criterion, batch, update)
    assert same(before, copies(adversary(criterion).generator))


def test_the_generator_s_steps_on_a_batch_are_so_many_of_one():
    _, _, several, batch = made("--tpdm-generator-steps", "3")
    _, model, single, _ = made()
    for _ in range(3):
        objective(model, single, batch, UPDATE)
    objective(model, several, batch, UPDATE)
    actual, expected = (copies(adversary(criterion).generator) for criterion in (several, single))
    torch.testing.assert_close(actual, expected, **EXACT)


def test_the_task_tells_of_each_update():
    task, model, criterion, batch = made()
    seen, original = [], type(criterion).forward

    class Twice:
        def batches(self, sample, model, update):
            return [sample, sample], {}

    def forward(self, *args, **kwargs):
        seen.append(self.update)
        return original(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(criterion), "forward", forward)
        optimizer = Optimizer(0.25)
        task.train_step(batch, model, criterion, optimizer, 0)
        task.train_step(batch, model, criterion, optimizer, 1, ignore_grad=True)
        task.step_hooks = [Twice()]
        task.train_step(batch, model, criterion, optimizer, 2)
        task.valid_step(batch, model, criterion)
    dummy, later = Update(0.25, 1, dummy=True), Update(0.25, 2, first=False)
    assert seen == [Update(0.25, 0), dummy, Update(0.25, 2), later, None]


def test_generators_start_alike_and_leave_random_numbers_alone():
    criterions, numbers = [], []
    for flags in ((), ("--tpdm-disentangle-weight", "0")):
        _, _, criterion, _ = made(*flags)
        criterions.append(criterion)
        numbers.append(torch.rand(1))
    assert adversary(criterions[1]) is None
    assert torch.equal(*numbers)
    again = made()[2]
    start = copies(adversary(criterions[0]).generator)
    assert same(start, copies(adversary(again).generator))


def test_without_mutual_information_there_is_no_generator():
    task, model, criterion, batch = made("--tpdm-disentangle-weight", "0")
    _, logs = objective(model, criterion, batch, UPDATE)
    assert "tpdm_p" in logs and not {"tpdm_d", "tpdm_g"} & set(logs)
    assert "remembered" not in task.state_dict()
