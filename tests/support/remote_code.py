"""Small models of every kind as they are opened for an export, and a process that loads folders."""

import json
import os
import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from support.built_models import in_double_precision, moved, padded
from support.parity_cases import NUMBERS, PAD
from support.pretrained import pieces, segmentation
from support.processes import finished

from tdo_plugin.export.folder_files import write_json
from tdo_plugin.export.generation_settings import generation_settings
from tdo_plugin.export.opened_model import OpenedModel
from tdo_plugin.export.remote_code import folder
from tdo_plugin.export.tokenizer_files import write_tokenizer
from tdo_plugin.metrics.textform import TextForm
from tdo_plugin.models.config import spec_from_args
from tdo_plugin.models.presets import PRESETS, fill
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.language_pairs import LanguagePairs
from tdo_plugin.modules.methods.neuron_masks import NeuronMasks
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.text_settings import settings_of

LANGUAGES = ("en", "de", "fr")
PAIRS = ("de-en", "en-fr")
# the languages of each pair, as indices
PLACES = [[LANGUAGES.index(language) for language in pair.split("-")] for pair in PAIRS]
TAGS = {language: f"__{language}__" for language in LANGUAGES}
SYMBOLS = ("<s>", "<pad>", "</s>", "<unk>", *pieces(), *TAGS.values())
EOS = 2
# an interpreter with another version of transformers, without this package
OTHER = "TDO_OTHER_PYTHON"
LOADER = Path(__file__).with_name("remote_code_loader.py")


def core_of(**case):
    """A float64 model in evaluation mode, every parameter off its start."""
    languages = {"num_languages": len(LANGUAGES)} if case.get("num_languages") else {}
    pairs = {"num_pairs": len(PAIRS)} if case.get("adapter_dim") else {}
    spec = ModelSpec(**{**NUMBERS, "dropout": 0.1, **case, **languages, **pairs})
    torch.manual_seed(1)
    with in_double_precision():
        core = Builder(spec, PAD).build(len(SYMBOLS), len(SYMBOLS)).eval()
        if spec.neuron_masks:
            core.neurons = NeuronMasks(core.stack, len(LANGUAGES), spec.zero_shot_neurons)
            width = core.neurons.masks.size(1)
            masks, general = torch.rand(len(PAIRS), width) < 0.7, torch.rand(width) < 0.3
            digest = torch.arange(32, dtype=torch.uint8)
            core.neurons.take(masks, general, torch.tensor(PLACES), digest)
    if pairs:
        core.pairs = LanguagePairs(LANGUAGES, PAIRS)
    return moved(core)


def preset(arch):
    """The specification of a preset with small sizes."""
    args = Namespace(tdo_model_dim=8, tdo_heads=2, tdo_ffn_dim=12)
    fill(args, PRESETS[arch])
    args.tdo_adaptation_dim = min(args.tdo_adaptation_dim, 6)
    return asdict(spec_from_args(args))


def opened(core, source_tag="tgt", target_tag=None):
    """The model as `tdo export` would open it."""
    sides = Namespace(langtoks={"main": (source_tag, target_tag)})
    return OpenedModel(
        path=Path("checkpoint.pt"),
        data=None,
        core=core,
        symbols=SYMBOLS,
        languages=LANGUAGES,
        tags=TAGS,
        source_tag=source_tag,
        target_tag=target_tag,
        directions=PAIRS,
        segmentation=segmentation(),
        form=TextForm(),
        text_settings=settings_of(sides),
        converted=False,
        origin={},
    )


def exported(core, out, **tags):
    """Write the folder of a model."""
    model = opened(core, **tags)
    out.mkdir(parents=True)
    write_json(out / "generation_config.json", generation_settings(model))
    write_tokenizer(model, out)
    folder.write_own_model(model, out, torch.float64)


def batch():
    """Sources, shifted targets and language ids of mixed pairs, with padding on the right."""
    drawn = torch.Generator().manual_seed(3)
    last = len(SYMBOLS) - len(LANGUAGES) - 1

    def rows(longest, first):
        lengths = [1 + number % (longest - 1) for number in range(len(first))]
        words = (torch.randint(4, last, (length,), generator=drawn) for length in lengths)
        return [[*before, *text.tolist()] for before, text in zip(first, words, strict=True)]

    languages = torch.tensor(PLACES * 3)
    tags = [[SYMBOLS.index(TAGS[LANGUAGES[target]])] for target in languages[:, 1].tolist()]
    return {
        "source": padded([[*row, EOS] for row in rows(6, tags)]),
        "target": padded(rows(5, [[EOS]] * 6)),
        "src_lang_id": languages[:, 0].contiguous(),
        "tgt_lang_id": languages[:, 1].contiguous(),
    }


def logits(core, batch):
    """The package's own logits of all target positions, (B, T, V)."""
    context = core.language_context(batch["src_lang_id"], batch["tgt_lang_id"])
    with torch.no_grad():
        _, features = core([SourceRequest(batch["source"], context=context)], batch["target"])
        return F.pad(core.logits(features), (0, core.spec.masked_tags), value=-torch.inf)


def loaded_elsewhere(jobs, scratch: Path, cache: Path, python=sys.executable):
    """What a process without this package and fairseq says of folders; see its file.

    Jobs are dictionaries. transformers keeps the folders' code in the cache.
    """
    path = scratch / "jobs.json"
    path.write_text(json.dumps(jobs), encoding="utf-8")
    settings = {"HF_HOME": str(cache), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    ended = finished([python, LOADER, path], env={**os.environ, **settings})
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])
