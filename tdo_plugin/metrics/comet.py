"""COMET (Rei et al., 2020), by default wmt22-comet-da as in the TDO paper (appendix G)."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.cache import Cache, Triple, score_through
from tdo_plugin.metrics.segments import Segments, Unavailable
from tdo_plugin.metrics.silence import quiet_libraries
from tdo_plugin.metrics.weights import (
    FAST_TOKENIZER,
    find_model,
    identity,
    package_version,
    refuse_foreign_kernels,
)

DEFAULT = "Unbabel/wmt22-comet-da"
OPTION = "--comet-model"
NEEDS = (("hparams.yaml",), ("checkpoints/*.ckpt",))
ENCODER_NEEDS = (("config.json",), FAST_TOKENIZER)


class Comet:
    """COMET x 100 in single precision; empty hypotheses get the library's score.

    The signature follows SacreCOMET (Zouhar et al., 2024), with the model's revision, or a hash of
    the file for a local checkpoint.
    """

    key = "comet"

    def __init__(
        self,
        model: str | None = None,
        download: bool = False,
        cache: Cache | None = None,
        batch_size: int = 32,
    ) -> None:
        """Choose the model, which is loaded when first needed.

        Args:
            model: a name on the Hugging Face Hub, a folder with hparams.yaml and
                checkpoints/*.ckpt, or the .ckpt file in such a folder (default: wmt22-comet-da).
            download: download missing files. Without it, there are no network requests.
            cache: cache for scores.
            batch_size: sentences per batch.

        Raises:
            Unavailable: COMET or the model is not installed.
            UserError: an invalid folder or file, or unsafe libraries.
        """
        self._version = package_version("unbabel-comet")
        refuse_foreign_kernels()
        self._name, self._download, self._cache = model or DEFAULT, download, cache
        self._batch_size = batch_size
        self._checkpoint = _find_checkpoint(self._name, download)

    def signature(self, target: str) -> str:
        """A description of everything that affects scores, equal for every target language."""
        return self._signature

    @cached_property
    def _signature(self) -> str:
        fingerprint = identity(self._checkpoint.parents[1], [self._checkpoint])
        name = Path(self._name).name if fingerprint.startswith("sha256") else self._name
        return f"Python{platform.python_version()}|Comet{self._version}|fp32|{name}|{fingerprint}"

    def score(self, segments: list[Segments]) -> list[np.ndarray]:
        """Score every sentence, all directions with one model.

        Returns:
            Scores (sentences,) for each of `segments`, about 0 to 100.

        Raises:
            Unavailable: source text or the encoder's configuration is missing; raised before any
                computation.
        """
        lacking = [test_set.target for test_set in segments if test_set.sources is None]
        if lacking:
            raise Unavailable(
                f"COMET requires source text; {len(lacking)} of {len(segments)} test sets have "
                f"none (into {', '.join(dict.fromkeys(lacking))})"
            )
        triples: list[Triple] = [
            triple
            for test_set in segments
            for triple in zip(
                test_set.sources or (), test_set.hypotheses, test_set.references, strict=True
            )
        ]
        try:
            scores = score_through(self._cache, self._signature, triples, self._predict, "COMET")
        finally:
            self.__dict__.pop("_loaded", None)  # release its memory
        left = iter(scores)
        return [np.fromiter(left, float, len(test_set.hypotheses)) for test_set in segments]

    def _predict(self, triples: Sequence[Triple]) -> list[float]:
        import torch

        samples = [
            {"src": source, "mt": hypothesis, "ref": reference}
            for source, hypothesis, reference in triples
        ]
        scores: list[float] = []
        with quiet_libraries(), torch.inference_mode():
            model = self._loaded
            # the model's steps without its `predict`, which starts a Lightning trainer that does
            # not run in many Slurm jobs
            for start in range(0, len(samples), self._batch_size):
                batch = model.prepare_for_inference(samples[start : start + self._batch_size])
                batch = model.transfer_batch_to_device(batch, model.device, 0)
                scores.extend(100 * score for score in model.predict_step(batch).scores.tolist())
        return scores

    @cached_property
    def _loaded(self) -> Any:
        """The model as loaded by comet.load_from_checkpoint, but with its encoder from a folder."""
        import torch
        import yaml

        text = (self._checkpoint.parents[1] / "hparams.yaml").read_text(encoding="utf-8")
        settings = yaml.safe_load(text)
        encoder = find_model(settings["pretrained_model"], ENCODER_NEEDS, OPTION, self._download)
        try:
            from comet.models import str2model
        except ImportError as error:
            raise Unavailable(
                f"COMET cannot be imported: {error}; `tdo setup --eval` fixes it"
            ) from None
        model = str2model[settings["class_identifier"]].load_from_checkpoint(
            self._checkpoint,
            map_location="cpu",
            strict=False,
            load_pretrained_weights=False,
            local_files_only=True,
            pretrained_model=str(encoder),
        )
        return model.eval().to("cuda" if torch.cuda.is_available() else "cpu")


def _find_checkpoint(model: str, download: bool) -> Path:
    path = Path(model).expanduser()
    if path.is_file():
        checkpoint = path.absolute()  # without resolving links in the Hub's cache
        if not (checkpoint.parents[1] / "hparams.yaml").is_file():
            raise UserError(
                f"`{OPTION}` must be a checkpoint in DIR/checkpoints, with DIR/hparams.yaml; "
                f"{model} has none"
            )
        return checkpoint
    folder = find_model(model, NEEDS, OPTION, download)
    checkpoints = sorted(folder.glob("checkpoints/*.ckpt"))
    if len(checkpoints) > 1:
        raise UserError(
            f"`{OPTION}` must name one of {model}'s {len(checkpoints)} checkpoints; it names "
            "the folder"
        )
    return checkpoints[0]
