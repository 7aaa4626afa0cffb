"""A small model with TPDM, its criterion and a batch, for the tests of its term."""

from contextlib import nullcontext
from dataclasses import asdict

import torch
from support import criterion_models
from support.criterion_models import BASE
from support.data import built, iterate

from tdo_plugin.criterions.loss_terms import Update

SMALL = (*criterion_models.SMALL, "--dropout", "0")
TPDM = ("--criterion", "label_smoothed_cross_entropy_tpdm", "--tdo-tpdm-layer", "2")
TOPOLOGIES = {
    **criterion_models.TOPOLOGIES,
    "tdo, second stage": (*criterion_models.TOPOLOGIES["tdo"], "--tdo-target-layer", "1"),
}
GATED = ("--tdo-tpdm-gate", "relaxed-bernoulli", "--tpdm-gate-prior", "0.3")
EXACT = {"rtol": 0, "atol": 1e-8}
UPDATE = Update(lr=0.01)


def made(*flags, topology="encoder-decoder"):
    """(task, model in double precision, criterion, a mixed batch)."""
    task, model, criterion = built(*BASE, *TOPOLOGIES[topology], *SMALL, *TPDM, *flags)
    batch = next(sample for sample in iterate(task, "train") if len(sample["id"]) > 4)
    criterion.train()
    return task, model.double().train(), criterion, batch


def adversary(criterion):
    return criterion.terms["tpdm"].adversary


def objective(model, criterion, batch, update=None):
    context = nullcontext() if update is None else criterion.in_update(**asdict(update))
    with context:
        loss, _, logs = criterion(model, batch)
    return loss, logs


def copies(module):
    return {name: parameter.detach().clone() for name, parameter in module.named_parameters()}


def same(first, second):
    return all(torch.equal(first[name], second[name]) for name in second)
