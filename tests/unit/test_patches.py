"""The patches: where they are needed, what they do, and that nothing happens without fairseq."""

import dataclasses
import importlib.util
import sys
import warnings
from argparse import Namespace
from types import SimpleNamespace

import bitarray.util
import hydra
import numpy
import pytest
import torch

from tdo_compat import patches, registry

BY_NAME = {patch.name: patch for patch in registry.PATCHES}
FAKE_FAIRSEQ = {
    "__init__.py": "import fairseq.options\nfrom dataclasses import dataclass\n"
    "@dataclass\nclass Part:\n    x: int = 0\n"
    "@dataclass\nclass Whole:\n    part: Part = Part()\n",
    "options.py": "import argparse\nfrom types import SimpleNamespace\n"
    "def parse_args_and_arch(parser, input_args=None):\n"
    "    return SimpleNamespace(bf16=True, tpu=True)\n",
}


def fake_version(module, version):
    return lambda patch: patch.setattr(module, "__version__", version)


def fake_numpy(patch):
    for name in ("int", "float", "compat"):
        patch.setattr(numpy, name, object(), raising=False)


NOT_NEEDED = {
    "dataclass-defaults": lambda patch: patch.setattr(sys, "version_info", (3, 10, 13)),
    "encoder-fast-path": fake_version(torch, "1.12.1"),
    "bf16-is-not-tpu": lambda patch: patch.setattr(importlib.util, "find_spec", lambda name: name),
    "cuda-autocast": fake_version(torch, "2.3.1+cu121"),
    "torch-warnings": fake_version(torch, "1.13.1"),
    "numpy-names": fake_numpy,
    "one-wandb-run": lambda patch: patch.setattr(importlib.util, "find_spec", lambda name: None),
    "bitarray-rindex": lambda patch: patch.setattr(
        bitarray.util, "rindex", object(), raising=False
    ),
    "hydra-warnings": fake_version(hydra, "1.0.7"),
}


def test_every_patch_that_is_not_always_needed_is_covered_here():
    always = registry.patch.__kwdefaults__["needed"]
    assert {patch.name for patch in registry.PATCHES if patch.needed is not always} == {*NOT_NEEDED}
    assert len(BY_NAME) == len(registry.PATCHES)
    assert all(patch.breaks and patch.since for patch in registry.PATCHES)


@pytest.mark.parametrize("name", NOT_NEEDED)
def test_a_patch_is_not_needed_where_nothing_is_broken(name, monkeypatch):
    needed_now = BY_NAME[name].needed()
    NOT_NEEDED[name](monkeypatch)
    assert not BY_NAME[name].needed()
    if name != "dataclass-defaults" or sys.version_info >= (3, 11):
        monkeypatch.undo()
        assert needed_now == BY_NAME[name].needed()


def test_needed_on_the_versions_that_broke(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 11, 0))
    monkeypatch.setattr(torch, "__version__", "2.13.0+cpu")
    for name in ("dataclass-defaults", "encoder-fast-path", "cuda-autocast"):
        assert BY_NAME[name].needed()


def test_what_is_not_needed_is_not_applied(monkeypatch):
    applied = []
    rows = [
        registry.Patch("off", "", "", lambda: False, ("fairseq.x",), applied.append),
        registry.Patch("on", "", "", lambda: True, ("fairseq.x",), applied.append),
    ]
    monkeypatch.setattr(patches, "PATCHES", rows)
    monkeypatch.setattr(registry, "PATCHES", rows)
    patches._patch_after("fairseq.x", "the module")
    assert applied == ["the module"]
    assert [row["status"] for row in registry.overview()] == ["not needed", "applied"]


def test_without_fairseq_nothing_is_touched(run):
    code = (
        "import sys, dataclasses; assert 'tdo_compat.patches' in sys.modules;"
        "assert not {'fairseq', 'torch', 'numpy', 'tdo_plugin'} & set(sys.modules);"
        "assert sys.excepthook is sys.__excepthook__;"
        "assert dataclasses.dataclass.__module__ == 'dataclasses'"
    )
    done = run("python", "-c", code, cwd="/")
    assert done.returncode == 0, done.stderr


def test_patches_import_nothing_at_start_up(run, root):
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r}); before = set(sys.modules);"
        "import tdo_compat.patches; print(*sorted(set(sys.modules) - before))"
    )
    imported = run("python", "-S", "-c", code).stdout.split()
    assert "tdo_compat.patches" in imported
    assert {name.partition(".")[0] for name in imported} == {"tdo_compat", "__future__"}


@pytest.fixture
def fake_fairseq(tmp_path):
    folder = tmp_path / "fairseq"
    folder.mkdir()
    for name, text in FAKE_FAIRSEQ.items():
        (folder / name).write_text(text)
    return tmp_path


def run_with_fake(run, root, folder, code):
    head = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(root)!r}]\n"
    return run("python", "-S", "-c", head + code)


