"""The generator's own optimizer: its step, alone and among workers, and what is remembered."""

import copy

import pytest
import torch

from tdo_plugin.criterions.adversary import BETAS, Adversary
from tdo_plugin.criterions.loss_terms import Update
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.jobs import run_jobs

WIDTH = 4


class Generator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.linear = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, embeddings, padding):
        return self.linear(embeddings)


def batch(seed, length=3):
    torch.manual_seed(seed)
    embeddings = torch.randn(2, length, WIDTH, dtype=torch.float64)
    padding = torch.zeros(2, length, dtype=torch.bool)
    padding[1, 1:] = True
    return embeddings, padding


def loss_of(padding):
    return lambda guessed: (guessed.pow(2).sum(-1) * ~padding).sum()


def step(adversary, seed, update=None, length=3):
    embeddings, padding = batch(seed, length)
    adversary.step(embeddings, padding, loss_of(padding), update or Update(lr=0.1))


def weights(adversary):
    return [parameter.detach().clone() for parameter in adversary.generator.parameters()]


def test_a_step_is_adam_s_of_the_mean_loss():
    adversary = Adversary(Generator())
    plain = Generator().double()
    optimizer = torch.optim.Adam(plain.parameters(), lr=0.1, betas=BETAS)
    for seed in (1, 2, 3):
        step(adversary, seed)
        embeddings, padding = batch(seed)
        optimizer.zero_grad()
        (loss_of(padding)(plain(embeddings, padding)) / (~padding).sum()).backward()
        optimizer.step()
    torch.testing.assert_close(
        weights(adversary), [parameter.detach() for parameter in plain.parameters()]
    )


def test_one_token_is_enough_for_a_step_and_none_is_not():
    adversary = Adversary(Generator())
    embeddings, padding = torch.ones(1, 1, WIDTH, dtype=torch.float64), torch.tensor([[False]])
    before = weights(adversary)
    adversary.step(embeddings, ~padding, loss_of(~padding), Update(lr=0.1))
    torch.testing.assert_close(weights(adversary), [weight.double() for weight in before])
    adversary.step(embeddings, padding, loss_of(padding), Update(lr=0.1))
    assert not torch.equal(weights(adversary)[0], before[0].double())


def test_learning_rates():
    for rate, expected in ((0.0, 0.3), (0.02, 0.02)):
        adversary = Adversary(Generator(), rate)
        (before, _) = weights(adversary)
        step(adversary, 1, Update(lr=0.3))
        moved = (weights(adversary)[0] - before).abs().max()
        assert float(moved) == pytest.approx(expected, rel=1e-3)  # Adam's first step


def test_gradients_pass_and_leave_it_alone():
    adversary = Adversary(Generator())
    embeddings, padding = batch(1)
    embeddings.requires_grad_()
    adversary.guess(embeddings, padding).sum().backward()
    assert embeddings.grad.abs().sum() > 0
    assert all(parameter.grad is None for parameter in adversary.generator.parameters())


def test_a_first_step_of_what_is_not_finite_is_left_out():
    adversary = Adversary(Generator())
    before = weights(adversary)
    embeddings, padding = batch(1)
    adversary.step(embeddings * torch.inf, padding, loss_of(padding), Update(lr=0.1))
    assert all(map(torch.equal, before, weights(adversary)))
    step(adversary, 1)
    assert all(weight.isfinite().all() for weight in weights(adversary))


def test_steps_where_nothing_else_has_a_gradient():
    adversary = Adversary(Generator())
    before = weights(adversary)
    with torch.no_grad():
        step(adversary, 1)
    assert not torch.equal(before[0], weights(adversary)[0])


# --- workers ---------------------------------------------------------------------------------


def among_workers(folder, steps):
    """Two workers, each with its own (seed, update, length) for every step; weights after each."""

    def work(rank):
        from torch import distributed

        torch.set_num_threads(1)  # other threads of the test's process are not in this one
        place = f"file://{folder / 'meeting'}"
        distributed.init_process_group("gloo", init_method=place, rank=rank, world_size=2)
        adversary, history = Adversary(Generator()), []
        for by_worker in steps:
            step(adversary, *by_worker[rank])
            history.append([weight.numpy() for weight in weights(adversary)])
        distributed.destroy_process_group()
        return history

    histories = dict(run_jobs([(rank, lambda rank=rank: work(rank)) for rank in (0, 1)], 2))
    for first, second in zip(histories[0], histories[1], strict=True):
        for a, b in zip(first, second, strict=True):
            assert (a == b).all(), "the workers' generators differ"
    return [[torch.from_numpy(weight) for weight in parts] for parts in histories[0]]


