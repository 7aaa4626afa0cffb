"""COMET is the library's own, from a tiny checkpoint; without weights nobody is asked for them."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.covering import needs

from tdo_plugin.metrics.cache import Cache
from tdo_plugin.metrics.comet import Comet
from tdo_plugin.metrics.segments import Segments, Unavailable
from tdo_plugin.metrics.silence import quiet_libraries

pytestmark = needs("comet")
GERMAN = Segments(
    "de",
    ("the horse drinks cold water near the white house", "an old book", "the sea"),
    ("das Pferd trinkt Wasser", "ein Buch", ""),
    ("das weiße Pferd trinkt", "ein altes Buch", "am Meer"),
)
FRENCH = Segments("fr", ("the white house",), ("la maison",), ("la maison blanche",))


@pytest.fixture(scope="module")
def encoder(xlm_roberta):
    return xlm_roberta(layers=2)


@pytest.fixture(scope="module")
def build(encoder, tmp_path_factory):
    """`build(seed)`: the folder of a checkpoint like wmt22-comet-da, but tiny."""
    import pytorch_lightning
    from comet.models import RegressionMetric

    def build(seed: int) -> Path:
        folder = tmp_path_factory.mktemp("comet")
        pytorch_lightning.seed_everything(seed, verbose=False)
        with quiet_libraries():
            model = RegressionMetric(
                pretrained_model=str(encoder),
                hidden_sizes=[16, 8],
                layer_transformation="sparsemax",
                local_files_only=True,
            )
            trainer = pytorch_lightning.Trainer(accelerator="cpu", logger=False)
            trainer.strategy.connect(model)
            trainer.save_checkpoint(folder / "checkpoints" / "model.ckpt")
        settings = yaml.safe_dump(dict(model.hparams))
        (folder / "hparams.yaml").write_text(settings)
        return folder

    return build


@pytest.fixture(scope="module")
def tiny(build):
    return build(1)


def library(folder: Path, segments: Segments) -> np.ndarray:
    import comet

    with quiet_libraries():
        model = comet.load_from_checkpoint(
            str(folder / "checkpoints" / "model.ckpt"), local_files_only=True
        )
        rows = zip(segments.sources or (), segments.hypotheses, segments.references, strict=True)
        samples = [{"src": source, "mt": hyp, "ref": reference} for source, hyp, reference in rows]
        prediction = model.predict(samples, gpus=0, num_workers=0, progress_bar=False)
    return 100 * np.array(prediction.scores)


def test_scores_are_the_librarys(tiny, tmp_path, requests, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_NTASKS", "4")  # a batch job, where Lightning expects four of us
    before = list(logging.root.handlers), logging.root.level
    mine = Comet(str(tiny), batch_size=2).score([GERMAN, FRENCH, GERMAN])
    assert requests == [] and capfd.readouterr() == ("", "") and os.listdir() == []
    assert (list(logging.root.handlers), logging.root.level) == before
    monkeypatch.delenv("SLURM_NTASKS")
    np.testing.assert_allclose(mine[0], library(tiny, GERMAN), rtol=1e-4)
    np.testing.assert_allclose(mine[1], library(tiny, FRENCH), rtol=1e-4)
    np.testing.assert_array_equal(mine[0], mine[2])
    assert len({*mine[0], *mine[1]}) == 4
    checkpoint = tiny / "checkpoints" / "model.ckpt"
    # processors round a batch of other sentences otherwise
    np.testing.assert_allclose(Comet(str(checkpoint)).score([FRENCH])[0], mine[1], rtol=1e-5)


def test_a_cached_segment_is_not_computed_again(tiny, build, tmp_path, monkeypatch):
    from comet.models import RegressionMetric

    computed: list[int] = []
    step = RegressionMetric.predict_step
    monkeypatch.setattr(
        RegressionMetric,
        "predict_step",
        lambda self, batch: computed.append(len(batch["mt_input_ids"])) or step(self, batch),
    )

    def metric(model: Path) -> Comet:
        return Comet(str(model), cache=Cache(tmp_path / "scores.sqlite"))

    first = metric(tiny).score([GERMAN, GERMAN])
    assert computed == [3]
    again = metric(tiny).score([FRENCH, GERMAN])
    assert computed == [3, 1]
    np.testing.assert_array_equal(again[1], first[0])
    other_source = Segments("de", ("x",) * 3, GERMAN.hypotheses, GERMAN.references)
    assert (metric(tiny).score([other_source])[0] != first[0]).all()
    another = build(2)
    third = metric(another).score([GERMAN])
    assert computed == [3, 1, 3, 3] and (third[0] != first[0]).all()
    assert metric(another).signature("de") != metric(tiny).signature("de")


def test_from_the_hubs_cache(tiny, encoder, hub, requests, tmp_path):
    with pytest.raises(Unavailable, match="Unbabel/wmt22-comet-da is not installed; --down"):
        Comet()
    named = Path(shutil.copytree(tiny, tmp_path / "named"))
    settings = yaml.safe_load((named / "hparams.yaml").read_text())
    settings["pretrained_model"] = "xlm-roberta-large"
    (named / "hparams.yaml").write_text(yaml.safe_dump(settings))
    snapshot = hub("Unbabel/wmt22-comet-da", named)
    blob = tmp_path / "hub" / "blob"  # the Hub's cache holds links
    (snapshot / "checkpoints" / "model.ckpt").rename(blob)
    (snapshot / "checkpoints" / "model.ckpt").symlink_to(blob)
    with pytest.raises(Unavailable, match="xlm-roberta-large is not installed; --download"):
        Comet().score([FRENCH])
    hub("xlm-roberta-large", encoder)
    np.testing.assert_array_equal(Comet().score([FRENCH])[0], Comet(str(tiny)).score([FRENCH])[0])
    linked = Comet(str(snapshot / "checkpoints" / "model.ckpt"))
    np.testing.assert_array_equal(linked.score([FRENCH])[0], Comet().score([FRENCH])[0])
    assert requests == [] and linked.score([]) == []
    signature = Comet().signature("fr")
    assert signature.startswith("Python3.")
    assert signature.endswith("|Comet2.2.7|fp32|Unbabel/wmt22-comet-da|revision:01234567")


def test_without_sources_nothing_is_computed(tiny):
    bare = Segments("it", None, ("un libro",), ("un libro",))
    with pytest.raises(Unavailable, match=r"requires source text; 1 of 2 test sets .*\(into it\)"):
        Comet(str(tiny)).score([FRENCH, bare])


def test_mistakes(tiny, tmp_path, refused):
    with refused.raised("an empty folder", names="--comet-model"):
        Comet(str(tmp_path))
    loose = tmp_path / "checkpoints" / "model.ckpt"
    loose.parent.mkdir()
    loose.touch()
    with refused.raised("no settings", names="hparams.yaml"):
        Comet(str(loose))
    shutil.copy(tiny / "hparams.yaml", tmp_path)
    (loose.parent / "other.ckpt").touch()
    with refused.raised("two checkpoints", names="2 checkpoints"):
        Comet(str(tmp_path))
