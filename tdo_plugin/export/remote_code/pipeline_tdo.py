"""The translation pipeline of Hugging Face transformers for this model.

transformers 5 has none of its own. This one gives the text of `tdo translate`.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import Pipeline
from transformers.utils import logging

logger = logging.get_logger(__name__)


class TdoTranslationPipeline(Pipeline):
    """`pipeline("translation", model=FOLDER, trust_remote_code=True)`.

    Sentences without text have an empty translation, and so, with a warning, have those that are
    longer than the model reads unless ``truncation=True`` cuts them.
    """

    _load_tokenizer = True
    _load_processor = False
    _load_feature_extractor = False
    _load_image_processor = False

    def __call__(self, inputs: Any, **kwargs: Any) -> Any:
        """Translate a sentence, a list of sentences, or what iterates over sentences.

        Args:
            inputs: plain text.
            kwargs: ``src_lang`` and ``tgt_lang``, codes of languages; ``truncation``;
                ``batch_size``; settings of `generate`.

        Returns:
            `{"translation_text": ...}` for each sentence of a list; for a single sentence, or with
            ``num_return_sequences``, a list of them.
        """
        found = super().__call__(inputs, **kwargs)
        if isinstance(inputs, list) and all(len(each) == 1 for each in found):
            return [each[0] for each in found]
        return found

    def _sanitize_parameters(
        self,
        src_lang: str | None = None,
        tgt_lang: str | None = None,
        truncation: bool | None = None,
        **generate: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        given = {"src_lang": src_lang, "tgt_lang": tgt_lang, "truncation": truncation}
        return {name: value for name, value in given.items() if value is not None}, generate, {}

    def preprocess(self, text: str, **settings: Any) -> dict[str, Any]:
        """The ids of a sentence (1, S), and whether it has text (1,)."""
        batch = self.tokenizer(text, return_tensors="pt", **settings)
        nothing = self.tokenizer("", return_tensors="pt", **settings)
        most, length = self.tokenizer.model_max_length, batch["input_ids"].size(1)
        if length > most:
            logger.warning(
                f"a sentence is left empty: it has {length} tokens, the model reads at most {most}"
            )
            batch = nothing
        return {**batch, "full": batch["attention_mask"].sum(1) > nothing["input_ids"].size(1)}

    def _forward(self, batch: dict[str, Tensor], **settings: Any) -> dict[str, Tensor]:
        """The ids of the translations (B, N, T), N for each sentence."""
        full = batch.pop("full")
        ids = self.model.generate(**batch, **settings)
        return {"ids": ids.reshape(len(full), -1, ids.size(-1)), "full": full}

    def postprocess(self, output: dict[str, Tensor]) -> list[dict[str, str]]:
        """The text of the translations of a sentence (1, N, T)."""
        texts = self.tokenizer.batch_decode(output["ids"][0], skip_special_tokens=True)
        return [{"translation_text": text if output["full"] else ""} for text in texts]
