"""The configuration of a model of tdo_plugin for Hugging Face transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, ClassVar

from transformers import PretrainedConfig

from tdo_plugin.modules.spec import ModelSpec


class TdoConfig(PretrainedConfig):
    """The fields of :class:`.ModelSpec`, and the languages of a model.

    Args:
        languages: codes, in the order of language ids.
        tag_ids: token id of each language's tag, in the same order.
        source_tag: the language whose tag begins sources: `src`, `tgt`, or None for no tag.
        target_tag: the language whose tag begins targets: `src`, `tgt`, or None for no tag.
        pairs: language pairs with adapters, such as `de-en`, in the order of their parameters.
        masked_pairs: number of language pairs with neuron masks.
        vocab_size: V, of source and target.
        kwargs: the specification's fields, and those of all configurations of transformers.
    """

    model_type = "tdo"
    attribute_map: ClassVar = {"hidden_size": "model_dim", "num_attention_heads": "num_heads"}

    def __init__(
        self,
        languages: Sequence[str] = (),
        tag_ids: Sequence[int] = (),
        source_tag: str | None = None,
        target_tag: str | None = None,
        pairs: Sequence[str] = (),
        masked_pairs: int = 0,
        vocab_size: int = 4,
        **kwargs: Any,
    ) -> None:
        for field in fields(ModelSpec):
            default = None if field.default is MISSING else field.default
            setattr(self, field.name, kwargs.pop(field.name, default))
        self.languages = list(languages)
        self.tag_ids = list(tag_ids)
        self.source_tag = source_tag
        self.target_tag = target_tag
        self.pairs = list(pairs)
        self.masked_pairs = masked_pairs
        self.vocab_size = vocab_size
        usual = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
        usual |= {"decoder_start_token_id": 2, "is_encoder_decoder": True}
        super().__init__(**{**usual, "tie_word_embeddings": False, **kwargs})

    @property
    def spec(self) -> ModelSpec:
        """The validated specification.

        Raises:
            SpecError: values are unknown or contradictory.
        """
        values = {field.name: getattr(self, field.name) for field in fields(ModelSpec)}
        return ModelSpec(**{**values, "init": tuple(values["init"])})
