"""Tiny binarised data, and fairseq's commands run on it, in this process or in one of their own."""

import atexit
import contextlib
import functools
import io
import logging
import random
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import torch
from support.made import made_once

import tdo_plugin

PACKAGE = Path(tdo_plugin.__file__).parent
LANGUAGES = ("en", "de", "fr", "es")
PAIRS = ("en-de", "en-fr", "en-es")
BOTH_WAYS = "en-de,de-en,en-fr,fr-en,en-es,es-en"
NUMBERS = {
    "en": "one two three four five six seven",
    "de": "eins zwei drei vier fünf sechs sieben",
    "fr": "un deux trois quatre cinq six sept",
    "es": "uno dos tres cuatro cinco seis siete",
}
SIZES = {"train": 24, "valid": 6, "test": 6}
LONGEST = 7

TASK = ("--langs", ",".join(LANGUAGES), "--lang-pairs", BOTH_WAYS)
TAG = ("--encoder-langtok", "tgt")
# also the pair without training text of `databin_zero_shot`
DIRECTIONS = (*BOTH_WAYS.split(","), "de-fr", "fr-de")
MODEL = (
    *("--tdo-layers", "3", "--tdo-target-layer", "1", "--tdo-adaptation-dim", "8"),
    *("--tdo-model-dim", "8", "--tdo-heads", "2", "--tdo-ffn-dim", "12"),
)
# turns a model of TDO's into an encoder-decoder
ENCODER_DECODER = (
    *("--tdo-topology", "encoder-decoder", "--tdo-layers", "0", "--tdo-target-layer", "0"),
    *("--tdo-encoder-layers", "2", "--tdo-decoder-layers", "1"),
)
TRAIN = (
    *("--optimizer", "adam", "--lr", "0.01", "--max-tokens", "120"),
    *("--seed", "3", "--num-workers", "0", "--cpu", "--sampling-method", "temperature"),
    *("--log-format", "json", "--log-interval", "1"),
)
VALIDATED = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN)
TDO = ("--arch", "tdo_transformer", *MODEL)
CROSS_ENTROPY = ("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1")
INSTRUCL = (
    *("--criterion", "label_smoothed_cross_entropy_instrucl"),
    *("--label-smoothing", "0.1", "--instrucl-scale", "per-token"),
)


@functools.cache
def temporary() -> Path:
    """A folder for the whole test run, removed when Python ends."""
    folder = tempfile.TemporaryDirectory(prefix="tdo_plugin_tests_")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def text(folder: Path) -> None:
    """Parallel sentences as ``SPLIT.PAIR.LANGUAGE``; the pairs have sentences of their own."""
    folder.mkdir()
    drawn = random.Random(1)
    for split, size in SIZES.items():
        for pair in PAIRS if split != "test" else (*PAIRS, "de-fr"):
            _write_pair(folder, split, pair, size, drawn)


def _write_pair(folder: Path, split: str, pair: str, size: int, drawn: random.Random) -> None:
    rows = [drawn.choices(range(7), k=drawn.randint(1, LONGEST - 1)) for _ in range(size)]
    for language in pair.split("-"):
        words = NUMBERS[language].split()
        lines = [" ".join(words[number] for number in row) for row in rows]
        path = folder / f"{split}.{pair}.{language}"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def dictionary(path: Path, languages=LANGUAGES) -> Path:
    """A dictionary of all words of ``languages``, in fairseq's format."""
    words = [word for language in languages for word in NUMBERS[language].split()]
    path.write_text("".join(f"{word} 1\n" for word in dict.fromkeys(words)), encoding="utf-8")
    return path


def preprocess_flags(folder: Path, pair: str, splits=SIZES, dictionaries=None) -> list[str]:
    """Flags of fairseq-preprocess for one pair of :func:`text`."""
    source, target = pair.split("-")
    first, second = dictionaries or [folder / "dict.txt"] * 2
    flags = ["-s", source, "-t", target, "--srcdict", str(first), "--tgtdict", str(second)]
    for split in splits:
        flags += [f"--{split}pref", str(folder / f"{split}.{pair}")]
    return flags


def preprocess(out: Path, *flags: str) -> None:
    """fairseq-preprocess in this process."""
    from fairseq import options
    from fairseq_cli import preprocess

    arguments = [*flags, "--destdir", str(out)]
    with kept_logging():
        preprocess.main(options.get_preprocessing_parser().parse_args(arguments))


