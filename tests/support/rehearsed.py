"""Training steps, searches and analyses on a device that is not there, and their known waits."""

import functools
import math
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from fairseq.logging import metrics
from fairseq.sequence_generator import SequenceGenerator
from support.built_models import varied
from support.data import BOTH_WAYS, TAG, TASK, TRAIN, iterate, temporary, training_arguments
from support.neuron_files import write_masks
from support.rehearsal import DEVICE, Place, Rehearsal, rehearsal

from tdo_plugin.modules.source_state import SourceState
from tdo_plugin.modules.translation_model import TranslationModel

PAGE = Path(__file__).resolve().parents[2] / "docs" / "design" / "devices.md"
VOCABULARY = 3000
ROWS = 16  # tokens per block of logits
ON_GPU = tuple(word for word in (*TASK, *TAG, *TRAIN) if word != "--cpu")
COUNTED = (
    (TranslationModel, "forward", "batch", lambda _: 1),
    (TranslationModel, "encode_all", "encoding", lambda _: 1),
    (TranslationModel, "decode", "step", lambda _: 1),
    (SourceState, "select", "selection", lambda _: 1),
    (SequenceGenerator, "generate", "hypothesis", lambda found: sum(map(len, found))),
)
NEURONS = ("--tdo-neuron-masks", "MASKS")  # a file that is made for the model


@dataclass(frozen=True)
class Limit:
    """How often the host may wait at a place."""

    times: int
    every: int  # in so many units
    units: tuple[str, ...]  # of what, such as updates

    def allows(self, counted: Counter[str]) -> int:
        """The number of waits that this much of each unit allows."""
        done = sum(counted[unit] for unit in self.units)
        return self.times * math.ceil(done / self.every)


@functools.cache
def known_places() -> dict[Place, Limit]:
    """The table of the documentation."""
    places = {}
    for row in re.findall(r"^\| `(.+?)` \| `(.+?)` \| (.+?) \| (.+?) \|", PAGE.read_text(), re.M):
        file, function, operation, often = row
        times, every, units = re.fullmatch(r"(\d+) per (?:(\d+) )?(.+)", often).groups()
        names = (units.removesuffix("s"),) if every else tuple(units.split(" or "))
        assert Place(file, function, operation) not in places
        places[Place(file, function, operation)] = Limit(int(times), int(every or 1), names)
    return places


@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal found."""

    waits: Counter[Place]
    lines: dict[Place, int]  # a line of each place
    units: Counter[str]  # how much was done, in the units of the table
    largest: int  # elements of the largest tensor on the device
    tokens: int  # of the batch's targets

    def unknown(self) -> list[str]:
        """Waits that the table does not have, or not so often; one line each."""
        none = Limit(0, 1, ())
        return [
            f"{place.file}:{self.lines[place]} {place.function}: {place.operation}, {times} times "
            f"in {dict(self.units)}; docs/design/devices.md allows {allowed}"
            for place, times in sorted(self.waits.items())
            if times > (allowed := known_places().get(place, none).allows(self.units))
        ]


@contextmanager
def counting(counted: Counter[str]) -> Iterator[None]:
    """Count the passes of models, selections of sentences in a search, and hypotheses."""

    def noting(original: Any, unit: str, count: Any) -> Any:
        def note(*words: Any, **options: Any) -> Any:
            result = original(*words, **options)
            counted[unit] += count(result)
            return result

        return note

    with ExitStack() as stack:
        for owner, name, unit, count in COUNTED:
            patched = noting(getattr(owner, name), unit, count)
            stack.enter_context(mock.patch.object(owner, name, patched))
        yield


def rehearse(sample: dict[str, Any], work: Callable[[Rehearsal, Counter[str]], None]) -> Rehearsed:
    """What ``work`` does with a batch on the device. It may forget what it found so far."""
    units: Counter[str] = Counter()
    with rehearsal() as found, counting(units):
        work(found, units)
    metrics.reset()  # fairseq keeps logged tensors for the whole process
    return Rehearsed(found.waits, found.lines, units, found.largest, sample["ntokens"])


def forget(found: Rehearsal, units: Counter[str]) -> None:
    """Leave out what happened so far."""
    found.waits.clear()
    units.clear()
    found.largest = 0


def made(*flags: str, vocabulary: int = VOCABULARY) -> tuple[Any, Any, Any, Any]:
    """(options, task, model, criterion) of a command line, with a larger vocabulary."""
    from fairseq import criterions, tasks

    words = ("--save-dir", str(temporary()), *flags)
    if "MASKS" in words:
        return _with_masks(words, vocabulary)
    args = training_arguments(*words)
    torch.manual_seed(args.seed)
    task = tasks.setup_task(args)
    for dictionary in {id(each): each for each in task.dicts.values()}.values():
        for number in range(len(dictionary), vocabulary):
            dictionary.add_symbol(f"word{number}")
    model = task.build_model(args)
    return args, task, model, criterions.build_criterion(args, task)


def _with_masks(words: tuple[str, ...], vocabulary: int) -> tuple[Any, Any, Any, Any]:
    at = words.index(NEURONS[0])
    _, _, plain, _ = made(*words[:at], vocabulary=vocabulary)
    state = plain.state_dict()
    file = write_masks(temporary() / "masks", plain.core, BOTH_WAYS.split(","), state)
    built = made(*words[:at], NEURONS[0], str(file), *words[at + 2 :], vocabulary=vocabulary)
    built[2].load_state_dict(state, args=Namespace(reset_optimizer=True))
    return built


def rehearse_training(*flags: str) -> tuple[Rehearsed, Rehearsed, int]:
    """What an update and a validation step after a first one find, and the model's parameters."""
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.trainer import Trainer

    args, task, model, criterion = made(*flags)
    first, second = iterate(task, "train")[:2]
    varied(model)
    state: dict[str, Any] = {}

    def train(found: Rehearsal, units: Counter[str]) -> None:
        settings = convert_namespace_to_omegaconf(args)
        state["trainer"] = trainer = Trainer(settings, task, model, criterion)
        trainer.begin_epoch(1)
        trainer.train_step([first])
        forget(found, units)
        units["value"] = len(trainer.train_step([second]) or ())
        units["update"] = 1

    def validate(found: Rehearsal, units: Counter[str]) -> None:
        units["value"] = len(state["trainer"].valid_step(first))

    size = sum(parameter.numel() for parameter in model.parameters())
    return rehearse(second, train), rehearse(first, validate), size


