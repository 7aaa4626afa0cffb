"""Mends fairseq 0.12.2 for today's Python, torch, numpy, bitarray and hydra, and how it ends.

``tdo_plugin_boot.pth`` imports this module whenever Python starts, so that the mends are in place
before fairseq is, however it is started: console command, ``python -m``, ``torchrun`` (not
``python -m torch.distributed.run``, which no mend reaches itself; its workers are), a spawned or
forked worker. Importing it only puts a finder on ``sys.meta_path``; nothing else happens until
``fairseq`` is imported, and heavy modules are imported inside functions for that reason.

Every mend is a small function under ``@mend``, which says its name, what breaks, since which
version, when it is needed, and which fairseq modules it changes right after they were executed.
This is the only file of the project that knows about versions.
"""

import sys

MENDS = []
TORCHRUN = "torch.distributed.run"
EVERYWHERE = "all of fairseq"  # stands for each module of it, and for those of its commands


class Mend:
    """One row of ``MENDS``. ``status`` is ``waiting``, ``applied`` or ``not needed``."""

    def __init__(self, name, breaks, since, needed, modules, apply):
        self.name, self.breaks, self.since, self.needed = name, breaks, since, needed
        self.modules, self.apply, self.status = modules, apply, "waiting"


def mend(name, breaks, since, needed, *modules):
    """Register the decorated ``apply(module)``; with no modules, a context around all of them."""
    return lambda apply: MENDS.append(Mend(name, breaks, since, needed, modules, apply)) or apply


def mends() -> list[dict[str, str]]:
    """What ``tdo doctor`` prints: a dict with name, breaks, since and status for every mend."""
    return [{key: vars(m)[key] for key in ("name", "breaks", "since", "status")} for m in MENDS]


def _version(module):
    """(major, minor) of an imported or importable module."""
    return tuple(int(part) for part in __import__(module).__version__.split(".")[:2])


def _overlay(module, **changed):
    """A view of ``module`` in which the names of ``changed`` are other things.

    It replaces the module in one fairseq file's namespace, so that nobody else sees the change.
    """
    import types

    view = types.ModuleType(module.__name__)
    view.__dict__.update(changed)
    view.__getattr__ = lambda name: getattr(module, name)
    return view


# --- Python ----------------------------------------------------------------------------------


@mend(
    "dataclass-defaults",
    "import fairseq: mutable default ... use default_factory",
    "Python 3.11",
    lambda: sys.version_info >= (3, 11),
)
class _HashableDataclasses:
    """While a fairseq file runs, its ``@dataclass`` keeps ``object.__hash__``.

    Python 3.11 takes an unhashable default for a mutable one. The default itself has to stay in
    ``Field.default``, where fairseq's ``hydra_init`` reads it.
    """

    def __enter__(self):
        import dataclasses

        self.original = original = dataclasses.dataclass

        def mark(cls):
            if cls.__hash__ is None and cls.__module__.partition(".")[0] == "fairseq":
                cls.__hash__ = object.__hash__
            return cls

        def dataclass(cls=None, /, **options):
            made = original(cls, **options)
            return mark(made) if cls is not None else lambda later: mark(made(later))

        dataclasses.dataclass = dataclass

    def __exit__(self, *exc_info):
        import dataclasses

        dataclasses.dataclass = self.original


# --- checkpoints -----------------------------------------------------------------------------


@mend(
    "safe-checkpoints",
    "torch.load refuses fairseq's checkpoints (2.6), or runs what a file tells it to (before)",
    "every torch",
    lambda: True,
    "fairseq.checkpoint_utils",
    "fairseq.data.codedataset",
    "fairseq.distributed.utils",
    "fairseq.models.speech_to_text.xm_transformer",
    "fairseq.models.text_to_speech.vocoder",
    "fairseq.modules.quantization.pq.em",
)
def _load_safely(module):
    from tdo_plugin_checkpoint import safe_load

    module.torch = _overlay(module.torch, load=safe_load)


@mend(
    "settings-are-data",
    "fairseq runs settings that are text (eval), which a checkpoint, too, may hold",
    "fairseq 0.12.2",
    lambda: True,
    EVERYWHERE,
)
def _read_literals(module):
    from tdo_plugin_settings import literal

    module.eval = literal  # a module's own name goes before Python's
    if getattr(module, "ast", None) is sys.modules["ast"]:
        module.ast = _overlay(module.ast, literal_eval=literal)
    if getattr(module, "literal_eval", None) is sys.modules["ast"].literal_eval:
        module.literal_eval = literal


