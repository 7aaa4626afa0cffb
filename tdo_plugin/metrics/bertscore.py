"""BERTScore (Zhang et al., 2020), by default with the models of the TDO paper (appendix G)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.cache import Cache, Triple, score_through
from tdo_plugin.metrics.language_id.codes import canonical
from tdo_plugin.metrics.segments import Segments, Unavailable
from tdo_plugin.metrics.silence import quiet_libraries
from tdo_plugin.metrics.weights import (
    SLOW_TOKENIZER,
    SMALL,
    WEIGHTS,
    find_model,
    identity,
    package_version,
    refuse_foreign_kernels,
)
from tdo_plugin.typed import read_json

ENGLISH, OTHERS = "xlm-roberta-large", "bert-base-multilingual-cased"
LAYERS = {ENGLISH: 17, OTHERS: 9}  # defaults of bert-score
LONGEST = 512  # maximum tokens for tokenizers without a limit
MODEL_OPTION, LAYER_OPTION = "--bertscore-model", "--bertscore-layer"
NEEDS = (("config.json",), SLOW_TOKENIZER, WEIGHTS)


class BertScore:
    """F1 of BERTScore x 100, without idf weights and without rescaling.

    Unlike bert-score's hash, the signature has the model's revision (or a hash of a local model's
    files) and the version that is actually installed.
    """

    key = "bertscore"

    def __init__(
        self,
        model: str | None = None,
        layer: int | None = None,
        download: bool = False,
        cache: Cache | None = None,
        batch_size: int = 64,
    ) -> None:
        """Choose the model.

        Args:
            model: model for all languages, a name on the Hugging Face Hub or a folder; by default
                xlm-roberta-large for English and bert-base-multilingual-cased for the rest.
            layer: the layer whose states are compared; by default bert-score's for the model.
            download: download missing models. Without it, there are no network requests.
            cache: cache for scores.
            batch_size: sentences, and sentence pairs, per batch.

        Raises:
            Unavailable: bert-score is not installed.
            UserError: a folder without a layer, or unsafe libraries.
        """
        self._model, self._layer = model, layer
        self._download, self._cache, self._batch_size = download, cache, batch_size
        versions = [f"{name}:{package_version(name)}" for name in ("bert-score", "transformers")]
        self._versions = "|".join(versions)
        refuse_foreign_kernels()
        self._encoders: dict[str, _Encoder] = {}
        if model is not None and Path(model).expanduser().is_dir() and layer is None:
            raise UserError(f"`{LAYER_OPTION}` must be given with a folder as `{MODEL_OPTION}`")

    def signature(self, target: str) -> str:
        """A description of everything that affects scores for this target language.

        Raises:
            Unavailable: the model is not installed.
        """
        return f"{self._encoder(target).signature}|idf:no|rescale:no|{self._versions}"

    def score(self, segments: list[Segments]) -> list[np.ndarray]:
        """Score every sentence, loading each model at most once.

        An empty hypothesis, or a hypothesis for an empty reference, scores 0.

        Returns:
            Scores (sentences,) for each of `segments`, about 0 to 100.

        Raises:
            Unavailable: a model is not installed; raised before any computation.
            UserError: bert-score does not support the model or the layer.
        """
        signatures = [self.signature(test_set.target) for test_set in segments]
        result = [np.zeros(len(test_set.hypotheses)) for test_set in segments]
        for signature in dict.fromkeys(signatures):
            chosen = [n for n, candidate in enumerate(signatures) if candidate == signature]
            places: list[tuple[int, int]] = []
            triples: list[Triple] = []
            for number in chosen:
                test_set = segments[number]
                pairs = zip(test_set.hypotheses, test_set.references, strict=True)
                for line, (hypothesis, reference) in enumerate(pairs):
                    # depending on its version, bert-score fails on empty sentences or warns
                    if hypothesis.strip() and reference.strip():
                        places.append((number, line))
                        triples.append((None, hypothesis, reference))
            encoder = self._encoder(segments[chosen[0]].target)
            scores = score_through(self._cache, signature, triples, encoder.f1, "BERTScore")
            for (number, line), score in zip(places, scores, strict=True):
                result[number][line] = score
            encoder.unload()
        return result

    def _encoder(self, target: str) -> _Encoder:
        name = self._model or (ENGLISH if canonical(target) == "en" else OTHERS)
        if name not in self._encoders:
            folder = find_model(name, NEEDS, MODEL_OPTION, self._download)
            self._encoders[name] = _Encoder(name, folder, self._layer, self._batch_size)
        return self._encoders[name]


class _Encoder:
    """One model of bert-score, loaded when first needed."""

    def __init__(self, name: str, folder: Path, layer: int | None, batch_size: int) -> None:
        self._name, self._folder, self._batch_size = name, folder, batch_size
        self._layer = _default_layer(name) if layer is None else layer

    @cached_property
    def signature(self) -> str:
        files = [path for pattern in (*SMALL, *WEIGHTS) for path in self._folder.glob(pattern)]
        fingerprint = identity(self._folder, sorted(files))
        # only the last part of a folder's path, so that it may be moved
        name = Path(self._name).name if fingerprint.startswith("sha256") else self._name
        return f"model:{name}|{fingerprint}|layer:{self._layer}"

    def f1(self, triples: Sequence[Triple]) -> list[float]:
        hypotheses = [hypothesis for _, hypothesis, _ in triples]
        references = [reference for _, _, reference in triples]
        with quiet_libraries():
            _, _, f1 = self._scorer.score(hypotheses, references, batch_size=self._batch_size)
        return [100 * value for value in f1.double().tolist()]

    @cached_property
    def _scorer(self) -> Any:
        _refuse_misread_path(self._folder)
        try:
            from bert_score import BERTScorer

            scorer = BERTScorer(str(self._folder), self._layer, self._batch_size)
        except ImportError as error:
            raise Unavailable(
                f"bert-score cannot be imported: {error}; `tdo setup --eval` fixes it"
            ) from None
        except AssertionError as error:  # bert-score's check of the layer
            raise UserError(
                f"`{LAYER_OPTION}` must be one of the model's layers; it is {self._layer} ({error})"
            ) from None
        tokenizer = scorer._tokenizer
        tokenizer.model_max_length = min(tokenizer.model_max_length, LONGEST)
        return scorer

    def unload(self) -> None:
        """Release the model's memory."""
        self.__dict__.pop("_scorer", None)


def _default_layer(name: str) -> int:
    if name in LAYERS:
        return LAYERS[name]
    with quiet_libraries():
        from bert_score.utils import model2layers
    if name not in model2layers:
        raise UserError(
            f"`{LAYER_OPTION}` must be given with a model for which bert-score has no default "
            f"layer; {name} has none"
        )
    return int(model2layers[name])


def _refuse_misread_path(folder: Path) -> None:
    """Raise UserError for a path with `t5`, as bert-score would silently load a T5 model."""
    kind = read_json(folder / "config.json").get("model_type", "")
    if "t5" in str(folder) and "t5" not in kind:
        raise UserError(
            f"`{MODEL_OPTION}` must be in a folder without t5 in its path, which bert-score treats "
            f"as a T5 model; it is in {folder}"
        )