def test_callbacks_come_once_and_after_fairseq(run, root, fake_fairseq):
    code = (
        "from tdo_compat import patches\n"
        "patches.after_fairseq(lambda: print('late', hasattr(sys.modules['fairseq'], 'Whole')))\n"
        "print('before'); import fairseq, fairseq.options\n"
        "patches.after_fairseq(lambda: print('at once'))\n"
        "print(fairseq.options.parse_args_and_arch(None, []).tpu)\n"
        "print(fairseq.options.parse_args_and_arch(None, ['--tpu']).tpu)\n"
    )
    done = run_with_fake(run, root, fake_fairseq, code)
    assert done.stdout.split("\n")[:5] == ["before", "late True", "at once", "False", "True"], (
        done.stderr
    )


def test_modules_that_came_before_the_patches_are_patched_too(run, root, fake_fairseq):
    (fake_fairseq / "fairseq" / "__init__.py").write_text("")
    code = (
        "import fairseq.options; import tdo_compat.patches\n"
        "print(fairseq.options.parse_args_and_arch(None, []).tpu)\n"
    )
    assert run_with_fake(run, root, fake_fairseq, code).stdout == "False\n"


def test_errors_of_users_are_one_line_and_others_keep_their_traceback(run, root, fake_fairseq):
    head = "import tdo_compat.patches, fairseq\n"
    code = head + "class E(ValueError):\n    one_line = True\nraise E('`--x` is wrong')"
    done = run_with_fake(run, root, fake_fairseq, code)
    assert (done.returncode, done.stderr) == (1, "error: `--x` is wrong\n")
    done = run_with_fake(run, root, fake_fairseq, head + "raise ValueError('bug')")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")


def test_defaults_stay_in_fairseqs_dataclasses_and_dataclass_is_put_back():
    from fairseq.dataclass.configs import CommonConfig, FairseqConfig

    assert isinstance(FairseqConfig.__dataclass_fields__["common"].default, CommonConfig)
    assert dataclasses.dataclass.__module__ == "dataclasses"
    assert dataclasses.make_dataclass("Elsewhere", ["x"]).__hash__ is None


def test_bf16_is_not_tpu_unless_asked():
    from fairseq import options

    words = ["data", "--task", "translation", "--arch", "transformer_tiny", "--bf16"]
    parser = options.get_training_parser
    assert not options.parse_args_and_arch(parser(), words).tpu
    assert options.parse_args_and_arch(parser(), [*words, "--tpu"]).tpu


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--arch transformer_tiny --nothing", "unrecognized arguments: --nothing"),
        ("--save-dir", "`--save-dir` must have a value; it has none"),
        (
            "--arch transformer_tiny --fp16 --bf16",
            "only one precision must be chosen; `--fp16` is combined with another",
        ),
        ("", "`--arch` must be set to a model of fairseq or of `--user-dir`; it is not"),
    ],
)
def test_a_complaint_of_fairseqs_parsers_is_one_line(words, complaint, capsys):
    from fairseq import options

    with pytest.raises(SystemExit) as ended:
        options.parse_args_and_arch(options.get_training_parser(), ["data", *words.split()])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.endswith(f"error: {complaint}\n")


@pytest.mark.parametrize(("bf16", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_bf16_reaches_inference(bf16, dtype):
    from fairseq.models import BaseFairseqModel

    model = BaseFairseqModel()
    model.linear = torch.nn.Linear(2, 2)
    model.prepare_for_inference_(Namespace(common=Namespace(bf16=bf16), generation=Namespace()))
    assert model.linear.weight.dtype == dtype


def test_autocast_without_a_warning():
    from fairseq.tasks import fairseq_task

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fairseq_task.torch.cuda.amp.autocast(enabled=False):
            pass


def test_old_numpy_names_only_inside_fairseq():
    from fairseq.data import TokenBlockDataset, token_block_dataset

    assert token_block_dataset.np.compat.long is int
    assert token_block_dataset.np.zeros is numpy.zeros
    if numpy.lib.NumpyVersion(numpy.__version__) >= "2.0.0":
        assert not hasattr(numpy, "compat")
    sentences = [torch.tensor([5, 2]), torch.tensor([6, 7, 2])]
    blocks = TokenBlockDataset(sentences, [2, 3], 3, pad=1, eos=2, break_mode="none")
    assert [block.tolist() for block in blocks] == [[5, 2, 6], [7, 2]]


def test_huffman_padding():
    from fairseq.data.huffman.huffman_coder import HuffmanCoder

    coder = HuffmanCoder(SimpleNamespace(code_table=dict))
    for bits in ("", "0", "1101", "10101010", "000000000"):
        padded = coder._pad(bitarray.bitarray(bits))
        assert len(padded) % 8 == 0
        assert coder._unpad(padded) == bitarray.bitarray(bits)


def test_encoder_layer_takes_no_fast_path():
    from fairseq.models.transformer import TransformerConfig
    from fairseq.modules.transformer_layer import TransformerEncoderLayerBase

    config = TransformerConfig()
    config.encoder.embed_dim, config.encoder.attention_heads = 8, 2
    layer = TransformerEncoderLayerBase(config).eval()
    assert not layer.can_use_fastpath
    assert layer(torch.zeros(3, 1, 8), torch.zeros(1, 3, dtype=torch.bool)).shape == (3, 1, 8)
