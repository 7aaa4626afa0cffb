"""``--optimizer adam``: the fused step against the formulas, and against fairseq's own."""

import copy
import math

import pytest
import torch
from fairseq import optim
from fairseq.dataclass.configs import FairseqConfig
from fairseq.optim import adam
from fairseq.optim.fp16_optimizer import FP16Optimizer, MemoryEfficientFP16Optimizer
from omegaconf import OmegaConf

import tdo_plugin  # noqa: F401
from tdo_plugin.optim.fused_adam import FairseqAdam, FusedAdam

OPTIONS = {"lr": [0.01], "adam_betas": "(0.9, 0.98)", "adam_eps": 1e-6, "weight_decay": 0.01}
SHAPES = [(5, 3), (7,), (2, 2, 2), ()]


def configured(**options):
    defaults = {"_name": "adam", "tpu": False, "use_old_adam": False, "fp16_adam_stats": False}
    return OmegaConf.create({**defaults, **OPTIONS, **options})


def made(parameters, **options):
    return optim.build_optimizer(configured(**options), parameters)


def parameters(dtype=torch.float32, seed=0):
    torch.manual_seed(seed)
    return [torch.nn.Parameter(torch.randn(shape).to(dtype)) for shape in SHAPES]


def set_gradients(trained, number):
    """Random gradients; the second parameter has none in every third update."""
    torch.manual_seed(1000 + number)
    for place, parameter in enumerate(trained):
        gradient = torch.randn(parameter.shape).to(parameter.dtype)
        parameter.grad = None if place == 1 and number % 3 == 2 else gradient


def train(optimizer, trained, numbers, clip=0.5):
    norms = []
    for number in numbers:
        set_gradients(trained, number)
        optimizer.set_lr(0.01 / (1 + number))
        optimizer.multiply_grads(0.7)
        norms.append(float(optimizer.clip_grad_norm(clip)))
        optimizer.step()
    return norms


def assert_close(left, right, **tolerance):
    for one, other in zip(left, right, strict=True):
        torch.testing.assert_close(one.detach(), other.detach(), **tolerance)


def test_it_is_made_by_fairseq_and_switched_off_by_its_flag():
    made_by_default = made(parameters())
    assert type(made_by_default) is FairseqAdam and type(made_by_default.optimizer) is FusedAdam
    assert type(made(parameters(), use_old_adam=True).optimizer) is adam.Adam
    assert type(made(parameters(), tpu=True).optimizer) is adam.Adam
    # which checkpoints store
    assert FairseqAdam.__name__ == adam.FairseqAdam.__name__


