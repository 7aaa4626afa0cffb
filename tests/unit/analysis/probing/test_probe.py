"""The probe finds what is in states, and nothing else."""

import pytest
import torch

from tdo_plugin.analysis.probing.position_probe import PositionProbe, Training, train_probe

LENGTHS = (3, 5, 7, 4, 6, 7, 2, 7) * 4
POSITIONS = torch.cat([torch.arange(length) for length in LENGTHS])
LINES = torch.cat([torch.full((length,), line) for line, length in enumerate(LENGTHS)])
QUICK = Training(updates=150, interval=10, rate=0.02)


def sinusoids(positions):
    rates = 10000 ** (-torch.arange(4) / 4)
    angles = positions[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], 1)


@pytest.mark.parametrize(
    "states",
    [torch.nn.functional.one_hot(POSITIONS).float(), 1e-3 * sinusoids(POSITIONS) + 5],
    ids=["one-hot", "sinusoids, small and far from 0"],
)
def test_positions_that_are_there_are_all_found(states):
    probe = train_probe(states, POSITIONS, LINES, 1, QUICK)
    assert probe.right(states, POSITIONS).all()


def test_states_without_positions_give_chance():
    drawn = torch.Generator().manual_seed(1)
    fit, test = torch.randn(2, len(POSITIONS), 8, generator=drawn)
    probe = train_probe(fit, POSITIONS, LINES, 1, QUICK)
    accuracy = float(probe.right(test, POSITIONS).float().mean())
    most_frequent = float((POSITIONS == 0).float().mean())
    assert accuracy < most_frequent + 0.1


def test_positions_beyond_those_trained_are_wrong():
    states = torch.nn.functional.one_hot(POSITIONS).float()
    short = POSITIONS < 4
    probe = train_probe(states[short], POSITIONS[short], LINES[short], 1, QUICK)
    right = probe.right(states, POSITIONS)
    assert right[short].all() and not right[~short].any()


def test_the_global_draws_stay():
    before = torch.random.get_rng_state()
    train_probe(torch.ones(len(POSITIONS), 8), POSITIONS, LINES, 1, Training(updates=2))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_what_is_learnt_by_heart_is_not_kept():
    """Without anything to find, training on makes the loss on lines held out worse."""
    states = torch.randn(len(POSITIONS), 64, generator=torch.Generator().manual_seed(3))
    endless = Training(updates=100, interval=1, patience=10**6, rate=0.02)
    probe = train_probe(states, POSITIONS, LINES, 1, endless)
    assert float(probe.right(states, POSITIONS).float().mean()) < 0.7


def test_one_line_is_too_few_and_a_dimension_that_never_moves_is_harmless():
    with pytest.raises(ValueError, match="two lines"):
        train_probe(torch.zeros(3, 2), torch.arange(3), torch.zeros(3), 1)
    probe = PositionProbe(torch.ones(4, 2), 3)
    assert probe(torch.ones(2, 2)).isfinite().all()