@mend(
    "settings-are-harmless",
    "a checkpoint's settings say what is imported and where a command writes",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.checkpoint_utils",
)
def _forget_places(module):
    from tdo_plugin_settings import harmless

    load = module.torch.load
    module.torch = _overlay(
        module.torch, load=lambda *words, **more: harmless(load(*words, **more))
    )


@mend(
    "form-of-checkpoints",
    "a checkpoint that lacks a part, or has another in its place, is a traceback",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.checkpoint_utils",
)
def _well_formed(module):
    from tdo_plugin_checkpoint import well_formed, with_form

    original = module.torch.load

    def load(source, *args, **kwargs):
        return with_form(original(source, *args, **kwargs), getattr(source, "name", source))

    module.torch = _overlay(module.torch, load=load)
    module._upgrade_state_dict = well_formed(module._upgrade_state_dict)


@mend(
    "meters-by-name",
    "a checkpoint's meters name what is called to make them",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.logging.meters",
)
def _only_meters(module):
    from tdo_plugin_settings import only_meters

    module.MetersDict.load_state_dict = only_meters(module)


@mend(
    "known-by-name",
    "a task, model, criterion, ... that is not known, as without its --user-dir, is a traceback",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.tasks",
    "fairseq.models",
    "fairseq.registry",
)
def _known_by_name(module):
    import tdo_plugin_settings

    tdo_plugin_settings.know_names(module)


@mend(
    "no-foreign-hub",
    "the settings of a speech data folder say what code is downloaded and run",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.models.speech_to_text.hub_interface",
)
def _no_foreign_hub(module):
    from tdo_plugin_settings import no_hub

    module.torch = _overlay(module.torch, hub=_overlay(module.torch.hub, load=no_hub))


@mend(
    "fasta-without-a-shell",
    "--dataset-impl fasta hands a file's name to a shell as it is",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.data.fasta_dataset",
)
def _quote_fasta(module):
    import shlex

    original = module.FastaDataset._build_index
    module.FastaDataset._build_index = lambda self, path: original(self, shlex.quote(path))


@mend(
    "whole-checkpoints",
    "a full disk or an interrupt leaves half a checkpoint under its final name",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.checkpoint_utils",
)
def _save_whole(module):
    """Save and copy in one step.

    fairseq tries three times without going back to the file's beginning, and copies a checkpoint
    to ``checkpoint_last.pt`` in place.
    """
    from tdo_plugin_checkpoint import copy_whole, save_whole, signed

    manager, original = module.PathManager, module.torch_persistent_save

    def torch_persistent_save(obj, filename, async_write=False):
        obj = signed(obj)
        if async_write or not manager.supports_rename(filename):
            return original(obj, filename, async_write=async_write)
        return save_whole(obj, filename)

    class WholePathManager(manager):
        @staticmethod
        def copy(src_path, dst_path, overwrite=False):
            if not manager.supports_rename(dst_path):
                return manager.copy(src_path, dst_path, overwrite=overwrite)
            return copy_whole(src_path, dst_path)

    module.torch_persistent_save = torch_persistent_save
    module.PathManager = WholePathManager


# --- torch -----------------------------------------------------------------------------------


@mend(
    "encoder-fast-path",
    "stock transformer in evaluation: Mask Type should be defined",
    "torch 1.13",
    lambda: _version("torch") >= (1, 13),
    "fairseq.modules.transformer_layer",
)
def _no_fast_path(module):
    layer = module.TransformerEncoderLayerBase
    original = layer.__init__

    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self.can_use_fastpath = False

    layer.__init__ = __init__


@mend(
    "bf16-is-not-tpu",
    "--bf16 switches TPU mode on",
    "fairseq 0.12.2 without torch_xla",
    lambda: __import__("importlib.util").util.find_spec("torch_xla") is None,
    "fairseq.options",
)
def _bf16_without_tpu(module):
    from tdo_plugin_settings import SettingError

    original = module.parse_args_and_arch

    def parse_args_and_arch(parser, input_args=None, *args, **kwargs):
        try:
            result = original(parser, input_args, *args, **kwargs)
        except ValueError as error:
            if "Cannot combine --fp16 and --tpu" not in str(error):
                raise
            raise SettingError(
                "one precision must be chosen; `--fp16` comes with another"
            ) from None
        parsed = result[0] if isinstance(result, tuple) else result
        asked = "--tpu" in (sys.argv if input_args is None else input_args)
        if getattr(parsed, "bf16", False) and not asked:
            parsed.tpu = False
        return result

    module.parse_args_and_arch = parse_args_and_arch


