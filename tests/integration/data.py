"""Tiny binarised data, and fairseq's commands run on it, in this process or in one of their own."""

import atexit
import contextlib
import functools
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import torch

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


@functools.cache
def databin() -> Path:
    """Four languages, English-centric, one dictionary; test data also for de-fr."""
    folder, out = temporary() / "text", temporary() / "databin"
    text(folder)
    dictionary(folder / "dict.txt")
    for pair in PAIRS:
        preprocess(out, *preprocess_flags(folder, pair))
    preprocess(out, *preprocess_flags(folder, "de-fr", ("test",)))
    return out


@functools.cache
def databin_two_dictionaries() -> Path:
    """en-de with a dictionary for each side, of different sizes, for the task ``translation``."""
    folder, out = databin().parent / "text", temporary() / "databin-two"
    sides = dictionary(folder / "two.en", ("en",)), dictionary(folder / "two.de", ("de", "fr"))
    preprocess(out, *preprocess_flags(folder, "en-de", dictionaries=sides))
    return out


@contextlib.contextmanager
def kept_logging():
    """fairseq hangs handlers on the root logger and leaves them there."""
    import logging

    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
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

    arguments = [str(one) for one in (data or databin(), "--cpu", *flags)]
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


# --- in a process of their own ---------------------------------------------------------------


def warning_filters() -> str:
    """Turns warnings that our own files cause into errors; Python knows whole names only here."""
    paths = [*PACKAGE.rglob("*.py"), *PACKAGE.parent.glob("tdo_plugin_*.py")]
    files = [path.relative_to(PACKAGE.parent) for path in paths]
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
    return ",".join(f"error:::{name}" for name in names)


def environment() -> dict[str, str]:
    """For our own processes, and those that they start."""
    settings = {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    return {**os.environ, **settings, "PYTHONWARNINGS": warning_filters()}


def command(name: str, *flags, stdin: str = "", launcher=()) -> subprocess.CompletedProcess:
    """A stock command, ``train`` for fairseq-train, in a process of its own."""
    plugin = () if name in ("preprocess", "score") else ("--user-dir", str(PACKAGE))
    full = [sys.executable, *launcher, "-m", f"fairseq_cli.{name}", *map(str, flags), *plugin]
    return subprocess.run(
        full,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment(),
        timeout=240,
        check=False,
    )


def succeed(name: str, *flags, **options) -> str:
    """Output (stdout, then stderr) of a command that must succeed, without warnings of ours."""
    done = command(name, *flags, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def logged(output: str, key: str) -> list[float]:
    """A value of every JSON line of a log, of those that have it."""
    lines = [json.loads(line) for line in re.findall(r"\{\".*\}$", output, re.MULTILINE)]
    return [float(line[key]) for line in lines if key in line]


def hypotheses(output: str) -> dict[int, str]:
    """The first hypothesis of each sentence, by number."""
    found = re.findall(r"^H-(\d+)\t[^\t]*\t(.*)$", output, re.MULTILINE)
    return {int(number): words for number, words in reversed(found)}


def scores(output: str) -> dict[int, float]:
    """Its score."""
    found = re.findall(r"^H-(\d+)\t([^\t]*)\t", output, re.MULTILINE)
    return {int(number): float(score) for number, score in reversed(found)}
