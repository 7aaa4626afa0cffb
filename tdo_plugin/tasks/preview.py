"""The first batches of a training as symbols, with tags and padding, as the model receives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from torch import Tensor

from tdo_plugin.errors import UserError
from tdo_plugin.tasks.source_noise import SourceNoise
from tdo_plugin.tasks.step_hooks import batches_of
from tdo_plugin.tasks.tdo_translation import TdoTranslationTask
from tdo_plugin.tasks.training_command import training_arguments


@dataclass(frozen=True)
class Sentence:
    """One row of a batch; symbols are separated by spaces, a run of padding is `<pad>*3`.

    Attributes:
        direction: by the batch's language ids.
        source: input of the source stream or encoder.
        previous: input of the target stream or decoder.
        target: the symbol to predict at each of these positions.
    """

    direction: str
    source: str
    previous: str
    target: str


@dataclass(frozen=True)
class Batch:
    """A batch: its number of rows, its source and target lengths with padding, and its rows."""

    shape: tuple[int, int, int]
    sentences: tuple[Sentence, ...]


def first_batches(words: Sequence[str], count: int) -> list[Batch]:
    """The first batches of `fairseq-train` on one worker.

    Its task loads and samples the data, and its iterator batches and shuffles; no model is built.
    Source noise is applied if --source-noise is on; back-translations of --task tdo_robt need a
    model and are not shown.

    Args:
        words: fairseq-train's arguments; the task must be `tdo_translation`.
        count: maximum number of batches.

    Raises:
        UserError: an argument or the data is refused.
    """
    from fairseq import tasks, utils
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    cfg = convert_namespace_to_omegaconf(training_arguments(words))
    task = tasks.setup_task(cfg.task)
    if not isinstance(task, TdoTranslationTask):
        raise UserError(f"`--task` must be tdo_translation; it is {cfg.task.task}")
    subset = cfg.dataset.train_subset
    task.load_dataset(subset, epoch=1, combine=True)
    limits = utils.resolve_max_positions(task.max_positions(), cfg.dataset.max_tokens)
    try:
        epoch = task.get_batch_iterator(
            dataset=task.dataset(subset),
            max_tokens=cfg.dataset.max_tokens,
            max_sentences=cfg.dataset.batch_size,
            max_positions=limits,
            ignore_invalid_inputs=True,
            required_batch_size_multiple=cfg.dataset.required_batch_size_multiple,
            seed=cfg.common.seed,
            epoch=1,
        )
    except AssertionError as error:
        raise UserError(" ".join(str(error).split())) from None
    batches = epoch.next_epoch_itr(shuffle=cfg.dataset.curriculum < 1)
    noise = [hook for hook in task.step_hooks if isinstance(hook, SourceNoise)]
    read_batches = []
    for update, batch in enumerate(islice(batches, count)):
        ((disturbed,), _) = batches_of(noise, batch, None, update)
        read_batches.append(_read(task, disturbed))
    return read_batches


def _read(task: Any, batch: dict[str, Any]) -> Batch:
    fed = batch["net_input"]
    columns = fed["src_lang_id"], fed["tgt_lang_id"]
    names = [[task.data_manager.lang_dict[int(number)] for number in ids] for ids in columns]
    rows = zip(*names, fed["src_tokens"], fed["prev_output_tokens"], batch["target"], strict=True)
    sentences = tuple(
        Sentence(
            f"{source}-{target}",
            _symbols(tokens, task.source_dictionary),
            _symbols(previous, task.target_dictionary),
            _symbols(expected, task.target_dictionary),
        )
        for source, target, tokens, previous, expected in rows
    )
    shape = (len(sentences), fed["src_tokens"].size(1), batch["target"].size(1))
    return Batch(shape, sentences)


def _symbols(tokens: Tensor, dictionary: Any) -> str:
    runs = groupby(tokens.tolist())
    return " ".join(
        f"{dictionary[token]}*{len(list(run))}"
        if token == dictionary.pad()
        else " ".join(dictionary[token] for _ in run)
        for token, run in runs
    )
