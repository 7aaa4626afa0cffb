"""Small models of each topology with a criterion, and batches to give it."""

from support.data import TAG, TASK, TRAIN, built, iterate

WITHOUT_TAG = ("--task", "tdo_translation", *TASK, *TRAIN)
BASE = (*WITHOUT_TAG, *TAG)
SMALL = ("--tdo-model-dim", "8", "--tdo-heads", "2", "--tdo-ffn-dim", "12")
TOPOLOGIES = {
    "tdo": ("--arch", "tdo_transformer", "--tdo-layers", "5", "--tdo-target-layer", "2", *SMALL),
    "prefix": ("--arch", "tdo_prefix_decoder_only", "--tdo-layers", "3", *SMALL),
    "causal": ("--arch", "tdo_causal_decoder_only", "--tdo-layers", "3", *SMALL),
    "encoder-decoder": ("--arch", "tdo_encoder_decoder", "--tdo-encoder-layers", "2", *SMALL),
}
TERMS = ("--criterion", "label_smoothed_cross_entropy_terms", "--label-smoothing", "0.1")
EXACT = {"rtol": 0, "atol": 1e-9}


def model_and_batches(*flags, topology="tdo", double=True, batches=1):
    """(task, model, criterion, batches) with dropout off."""
    task, model, criterion = built(*BASE, *TOPOLOGIES[topology], *flags)
    model = (model.double() if double else model).eval()
    mixed = [batch for batch in iterate(task, "train") if len(batch["id"]) > 4][:batches]
    return task, model, criterion, mixed


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


class Optimizer:
    """The parts of fairseq's optimizer that a task's step needs."""

    def __init__(self, rate=0.01):
        self.get_lr = lambda: rate

    def backward(self, loss):
        loss.backward()
