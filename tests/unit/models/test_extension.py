"""More languages for a trained model: what stays bit by bit, and how the new ones start."""

from argparse import Namespace

import pytest
import torch
from fairseq import tasks
from support.built_models import moved
from support.data import ENCODER_DECODER, TAG, TASK, TDO, TRAIN, built, iterate

from tdo_plugin.errors import UserError
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
    with pytest.raises(UserError, match="`--path` must name a model with language tags"):
        extension.arguments(Namespace(langs=["en", "de"]))


@pytest.mark.parametrize("new", [(), ("de",), ("fr", "fr")], ids=str)
def test_languages_must_be_new(new):
    with pytest.raises(UserError, match="`--languages` must name new languages, each once"):
        Extension(["en", "de"], new)


def test_like_must_be_known():
    with pytest.raises(UserError, match="`--like` must be one of en, de; it is it"):
        Extension(["en", "de"], ["fr"], "it")
