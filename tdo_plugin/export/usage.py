"""Programs that translate with an exported folder, for model cards and to copy."""

from __future__ import annotations

import json

from tdo_plugin.export.generation_settings import SEARCH, USUAL, longest_target
from tdo_plugin.export.opened_model import OpenedModel

SIDE = {"src": "source", "tgt": "target"}
VERSIONS = "4.57.6 and 5.24.0"  # of transformers, with which tests pass


def pipeline_program(opened: OpenedModel, folder: str) -> str:
    """Three lines for transformers.

    Args:
        opened: the model.
        folder: its path as the program names it.
    """
    source, target = opened.example
    return f"""\
from transformers import pipeline
translate = pipeline("translation", model={_quoted(folder)}, trust_remote_code=True)
print(translate("A sentence.", src_lang="{source}", tgt_lang="{target}"))
"""


def ctranslate2_program(opened: OpenedModel, folder: str) -> str:
    """A program for CTranslate2, as :func:`pipeline_program`."""
    source, target = opened.example
    tagged = "pieces(sentence)"
    if opened.source_tag:
        tagged = f"[tags[{SIDE[opened.source_tag]}], *{tagged}]"
    prefix, first = "", ""
    if opened.target_tag:
        prefix = f"\n        target_prefix=[[tags[{SIDE[opened.target_tag]}]]] * len(batch),"
        first = "[1:]"  # without the tag
    return f"""\
import ctranslate2
import sentencepiece

folder = {_quoted(folder)}
segmentation = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/sentencepiece.model")
translator = ctranslate2.Translator(folder)
tags = {json.dumps(dict(opened.tags), ensure_ascii=False)}


def pieces(sentence):
    return " ".join(segmentation.encode(sentence, out_type=str)).split()


def translate(sentences, source, target):
    batch = [{tagged} for sentence in sentences]
    results = translator.translate_batch(
        batch,{prefix}
        beam_size={USUAL.beam},
        length_penalty={USUAL.length_penalty:g},
        max_decoding_length={longest_target(opened)},
    )
    lines = ["".join(result.hypotheses[0]{first}) for result in results]
    return [line.replace("▁", " ").strip() for line in lines]


print(translate(["A sentence."], "{source}", "{target}"))
"""


def transformers_remarks(opened: OpenedModel, folder: str, own_model: bool) -> str:
    """What a model card says below :func:`pipeline_program`.

    Args:
        opened: the model.
        folder: its path as the program names it.
        own_model: whether the model's class is in the folder too.
    """
    source, target = opened.example
    without = (
        "\n\nWithout it, the model is transformers' M2M100 and `PreTrainedTokenizerFast` reads the "
        "tokenizer.\nYour program must then add the tags."
    )
    return f"""\
`translate` takes lists of sentences too, with `batch_size`. Or with the classes:

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

folder = {_quoted(folder)}
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForSeq2SeqLM.from_pretrained(folder, trust_remote_code=True)
batch = tokenizer(
    ["A sentence."], src_lang="{source}", tgt_lang="{target}", padding=True, return_tensors="pt"
)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```

`src_lang` and `tgt_lang` may be lists with a language for each sentence. `generation_config.json`
sets {SEARCH}

`trust_remote_code=True` runs the Python files of this folder. They are tdo_plugin's own modules,
unchanged but for their imports, and need torch, transformers (tested: {VERSIONS}) and
sentencepiece.{"" if own_model else without}"""


def ctranslate2_remarks() -> str:
    """What a model card says below :func:`ctranslate2_program`."""
    return f"CTranslate2 adds the end symbol. The arguments of `translate_batch` set {SEARCH}"


def _quoted(path: str) -> str:
    """A path as a string of Python."""
    return json.dumps(path, ensure_ascii=False)
