"""M2M100 of Hugging Face transformers with the search of `tdo translate`."""

from __future__ import annotations

from transformers import M2M100ForConditionalGeneration

from tdo_plugin.export.remote_code.generation_tdo import TdoGenerationMixin


class TdoM2M100(TdoGenerationMixin, M2M100ForConditionalGeneration):
    """M2M100 whose searches use this model's tags."""

    _auto_class = "AutoModelForSeq2SeqLM"  # so that transformers 4 saves the code with the model