def test_the_formulas():
    trained = parameters(torch.float64)
    groups = [
        {"params": trained[:2], "lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.1},
        {"params": trained[2:]},
    ]
    optimizer = FairseqAdam(configured(), groups)
    rates = [(0.8, 0.9, 0.1)] * 2 + [(0.9, 0.98, 0.01)] * 2
    plain = [parameter.detach().clone() for parameter in trained]
    moments = [[0, torch.zeros_like(value), torch.zeros_like(value)] for value in plain]
    for number in range(20):
        set_gradients(trained, number)
        gradients = [None if p.grad is None else p.grad * 0.7 for p in trained]
        norm = math.sqrt(sum(float(g.square().sum()) for g in gradients if g is not None))
        optimizer.multiply_grads(torch.tensor(0.7, dtype=torch.float64))
        assert math.isclose(float(optimizer.clip_grad_norm(0.5)), norm, rel_tol=1e-12)
        factor = min(1, 0.5 / (norm + 1e-6))
        for group in optimizer.param_groups:
            group["lr"] *= 0.9
        lrs = [group["lr"] for group in optimizer.param_groups for _ in range(2)]
        for place, gradient in enumerate(gradients):
            if gradient is None:
                continue
            first, second, decay = rates[place]
            state, value = moments[place], plain[place]
            gradient = gradient * factor
            state[0] += 1
            state[1] = first * state[1] + (1 - first) * gradient
            state[2] = second * state[2] + (1 - second) * gradient**2
            rate = lrs[place] * math.sqrt(1 - second ** state[0]) / (1 - first ** state[0])
            value -= decay * lrs[place] * value
            value -= rate * state[1] / (state[2].sqrt() + 1e-6)
        optimizer.step()
    assert_close(trained, plain, rtol=1e-12, atol=1e-12)


def test_the_numbers_of_fairseq_in_single_precision():
    fused, own = parameters(), parameters()
    norms = (
        train(made(fused), fused, range(20)),
        train(made(own, use_old_adam=True), own, range(20)),
    )
    assert norms[0] == pytest.approx(norms[1], rel=1e-6)
    assert_close(fused, own, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("first", [False, True])
def test_one_resumes_from_the_other(first):
    trained = parameters()
    before = made(trained, use_old_adam=first)
    train(before, trained, range(5))
    stored = copy.deepcopy(before.state_dict())
    (state, *_) = stored["state"].values()
    assert list(state) == ["step", "exp_avg", "exp_avg_sq"] and state["step"] == 5
    assert type(state["step"]) is int
    resumed = copy.deepcopy(trained)
    after = made(resumed, use_old_adam=not first)
    assert {*after.state_dict()["param_groups"][0]} == {*stored["param_groups"][0]}
    after.load_state_dict(stored, {})
    train(before, trained, range(5, 10))
    train(after, resumed, range(5, 10))
    assert_close(trained, resumed, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["exp_avg", "exp_avg_sq"])
def test_a_checkpoint_may_store_moments_in_another_order(name):
    trained = parameters()
    before = made(trained)
    train(before, trained, range(2))
    stored = copy.deepcopy(before.state_dict())
    stored["state"][0][name] = stored["state"][0][name].T.contiguous().T
    resumed = copy.deepcopy(trained)
    after = made(resumed)
    after.load_state_dict(stored, {})
    train(before, trained, range(2, 5))
    train(after, resumed, range(2, 5))
    assert_close(trained, resumed, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_gradients_that_are_not_finite(value):
    """fairseq recognises an overflow by the norm."""
    trained, usual = parameters(), parameters()
    for group in (trained, usual):
        set_gradients(group, 0)
        group[0].grad[0, 0] = value
    norms = [
        made(trained).clip_grad_norm(0.5),
        adam.FairseqAdam(configured(), usual).clip_grad_norm(0.5),
    ]
    torch.testing.assert_close(*norms, equal_nan=True)
    pair = ([parameter.grad for parameter in group] for group in (trained, usual))
    torch.testing.assert_close(*pair, equal_nan=True)


def test_gradients_are_multiplied_by_any_single_number():
    for factor in (2, 2.0, torch.tensor(2.0), torch.tensor([2.0], dtype=torch.float64)):
        trained = parameters()
        set_gradients(trained, 0)
        expected = [2 * parameter.grad for parameter in trained]
        made(trained).multiply_grads(factor)
        assert_close([parameter.grad for parameter in trained], expected, rtol=0, atol=0)


def settings(**common):
    cfg = OmegaConf.structured(FairseqConfig())
    for name, value in common.items():
        cfg.common[name] = value
    return OmegaConf.create({**OmegaConf.to_container(cfg), "optimizer": configured()})


def half(kind, cfg, dtype, **options):
    trained = parameters(dtype)
    cfg.optimizer.update(options)
    optimizer = kind.build_optimizer(cfg, trained)
    for number in range(5):
        optimizer.zero_grad()
        torch.manual_seed(1000 + number)
        optimizer.backward(sum((p * torch.randn(p.shape).to(dtype)).sum() for p in trained))
        optimizer.multiply_grads(0.7)
        optimizer.clip_grad_norm(0.5)
        optimizer.step()
    return trained, optimizer


def test_single_precision_copies_of_half_precision():
    """``--bf16`` and ``--fp16``: the fused step updates the copies."""
    for common in ({"bf16": True}, {"fp16": True, "fp16_no_flatten_grads": True}):
        dtype = torch.bfloat16 if "bf16" in common else torch.float16
        fused, optimizer = half(FP16Optimizer, settings(**common), dtype)
        own, _ = half(FP16Optimizer, settings(**common), dtype, use_old_adam=True)
        assert type(optimizer.optimizer) is FusedAdam
        assert {p.dtype for p in optimizer.fp32_optimizer.params} == {torch.float32}
        assert_close(fused, own, rtol=1e-2, atol=0)  # a unit in bf16's last place


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_itself_takes_the_step_of_fairseq(dtype):
    common = {"bf16": dtype == torch.bfloat16, "fp16": dtype == torch.float16}
    fused, optimizer = half(MemoryEfficientFP16Optimizer, settings(**common), dtype)
    own, _ = half(MemoryEfficientFP16Optimizer, settings(**common), dtype, use_old_adam=True)
    assert optimizer.optimizer.state[fused[0]]["exp_avg"].dtype == torch.float32
    assert_close(fused, own, rtol=0, atol=0)


def test_amsgrad_takes_the_step_of_fairseq():
    fused, own = parameters(), parameters()
    pair = [FusedAdam(fused, amsgrad=True), adam.Adam(own, amsgrad=True)]
    for number in range(3):
        for optimizer, trained in zip(pair, (fused, own), strict=True):
            set_gradients(trained, number)
            optimizer.step()
    assert_close(fused, own, rtol=0, atol=0)


def test_a_closure_gives_the_loss_and_its_gradients():
    (parameter,) = trained = [torch.nn.Parameter(torch.ones(2))]
    optimizer = FusedAdam(trained, lr=0.1)

    def loss():
        total = parameter.square().sum()
        total.backward()
        return total.detach()

    assert float(optimizer.step(loss)) == 2 and float(parameter.detach()[0]) == pytest.approx(0.9)


def test_experts_are_clipped_by_fairseq():
    trained = parameters()
    trained[0].expert = True
    set_gradients(trained, 0)
    norm = made(trained).clip_grad_norm(0.0)
    assert float(norm) == pytest.approx(
        math.sqrt(sum(float(parameter.grad.square().sum()) for parameter in trained[1:]))
    )