@mend(
    "complaints-in-one-line",
    "what is wrong with a command line stands behind a hundred lines of usage",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.options",
)
def _complain_in_one_line(module):
    from tdo_plugin_messages import OneLineParser

    module.argparse = _overlay(module.argparse, ArgumentParser=OneLineParser)
    original = module.parse_args_and_arch

    def parse_args_and_arch(parser, *args, **kwargs):
        try:
            return original(parser, *args, **kwargs)
        except RuntimeError as error:
            if str(error):
                raise
            parser.error(
                "`--arch` must be given, a model of fairseq's or of `--user-dir`; it is not"
            )

    module.parse_args_and_arch = parse_args_and_arch


@mend(
    "given-paths",
    "--restore-file with a typing mistake trains from nothing, other paths end in tracebacks",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.options",
)
def _check_given_paths(module):
    from tdo_plugin_paths import check_paths

    original = module.parse_args_and_arch

    def parse_args_and_arch(parser, input_args=None, *args, **kwargs):
        result = original(parser, input_args, *args, **kwargs)
        if input_args is None:  # a command begins; other options may be read only to look at them
            check_paths(result[0] if isinstance(result, tuple) else result)
        return result

    module.parse_args_and_arch = parse_args_and_arch


@mend(
    "bf16-inference",
    "fairseq-generate and fairseq-interactive ignore --bf16",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.models.fairseq_model",
)
def _bf16_inference(module):
    model = module.BaseFairseqModel
    original = model.prepare_for_inference_

    def prepare_for_inference_(self, cfg):
        original(self, cfg)
        if getattr(cfg.common, "bf16", False):
            self.bfloat16()

    model.prepare_for_inference_ = prepare_for_inference_


@mend(
    "cuda-autocast",
    "torch.cuda.amp.autocast is deprecated (a warning at each training)",
    "torch 2.4",
    lambda: _version("torch") >= (2, 4),
    "fairseq.tasks.fairseq_task",
)
def _new_autocast(module):
    torch = module.torch

    def autocast(enabled=True):
        return torch.amp.autocast("cuda", enabled=enabled)

    amp = _overlay(torch.cuda.amp, autocast=autocast)
    module.torch = _overlay(torch, cuda=_overlay(torch.cuda, amp=amp))


@mend(
    "torch-warnings",
    "torch warns, on a CPU, of fairseq's pinned memory and of its mixed attention masks",
    "torch 2.0",
    lambda: _version("torch") >= (2, 0),
    "fairseq.data.iterators",
)
def _quiet_torch(module):
    import warnings

    warnings.filterwarnings("ignore", "'pin_memory' argument is set as true but no accelerator")
    warnings.filterwarnings("ignore", "Support for mismatched key_padding_mask and attn_mask")


@mend(
    "options-of-checkpoints",
    "what a checkpoint's text passed through in training must be said again wherever it is used, "
    "and nothing notices what is left out",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.options",
)
def _options_of_checkpoints(module):
    """Complete each command line; in fairseq-validate's second reading only what is said counts."""
    original = module.parse_args_and_arch

    def parse_args_and_arch(parser, input_args=None, *args, **kwargs):
        result = original(parser, input_args, *args, **kwargs)
        if "tdo_plugin.tasks" in sys.modules and not kwargs.get("suppress_defaults"):
            from tdo_plugin.tasks.checkpoint_options import complete

            complete(result[0] if isinstance(result, tuple) else result, parser, input_args)
        return result

    module.parse_args_and_arch = parse_args_and_arch


# --- data ------------------------------------------------------------------------------------


@mend(
    "damaged-data",
    "damaged binarised sets end in a traceback, or are trained on and translated without a word",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.data.indexed_dataset",
)
def _check_before_loading(module):
    from tdo_plugin_binarised import check_before_loading

    check_before_loading(module)


# --- numpy, bitarray, hydra ------------------------------------------------------------------


def _old_names(numpy):
    """Those of numpy's old names that this numpy has no more."""
    import types

    old = {"int": int, "float": float, "compat": types.SimpleNamespace(long=int)}
    return {name: value for name, value in old.items() if not hasattr(numpy, name)}


@mend(
    "numpy-names",
    "np.int, np.float, np.compat are gone (language-model, pair and noising data sets)",
    "numpy 1.24, 2.0",
    lambda: bool(_old_names(__import__("numpy"))),
    "fairseq.data.data_utils",
    "fairseq.data.language_pair_dataset",
    "fairseq.data.token_block_dataset",
    "fairseq.modules.dynamic_crf_layer",
)
def _old_numpy_names(module):
    module.np = _overlay(module.np, **_old_names(module.np))


