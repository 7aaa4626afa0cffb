"""More languages for a trained model: what stays bit by bit, and how the new ones start."""

from argparse import Namespace

import pytest
import torch
from fairseq import tasks
from support.built_models import moved
from support.data import ENCODER_DECODER, TAG, TASK, TDO, TRAIN, built, iterate

from tdo_plugin.models.extension import Extension, extend
from tdo_plugin.modules.methods.language_norm import LanguageNorm
from tdo_plugin.modules.methods.language_transformation import LanguageTransformation

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, "--dropout", "0")
AWARE = ("--tdo-laln", "both", "--tdo-lalt", "xavier")
KINDS = {
    "two stages": (*TDO, *AWARE),
    "without aware parts": TDO,
    "target's norms": (*TDO, "--tdo-laln", "target"),
    "encoder-decoder": (*TDO, *ENCODER_DECODER, *AWARE, "--tdo-share-embeddings", "decoder"),
    "three matrices": (*TDO, *AWARE, "--tdo-share-embeddings", "none"),
    "masked before": (*TDO, *AWARE, "--tdo-masked-tags", "3"),
    "one stage": ("--arch", "tdo_prefix_decoder_only_small", "--tdo-laln", "source"),
    "target attention": (*TDO, "--tdo-target-attention", "all"),
    "FFN experts": (*TDO, "--tdo-ffn-experts", "target"),
}


def extended(*flags, like=None, new=("it", "pt")):
    """(batch, old model, new model)."""
    task, model, _ = built(*BASE, *flags)
    moved(model)
    extension = Extension(task.langs, new, like)
    args = extension.arguments(task.args)
    grown = tasks.setup_task(args)
    larger = extend(model, lambda: grown.build_model(args), extension)
    return iterate(task, "train")[0], model.eval(), larger.eval()


@pytest.mark.parametrize("kind", KINDS)
def test_old_directions_are_bit_equal(kind):
    batch, old, new = extended(*KINDS[kind])
    with torch.no_grad():
        before, after = (model(**batch["net_input"])[0] for model in (old, new))
    assert torch.equal(before, after)
    assert new.core.spec.masked_tags == old.core.spec.masked_tags + 2


@pytest.mark.parametrize("like", [None, "fr"])
def test_the_new_rows(like):
    _, old, new = extended(*TDO, "--tdo-laln", "target", "--tdo-lalt", "xavier", like=like)

    def wanted(rows):
        return rows.mean(0) if like is None else rows[2]  # en, de, fr, es

    embedding, grown = (model.core.embeddings.source.weight for model in (old, new))
    assert torch.equal(grown[: len(embedding)], embedding)
    for row in grown[len(embedding) :]:
        torch.testing.assert_close(row, wanted(embedding[-4:]))
    pairs = zip(old.core.modules(), new.core.modules(), strict=True)
    seen = set()
    for before, after in pairs:
        if isinstance(after, LanguageNorm | LanguageTransformation):
            seen.add((type(after), len(after.weight)))
            assert torch.equal(after.weight[:4], before.weight[:4])
            assert torch.equal(after.weight[6:], before.weight[4:])
            for row in after.weight[4:6]:
                torch.testing.assert_close(row, wanted(before.weight[:4]))
    assert seen == {(LanguageTransformation, 6), (LanguageNorm, 7)}


def test_tags_on_the_target_are_predicted():
    extension = Extension(["en", "de"], ["fr"])
    for tags in ({"decoder_langtok": True}, {"langtoks": {"main": (None, "tgt")}}):
        args = extension.arguments(Namespace(**tags, langs=["en", "de"], lang_dict="names.txt"))
        assert (args.langs, args.lang_dict, args.tdo_masked_tags) == (["en", "de", "fr"], None, 0)


def test_refused(refused):
    for new in ((), ("de",), ("fr", "fr")):
        with refused.raised(f"new languages {new}", names="--langs"):
            Extension(["en", "de"], new)
    for new in ("../x", "pt-BR", "a b"):
        with refused.raised(f"new language {new}", names="--langs"):
            Extension(["en", "de"], (new,))
    with refused.raised("like a language that it does not know", names="--like"):
        Extension(["en", "de"], ["fr"], "it")
    for names, setting in (
        ("--path", {}),
        ("--source-noise", {"encoder_langtok": "tgt", "source_noise": "bert"}),
        ("--back-translated-tag", {"encoder_langtok": "tgt", "back_translated_tag": "<bt>"}),
    ):
        with refused.raised(f"a model with {names}", names):
            Extension(["en", "de"], ["fr"]).arguments(Namespace(langs=["en", "de"], **setting))
