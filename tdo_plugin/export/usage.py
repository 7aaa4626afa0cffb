"""Programs for model cards that translate with an exported folder."""

from __future__ import annotations

import json

from tdo_plugin.export.generation_settings import SEARCH, USUAL
from tdo_plugin.export.opened_model import OpenedModel

SIDE = {"src": "source", "tgt": "target"}


def transformers_usage(opened: OpenedModel) -> str:
    """A program for transformers, with M2M100."""
    settings = ""
    tagged = 'tokenizer(sentences)["input_ids"]'
    if opened.source_tag:
        tagged = f"[[tag({SIDE[opened.source_tag]}), *ids] for ids in {tagged}]"
    if opened.target_tag:
        settings = f", forced_bos_token_id=tag({SIDE[opened.target_tag]})"
    source, target = _example(opened)
    return f"""\
```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

folder = "."  # this folder
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSeq2SeqLM.from_pretrained(folder)
TAGS = {json.dumps(dict(opened.tags))}


def tag(language):
    return tokenizer.convert_tokens_to_ids(TAGS[language])


def translate(sentences, source, target):
    rows = {tagged}
    batch = tokenizer.pad({{"input_ids": rows}}, return_tensors="pt")
    output = model.generate(**batch{settings})
    return tokenizer.batch_decode(output, skip_special_tokens=True)


print(translate(["A sentence."], "{source}", "{target}"))
```

The tokenizer adds the end symbol, but no language tag: no class of transformers knows these tags.
So `tokenizer(text)` alone, and `pipeline`, whatever its `tgt_lang`, give the model no target
language, and translations come in any. `generation_config.json` sets {SEARCH}"""


def ctranslate2_usage(opened: OpenedModel) -> str:
    """A program for CTranslate2."""
    source, target = _example(opened)
    tagged = "pieces.encode(sentence, out_type=str)"
    if opened.source_tag:
        tagged = f"[TAGS[{SIDE[opened.source_tag]}], *{tagged}]"
    prefix, first = "", ""
    if opened.target_tag:
        prefix = f"\n        target_prefix=[[TAGS[{SIDE[opened.target_tag]}]]] * len(batch),"
        first = "[1:]"  # without the tag
    return f"""\
```python
import ctranslate2
import sentencepiece

folder = "."  # this folder
pieces = sentencepiece.SentencePieceProcessor(model_file=f"{{folder}}/sentencepiece.model")
translator = ctranslate2.Translator(folder)
TAGS = {json.dumps(dict(opened.tags))}


def translate(sentences, source, target):
    batch = [{tagged} for sentence in sentences]
    results = translator.translate_batch(
        batch,{prefix}
        beam_size={USUAL.beam},
        length_penalty={USUAL.length_penalty:g},
        max_decoding_length={USUAL.max_len_b},
    )
    lines = ["".join(result.hypotheses[0]{first}) for result in results]
    return [line.replace("▁", " ").strip() for line in lines]


print(translate(["A sentence."], "{source}", "{target}"))
```

CTranslate2 adds the end symbol. These arguments set {SEARCH}"""


def _example(opened: OpenedModel) -> list[str]:
    """Source and target language of a trained direction."""
    return opened.directions[0].split("-")