@mend(
    "bitarray-rindex",
    "bitarray.util.rindex is gone (--dataset-impl huffman)",
    "bitarray 3.0",
    lambda: not hasattr(__import__("bitarray.util").util, "rindex"),
    "fairseq.data.huffman.huffman_coder",
)
def _rindex(module):
    module.util = _overlay(module.util, rindex=lambda bits, bit: bits.index(bit, right=True))


@mend(
    "quick-settings",
    "hydra takes 0.3 to 0.4 seconds of every start to compose the settings",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.dataclass.utils",
)
def _compose_quickly(module):
    from tdo_plugin_composing import with_less_hydra

    # it must be fairseq's own function, so this mend comes before others of it
    convert = with_less_hydra(module.convert_namespace_to_omegaconf)
    module.convert_namespace_to_omegaconf = convert


@mend(
    "hydra-warnings",
    "hydra warns of all the deprecated things that fairseq does with it",
    "hydra 1.1",
    lambda: _version("hydra") >= (1, 1),
    "fairseq.dataclass.utils",
)
def _quiet_hydra(module):
    import warnings

    original = module.convert_namespace_to_omegaconf

    def convert_namespace_to_omegaconf(args):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return original(args)

    module.convert_namespace_to_omegaconf = convert_namespace_to_omegaconf


# --- fairseq itself --------------------------------------------------------------------------


@mend(
    "restored-task",
    "resuming gives the task no chance to compare its dictionary with the checkpoint's",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.trainer",
)
def _restore_task(module):
    real, loaded = module.checkpoint_utils, []
    original = module.Trainer.load_checkpoint

    def load_checkpoint_to_cpu(*args, **kwargs):
        state = real.load_checkpoint_to_cpu(*args, **kwargs)
        loaded[:] = [state.get("task_state") or {}]
        return state

    def load_checkpoint(self, filename, reset_optimizer=False, *args, **kwargs):
        loaded.clear()
        extra_state = original(self, filename, reset_optimizer, *args, **kwargs)
        if extra_state is not None and self.data_parallel_world_size > 1:
            # the first worker alone has read the file
            loaded[:] = module.distributed_utils.broadcast_object(
                loaded,
                src_rank=0,
                group=self.data_parallel_process_group,
                dist_device=self.device,
            )
        if loaded and self.task is not None:
            self.task.resets_optimizer = reset_optimizer
            self.task.load_state_dict(loaded[0])
        return extra_state

    module.checkpoint_utils = _overlay(real, load_checkpoint_to_cpu=load_checkpoint_to_cpu)
    module.Trainer.load_checkpoint = load_checkpoint


@mend(
    "ends-when-told",
    "SIGTERM ends a training where it is, without a checkpoint",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.trainer",
)
def _end_when_told(module):
    from tdo_plugin_ending import end_when_told

    end_when_told(module.Trainer)


@mend(
    "loading-goes-on",
    "a signal to all processes ends those that load data, and so a training before its checkpoint",
    "every torch",
    lambda: True,
    "fairseq.data.iterators",
)
def _loading_goes_on(module):
    from tdo_plugin_ending import obedient_loader

    torch, data = module.torch, module.torch.utils.data
    data = _overlay(data, DataLoader=obedient_loader(data.DataLoader))
    module.torch = _overlay(torch, utils=_overlay(torch.utils, data=data))


@mend(
    "out-of-memory",
    "a batch that is too large is left out, or all workers but one wait for ever",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.trainer",
)
def _end_without_memory(module):
    from tdo_plugin_ending import end_without_memory

    end_without_memory(module.Trainer)


@mend(
    "workers-end-together",
    "when one worker fails, the others may wait for it for ever",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.distributed.utils",
)
def _end_together(module):
    from tdo_plugin_workers import end_together

    end_together(module)


@mend(
    "signals-handed-on",
    "a signal to a fairseq-train that spawned its workers ends all of them without a checkpoint",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.distributed.utils",
)
def _hand_signals_on(module):
    from tdo_plugin_workers import handing_signals_on

    torch = module.torch
    spawn = handing_signals_on(torch.multiprocessing.spawn)
    module.torch = _overlay(torch, multiprocessing=_overlay(torch.multiprocessing, spawn=spawn))


@mend(
    "torchrun-ending",
    "torchrun puts a traceback behind a worker's one line, hides that a signal ended a training, "
    "and leaves it 30 seconds",
    "every torch",
    lambda: True,
    TORCHRUN,
)
def _end_like_workers(module):
    from tdo_plugin_workers import end_like_workers

    end_like_workers(module)