def test_two_workers_with_the_same_batches_equal_one(tmp_path):
    history = among_workers(tmp_path, [[(seed,), (seed,)] for seed in (1, 2, 3)])
    adversary = Adversary(Generator())
    for seed, after_step in zip((1, 2, 3), history, strict=True):
        step(adversary, seed)
        torch.testing.assert_close(after_step, weights(adversary), rtol=0, atol=1e-12)


def test_workers_share_the_mean_over_all_tokens_and_dummies_count_nothing(tmp_path):
    real, dummy = Update(lr=0.1), Update(lr=0.1, dummy=True)
    steps = [[(1, real, 3), (2, real, 5)], [(3, real, 3), (4, dummy, 3)], [(5, dummy), (6, dummy)]]
    history = among_workers(tmp_path, steps)
    adversary = Adversary(Generator())
    (first, hidden), (second, more) = batch(1, 3), batch(2, 5)
    both = torch.zeros(4, 5, WIDTH, dtype=torch.float64)
    padding = torch.ones(4, 5, dtype=torch.bool)
    both[:2, :3], both[2:], padding[:2, :3], padding[2:] = first, second, hidden, more
    adversary.step(both, padding, loss_of(padding), real)
    torch.testing.assert_close(history[0], weights(adversary), rtol=0, atol=1e-12)
    step(adversary, 3)
    torch.testing.assert_close(history[1], weights(adversary), rtol=0, atol=1e-12)
    torch.testing.assert_close(history[2], history[1], rtol=0, atol=0)


# --- checkpoints -----------------------------------------------------------------------------


def test_goes_on_as_it_was():
    whole, begun = Adversary(Generator()), Adversary(Generator())
    for seed in (1, 2):
        step(whole, seed)
        step(begun, seed)
    state = copy.deepcopy(begun.state_dict())
    resumed = Adversary(Generator().float())
    resumed.load_state_dict(state)
    for adversary in (whole, resumed):
        step(adversary, 3)
    torch.testing.assert_close(weights(whole), weights(resumed), rtol=0, atol=1e-6)
    fresh = Adversary(Generator())
    fresh.load_state_dict(state, reset_optimizer=True)
    torch.testing.assert_close(weights(fresh), weights(begun), check_dtype=False)
    assert not fresh.optimizer.state


def test_a_checkpoint_without_a_generator():
    with pytest.raises(UserError, match="`--tpdm-new-generator` must be set to resume from a"):
        Adversary(Generator()).load_state_dict(None)
    other_size = {"generator": torch.nn.Linear(2, 2).state_dict(), "optimizer": {}}
    with pytest.raises(UserError, match="without a generator of this size; it is not"):
        Adversary(Generator()).load_state_dict(other_size)
    anew = Adversary(Generator(), anew=True)
    before = weights(anew)
    for state in (None, other_size):
        anew.load_state_dict(state)
        assert all(torch.equal(a, b) for a, b in zip(before, weights(anew), strict=True))


def test_one_that_fits_is_taken_also_where_it_might_be_missing():
    anew, trained = Adversary(Generator(), anew=True), Adversary(Generator())
    step(trained, 1)
    anew.load_state_dict(trained.state_dict())
    torch.testing.assert_close(weights(anew), weights(trained), check_dtype=False)
    assert len(anew.optimizer.state) == 2


def test_no_step_with_a_gradient_that_is_not_finite():
    """Neither weights nor moments nor the count of steps change, also with an earlier state."""
    adversary = Adversary(Generator())
    step(adversary, 1)
    state = copy.deepcopy(adversary.state_dict())
    for group in state["optimizer"]["param_groups"]:
        group["fused"] = None  # as of torch's usual Adam
    for moments in state["optimizer"]["state"].values():
        moments["step"] = moments["step"].cpu()
    resumed = Adversary(Generator())
    resumed.load_state_dict(state)
    for trained in (adversary, resumed):
        embeddings, padding = batch(2)
        trained.guess(embeddings, padding)  # moves it to the type of the embeddings
        before = copy.deepcopy(trained.state_dict())
        trained.step(embeddings * torch.inf, padding, loss_of(padding), Update(lr=0.1))
        torch.testing.assert_close(trained.state_dict(), before, rtol=0, atol=0)
        step(trained, 3)
    # a state is loaded in single precision
    torch.testing.assert_close(weights(resumed), weights(adversary), rtol=0, atol=1e-6)
