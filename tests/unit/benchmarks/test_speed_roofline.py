"""The groups of `tdo bench --roofline`, and their operations."""

from types import SimpleNamespace

import pytest
import torch
from speed import roofline
from speed.roofline import GROUPS, Part, group_of, head, line, operations, parts
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def event(name, *around, shapes=()):
    inside = None
    for outer in reversed(around):
        inside = SimpleNamespace(name=outer, cpu_parent=inside)
    return SimpleNamespace(name=name, cpu_parent=inside, input_shapes=shapes)


def test_groups():
    for operation, group in (
        (event("aten::mm", "forward", shapes=[[4, 8], [8, 6]]), "products, forward"),
        (event("aten::addmm", "backward", shapes=[[6], [4, 8], [8, 6]]), "products, backward"),
        (event("aten::mm", shapes=[[4, 8], [8, 100]]), "products with the vocabulary"),
        (event("aten::_scaled_dot_product_flash_attention_for_cpu"), "attention"),
        (event("aten::mul_", "optimizer"), "optimiser"),
        (event("aten::sub", "_LinearCrossEntropy", "forward"), "loss"),
        (event("aten::_log_softmax"), "loss"),
        (event("aten::native_layer_norm"), "norms"),
        (event("aten::mul"), "the rest"),
    ):
        assert group_of(operation, vocabulary=100) == group and group in GROUPS


def test_operations_of_products():
    assert operations("aten::addmm", [[6], [4, 8], [8, 6]]) == 2 * 4 * 8 * 6
    assert operations("aten::bmm", [[3, 4, 8], [3, 8, 6]]) == 2 * 3 * 4 * 8 * 6
    assert operations("mkldnn::_linear_pointwise", [[3, 4, 8], [6, 8]]) == 2 * 3 * 4 * 8 * 6
    assert operations("aten::mul", [[4, 8]]) == 0


def test_operations_of_an_update(monkeypatch):
    """Products as torch counts them, and seven of each attention, which torch does not count."""
    monkeypatch.setattr(roofline, "SIDE", 64)
    torch.manual_seed(0)
    layer = nn.Linear(8, 24)
    x = torch.randn(2, 5, 8, requires_grad=True)

    def update(number):
        query, key, value = layer(x).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        nn.functional.scaled_dot_product_attention(query, key, value).sum().backward()

    with FlopCounterMode(display=False) as counter:
        update(0)
    flops = sum(part.flops * part.seconds for part in parts("ours", update, vocabulary=100))
    attention = 7 * 2 * (2 * 2 * 5 * 5 * 4)
    assert flops == pytest.approx(counter.get_total_flops() + attention)


def test_the_table_is_markdown():
    rows = [Part("ours", name, 0.1, 0.5, 1e9, 1e10) for name in ("attention", "copies")]
    assert {text.count("|") for text in [*head().split("\n"), *map(line, rows)]} == {7}
    assert line(rows[0]).endswith("| 1 | 0.10 |")