class UserDirError(FileNotFoundError):
    """``--user-dir`` leads nowhere, or to a second package of a name."""

    one_line = True


@mend(
    "user-dir-by-name",
    "--user-dir tdo_plugin, from another folder, does not find an editable install",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.utils",
)
def _user_dir_by_name(module):
    """Where fairseq finds no folder, take the installed package of that name."""
    original = module.import_user_module

    def import_user_module(args):
        import argparse
        import importlib.util
        import os

        try:
            return original(args)
        except FileNotFoundError:
            given = str(args.user_dir)
            if os.path.exists(given):  # found; the plugin itself misses a file
                raise
        except ImportError as error:
            if "not globally unique" not in str(error):
                raise
            name = os.path.basename(os.path.abspath(args.user_dir))
            there = next(iter(getattr(sys.modules.get(name), "__path__", [])), "another one")
            raise UserDirError(
                f"`--user-dir` must be the {name} that is imported already, {there}; it is "
                f"{args.user_dir}"
            ) from None
        spec = importlib.util.find_spec(given) if given.isidentifier() else None
        folders = list(spec.submodule_search_locations or ()) if spec else []
        if not folders:
            raise UserDirError(
                f"`--user-dir` must be a folder or an installed package; {given} is neither"
            )
        return original(argparse.Namespace(user_dir=folders[0]))

    module.import_user_module = import_user_module


@mend(
    "options-that-are-read",
    "options that nothing reads, or that a task cannot honour, are ignored in silence",
    "fairseq 0.12.2",
    lambda: True,
    "fairseq.options",
)
def _refuse_options(module):
    """Let the task look at the command line, if it wants to."""
    original = module.parse_args_and_arch

    def parse_args_and_arch(parser, input_args=None, *args, **kwargs):
        result = original(parser, input_args, *args, **kwargs)
        if kwargs.get("suppress_defaults"):
            return result  # it has called this function itself, with the defaults
        parsed = result[0] if isinstance(result, tuple) else result
        tasks = getattr(sys.modules.get("fairseq.tasks"), "TASK_REGISTRY", {})
        task = tasks.get(getattr(parsed, "task", None))
        if hasattr(task, "check_command_line"):
            words = sys.argv[1:] if input_args is None else list(map(str, input_args))
            task.check_command_line(parser, parsed, words)
        return result

    module.parse_args_and_arch = parse_args_and_arch


# --- the hook --------------------------------------------------------------------------------

_callbacks = []


class _Finder:
    """Finds nothing itself: lets the others find a module and runs it between mends."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != TORCHRUN and name.partition(".")[0] not in ("fairseq", "fairseq_cli"):
            return None
        finders = [f.find_spec for f in sys.meta_path if f is not _Finder]
        spec = next(filter(None, (find(name, path, target) for find in finders)), None)
        if type(getattr(spec, "loader", None)).__name__ == "SourceFileLoader":
            original = spec.loader.exec_module
            spec.loader.exec_module = lambda module: _execute(original, module)
        return spec


def _execute(exec_module, module):
    """Run a fairseq module's code with the mends around and after it."""
    import contextlib

    name = module.__name__
    if name == "fairseq":
        _install_one_line_errors()
    with contextlib.ExitStack() as stack:
        for around in (m for m in MENDS if not m.modules and name != TORCHRUN):
            around.status = "applied" if around.needed() else "not needed"
            if around.status == "applied":
                stack.enter_context(around.apply())
        exec_module(module)
    _mend_after(name, module)
    if name == "fairseq":
        while _callbacks:
            _callbacks.pop(0)()


def _install_one_line_errors():
    import tdo_plugin_messages

    tdo_plugin_messages.install()


def _mend_after(name, module):
    for one in MENDS:
        if name in one.modules or (EVERYWHERE in one.modules and name != TORCHRUN):
            one.status = "applied" if one.needed() else "not needed"
            if one.status == "applied":
                one.apply(module)


def after_fairseq(callback) -> None:
    """Call ``callback()`` once: now if fairseq is imported already, else as soon as it is."""
    fairseq = sys.modules.get("fairseq")
    if fairseq is not None and not getattr(fairseq.__spec__, "_initializing", False):
        callback()
    else:
        _callbacks.append(callback)


def install() -> None:
    """Put the finder in front, once. Mends modules that were imported before (no ``.pth`` ran)."""
    if _Finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _Finder)
    if "fairseq" in sys.modules:
        _install_one_line_errors()
        for name in [one for one in sys.modules if one.startswith(("fairseq.", "fairseq_cli."))]:
            _mend_after(name, sys.modules[name])


install()
