"""The settings of a command line are hydra's, whichever way they are composed."""

import importlib.util
import traceback
import warnings
from argparse import Namespace

import pytest
from fairseq import options
from fairseq.dataclass import utils
from fairseq.dataclass.utils import override_module_args
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_REGISTRY
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.errors import OverrideParseException
from support.configs import systems
from support.covering import in_turn, mostly_full
from support.data import INSTRUCL, TAG, TASK, TDO, TRAIN

from tdo_compat import composing

BASE = ("data", "--task", "tdo_translation", *TASK, *TAG, *TRAIN, *TDO, *INSTRUCL)
STOCK = ("data", "--arch", "transformer_tiny", "--optimizer", "adam", "--max-tokens", "100")
PARSERS = {
    "train": (options.get_training_parser, BASE),
    "stock": (options.get_training_parser, STOCK),
    "generate": (options.get_generation_parser, ("data", "--path", "a.pt:b.pt", "--beam", "3")),
    "interactive": (options.get_interactive_generation_parser, ("data", "--path", "a.pt")),
    "validate": (options.get_validation_parser, ("data", "--task", "translation")),
    "config": (options.get_training_parser, ("data", "--task", "tdo_translation", *TASK)),
}
# of a string, as fairseq writes it down and as hydra could read it
TEXTS = (
    *("1e-3", "it's", "a\\b", "${common.seed}", "a=b", "null"),
    *("a b", "", 'a "word"', "a\\", "a\\'b", "naïve", "a\nb", "a\0b"),
    *("a=b,c: {d} [e]", "True", "1", "inf", "nan", "[1]", "007", "1_000", "~"),
    *("${oc.env:HOME}", "${", "$x", "a${common.seed}b", "\\${common.seed}"),
)
# of these, what is left to hydra
LEFT = ("it's", "a\\b", "a\\", "a\\'b", "a\nb", "a\0b", "\\${common.seed}", "${")
VALUES = (*(None, 0.1, True, -1, 0, 2**70, -1e-12, 1e30, 5.0), float("inf"), float("nan"), "")


def hydras():
    """fairseq's function, of a copy of its file that no patch knows."""
    spec = importlib.util.spec_from_file_location("fairseq.dataclass.stock", utils.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.convert_namespace_to_omegaconf


HYDRAS = hydras()
QUICK = composing.without_hydra(HYDRAS)
MENDED = composing.with_less_hydra(HYDRAS)


def result(convert, args: Namespace) -> str:
    """The settings, with their types and their order, or what is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(convert(args))
        except Exception as error:
            return f"{type(error)} {error}"


def parsed(name: str, *words: str) -> Namespace:
    parser, line = PARSERS[name]
    return options.parse_args_and_arch(parser(), input_args=[*line, *words])


@pytest.mark.parametrize(
    "name", mostly_full(["train", "stock", "generate", "interactive", "validate"])
)
def test_commands_do_without_hydra(name: str) -> None:
    args = parsed(name)
    assert repr(QUICK(args)) == result(HYDRAS, args)


@pytest.mark.full
def test_configs_do_without_hydra(subtests: pytest.Subtests) -> None:
    """One of each file: others have the same flags with other values."""
    one_each = {name.partition("/")[0]: config for name, config in systems().items()}
    for file, config in one_each.items():
        with subtests.test(file):
            args = parsed("config", *config.words())
            assert repr(QUICK(args)) == result(HYDRAS, args)


@pytest.mark.full
def test_every_choice(subtests: pytest.Subtests) -> None:
    """Of tasks, architectures, and what fairseq's registries have of it and of us."""
    registries = {"task": TASK_REGISTRY, "arch": ARCH_MODEL_REGISTRY}
    registries |= {name: registry["registry"] for name, registry in REGISTRIES.items()}
    for name, choices in registries.items():
        for choice in choices:
            with subtests.test(f"{name} {choice}"):
                args = parsed("stock")
                setattr(args, name, choice)
                assert result(MENDED, args) == result(HYDRAS, args)


@pytest.mark.parametrize("text", mostly_full(TEXTS, quick=2), ids=repr)
def test_texts(text: str) -> None:
    args = parsed("generate")
    args.results_path = text
    args.lm_path = text
    assert result(MENDED, args) == result(HYDRAS, args)
    if text not in LEFT:
        assert result(QUICK, args) == result(HYDRAS, args)


@pytest.mark.parametrize(
    ("value", "name"),
    mostly_full(in_turn(VALUES, ["lenpen", "beam", "no_progress_bar", "bucket_cap_mb"]), quick=4),
)
def test_values(value: object, name: str) -> None:
    """Of the right type and of others."""
    args = parsed("train")
    setattr(args, name, value)
    assert result(MENDED, args) == result(HYDRAS, args)


@pytest.mark.full
def test_lists() -> None:
    for value in ([], [0.25, 1], ["a", "it's"], [[1, 2], [3]], "[1, 2]", "0.1", ["a, b"], [None]):
        args = parsed("train")
        args.update_freq = args.lr = args.retain_dropout_modules = value
        assert result(MENDED, args) == result(HYDRAS, args), value


def test_fairseq_does_without_hydra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own function, as commands find it, where hydra can do nothing."""
    for name in ("train", "generate"):
        with monkeypatch.context() as patch:
            patch.setattr(ConfigLoaderImpl, "load_configuration", None)
            settings = utils.convert_namespace_to_omegaconf(parsed(name))
        assert repr(settings) == result(HYDRAS, parsed(name))


def test_what_is_refused_is_said_by_hydra_alone(caplog: pytest.LogCaptureFixture) -> None:
    args = parsed("train")
    args.lenpen = args.beam = "[{"
    with pytest.raises(SyntaxError) as raised:
        MENDED(args)
    assert raised.value.__context__ is None
    args.lenpen = args.beam = "{'a': 1}"
    with pytest.raises(OverrideParseException) as raised, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        MENDED(args)
    trace = "".join(traceback.format_exception(raised.value))
    assert "UnknownFormError" not in trace
    assert caplog.text.count("Error when composing") == 1


def test_what_could_be_read_otherwise_is_left_to_hydra() -> None:
    for text in ("00", "007.5", "01e5", "[00]", "1_000", "{a: 1}", "a\\b", "inf", "null ", "a-b"):
        with pytest.raises((composing.UnknownFormError, SyntaxError)):
            composing.value_of(text)
    for choice in ("bpe=null", "bpe=a/b", "nothing=adam", "common=adam"):
        with pytest.raises(Exception):  # noqa: B017 - of the store, or ours
            composing.composed("config", [choice])


def test_nearly_all_that_fairseq_writes_is_of_a_known_form() -> None:
    overrides, _ = override_module_args(parsed("train"))
    assert len(overrides) > 200
    for line in overrides:
        composing.value_of(line.partition("=")[2])
