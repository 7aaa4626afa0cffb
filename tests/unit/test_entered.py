"""How much of the house an update walks through."""

from collections import Counter

from support.data import INSTRUCL, TAG, TASK, TDO, TRAIN, built, iterate
from support.entered import entered


class Optimizer:
    """What a task asks of fairseq's."""

    @staticmethod
    def backward(loss):
        loss.backward()

    @staticmethod
    def get_lr():
        return 0.01


def test_an_update_enters_few_files():
    task, model, criterion = built(
        "--task", "tdo_translation", *TASK, *TAG, *TRAIN, *TDO, *INSTRUCL
    )
    batch = iterate(task, "train")[0]

    def update(number):
        task.train_step(batch, model, criterion, Optimizer(), number)

    update(1)  # what the first builds is not counted
    seen = entered(lambda: update(2))
    print(len(seen.files), len(seen.functions), seen.switches)
    for a, b in Counter(seen.pairs).most_common():
        print(b, a)
    print(*sorted(seen.files), sep="\n")
    assert 0