@made_once
def _corpus(folder: Path) -> None:
    source, out = folder / "text", folder / "databin"
    text(source)
    dictionary(source / "dict.txt")
    for pair in PAIRS:
        preprocess(out, *preprocess_flags(source, pair))
    preprocess(out, *preprocess_flags(source, "de-fr", ("test",)))


def databin() -> Path:
    """Four languages, English-centric, one dictionary; test data also for de-fr.

    The text lies beside it, in the folder ``text``.
    """
    return _corpus() / "databin"


def databin_zero_shot() -> Path:
    """As :func:`databin`, with nine validation sentences of de-fr, which has no training text."""
    return _zero_shot_corpus() / "databin"


@made_once
def _zero_shot_corpus(folder: Path) -> None:
    shutil.copytree(_corpus(), folder, dirs_exist_ok=True)
    _write_pair(folder / "text", "valid", "de-fr", 9, random.Random(5))
    preprocess(folder / "databin", *preprocess_flags(folder / "text", "de-fr", ("valid",)))


@made_once
def databin_two_dictionaries(folder: Path) -> None:
    """en-de with a dictionary for each side, of different sizes, for the task ``translation``."""
    sides = dictionary(folder / "two.en", ("en",)), dictionary(folder / "two.de", ("de", "fr"))
    source = databin().parent / "text"
    preprocess(folder, *preprocess_flags(source, "en-de", dictionaries=sides))


@contextlib.contextmanager
def kept_logging():
    """Put back what fairseq leaves on the root logger, and that our decoding silences it."""
    root = logging.getLogger()
    handlers, level, disabled = list(root.handlers), root.level, root.manager.disable
    try:
        yield
    finally:
        logging.disable(disabled)
        for handler in root.handlers[:]:
            if handler not in handlers:
                root.removeHandler(handler)
                handler.close()
        root.setLevel(level)


# --- in this process -------------------------------------------------------------------------


def training_arguments(*flags: str, data=None):
    """fairseq-train's command line, parsed."""
    from fairseq import options

    arguments = [str(data or databin()), *flags]
    return options.parse_args_and_arch(options.get_training_parser(), input_args=arguments)


def built(*flags: str, data=None):
    """(task, model, criterion) of a command line, without hydra, which takes a second."""
    from fairseq import criterions, tasks

    args = training_arguments(*flags, data=data)
    torch.manual_seed(args.seed)
    task = tasks.setup_task(args)
    return task, task.build_model(args), criterions.build_criterion(args, task)


def generation(*flags: str, data=None):
    """(options, task) of fairseq-generate; no model is loaded."""
    from fairseq import options, tasks

    arguments = [str(data or databin()), "--path", "none", "--cpu", *flags]
    args = options.parse_args_and_arch(options.get_generation_parser(), input_args=arguments)
    return args, tasks.setup_task(args)


def train(save_dir: Path, *flags: str, data=None) -> list[dict]:
    """fairseq-train in this process; returns what each batch logs, sums in nats, not rounded."""
    from fairseq import checkpoint_utils, metrics
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.tasks import FairseqTask
    from fairseq_cli.train import main

    batches, original = [], FairseqTask.train_step

    def train_step(*args, **kwargs):
        loss, size, logs = original(*args, **kwargs)
        batches.append({key: float(value) for key, value in logs.items()})
        return loss, size, logs

    metrics.reset()
    # fairseq keeps the best loss of a process, of whatever training, on this function
    vars(checkpoint_utils.save_checkpoint).clear()
    cfg = convert_namespace_to_omegaconf(
        training_arguments(*flags, "--save-dir", str(save_dir), data=data)
    )
    with kept_logging(), mock.patch.object(FairseqTask, "train_step", train_step):
        main(cfg)
    return batches


def generate(*flags, data=None) -> str:
    """fairseq-generate in this process; returns what it prints."""
    from fairseq import options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq_cli.generate import main

    arguments = [str(argument) for argument in (data or databin(), "--cpu", *flags)]
    args = options.parse_args_and_arch(options.get_generation_parser(), input_args=arguments)
    printed = io.StringIO()
    with kept_logging(), contextlib.redirect_stdout(printed):
        main(convert_namespace_to_omegaconf(args))
    return printed.getvalue()


def iterate(task, split: str, **options):
    """The batches of a split, in order, as a trainer (or validation) gets them."""
    if split not in task.datasets:
        task.load_dataset(split, epoch=1)
    iterator = task.get_batch_iterator(
        dataset=task.dataset(split),
        **{"max_tokens": 120, "max_positions": (1024, 1024), "seed": 1, "epoch": 1, **options},
    )
    return list(iterator.next_epoch_itr(shuffle=False))