def rehearse_search(*flags: str, beam: int = 3, half: bool = False) -> Rehearsed:
    """A search of the task's generator."""
    from fairseq import utils

    _, task, model, _ = made(*flags, vocabulary=0)
    sample = iterate(task, "train")[0]
    varied(model)

    def search(found: Rehearsal, units: Counter[str]) -> None:
        whole = (model.half() if half else model).to(DEVICE).eval()
        options = Namespace(beam=beam, max_len_a=0, max_len_b=9)
        generator = task.build_generator([whole], options)
        batch = utils.move_to_cuda(sample)
        forget(found, units)
        task.inference_step(generator, [whole], batch)

    return rehearse(sample, search)


def rehearse_importance(*flags: str) -> Rehearsed:
    """The importance of neurons in a batch, by gradients."""
    from fairseq import utils

    from tdo_plugin.analysis.neurons import neuron_importance as importance
    from tdo_plugin.modules.methods.neurons import neuron_outputs

    _, task, model, _ = made(*flags)
    sample = iterate(task, "train")[0]

    def measure(found: Rehearsal, units: Counter[str]) -> None:
        model.to(DEVICE).eval()
        batch = utils.move_to_cuda(sample)
        fed, pad = batch["net_input"], model.core.padding_idx
        forget(found, units)
        previous = importance.unlike(fed["src_tokens"], fed["prev_output_tokens"], pad)
        target = importance.unlike(fed["src_tokens"], batch["target"], pad)
        fed = {**fed, "prev_output_tokens": previous}
        outputs = neuron_outputs(model.core.stack)
        means = importance.NeuronMeans(outputs, importance.METHODS["taylor"])
        real = importance.RealPositions(fed["src_tokens"].ne(pad), previous.ne(pad))
        smoothed = target, 0.1
        means.add(real, lambda: model(**fed, smoothed_target=smoothed)[1]["cross_entropy"][0])
        assert means.means
        units["module"] = len(outputs)

    return rehearse(sample, measure)


def rehearse_probe(*flags: str) -> Rehearsed:
    """The states of two batches at all layers, and a probe trained on them."""
    from tdo_plugin.analysis.probing.position_probe import Training, train_probe
    from tdo_plugin.analysis.probing.states import read_states
    from tdo_plugin.models.tdo_transformer import sentence_context

    _, task, model, _ = made(*flags)
    samples = iterate(task, "train")[:2]

    def probe(found: Rehearsal, units: Counter[str]) -> None:
        core = model.to(DEVICE).eval().core
        batches = []
        for direction, sample in enumerate(samples):
            fed = {name: part.to(DEVICE) for name, part in sample["net_input"].items()}
            context = sentence_context(core, fed["src_lang_id"], fed["tgt_lang_id"])
            batches.append((direction, sample["id"], fed["src_tokens"], context))
        forget(found, units)
        states = read_states(core, batches, (1, core.spec.source_layers), {1, 2})
        training = Training(updates=6, interval=3, batch=32)
        probe = train_probe(states.states[1], states.positions, states.lines, 1, training)
        probe.right(states.states[1], states.positions)
        units.update(probe=1, epoch=math.ceil(6 / (len(states.lines) / 32)), evaluation=2)

    return rehearse(samples[0], probe)
