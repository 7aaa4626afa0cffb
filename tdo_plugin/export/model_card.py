"""The model card, README.md of an exported folder, from the run's own record."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdo_plugin.corpora.own import OWN_LICENCE, OWN_TITLE
from tdo_plugin.corpora.prepared_corpus import OUTCOME
from tdo_plugin.data.databin import settings_of as folder_settings
from tdo_plugin.export.card_numbers import Scores, score_lines, untested
from tdo_plugin.export.opened_model import OpenedModel
from tdo_plugin.metrics.textform import TextForm, form_shown
from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json

CARD = "README.md"
# of each path in a word: a slash at its end, and the folders before its last name
ENDING, FOLDERS = re.compile(r"(?<=[^/=:,'\"])/+(?=[:,'\"]|$)"), re.compile(r"[^=:,'\"]*/")


@dataclass(frozen=True)
class Written:
    """A folder that was written.

    Attributes:
        what: its format, in words.
        library: the one that reads it, as the Hugging Face Hub names it.
        program: a Python program that translates, for the path by which it names the folder.
        remarks: on the program, in the card.
        limits: on text, in the card.
    """

    what: str
    library: str
    program: Callable[[str], str]
    remarks: str
    limits: str


def write_card(
    opened: OpenedModel, folder: Path, name: str, written: Written, scores: Scores | None = None
) -> None:
    """Write the card.

    Args:
        opened: the model.
        folder: an existing folder.
        name: that the folder will have.
        written: what else was written to it.
        scores: of this checkpoint.
    """
    write_text(folder / CARD, _lines(opened, folder, name, written, scores))


def _lines(
    opened: OpenedModel, folder: Path, name: str, written: Written, scores: Scores | None
) -> Iterator[str]:
    languages = ", ".join(opened.languages)
    yield from _front_matter(opened, written)
    yield f"# Translation between {languages}"
    yield ""
    yield from _architecture(opened)
    yield from ("", "## Use", "", f"`{name}` is the path of this folder.", "")
    yield from ("```python", *written.program(name).splitlines(), "```", "", written.remarks, "")
    yield from _text(opened, folder, written.limits)
    yield from ("", "## Training", "", *_training(opened))
    yield from ("", "## Scores", "")
    if scores:
        yield from (*score_lines(scores, opened), "")
    yield from ("Not tested:", "", *(f"- {what}" for what in untested(opened, scores)))


def _front_matter(opened: OpenedModel, written: Written) -> Iterator[str]:
    """Metadata of the Hub; there is no licence in it, since no record states the model's."""
    yield "---"
    yield "language:"
    yield from (f"- {json.dumps(code.replace('_', '-'))}" for code in opened.languages)
    yield f"library_name: {written.library}"
    yield "pipeline_tag: translation"
    yield from ("tags:", "- translation", "- multilingual", "- tdo_plugin", "---", "")


def _architecture(opened: OpenedModel) -> Iterator[str]:
    spec = opened.spec
    count = sum(parameter.numel() for parameter in opened.core.parameters())
    if spec.topology == "encoder-decoder":
        layers = f"{spec.encoder_layers} encoder and {spec.decoder_layers} decoder layers"
    elif spec.target_layer:
        layers = (
            f"{spec.num_layers} layers, of which the first {spec.target_layer} read only the source"
        )
    else:
        layers = f"{spec.num_layers} layers that source and target share"
    yield (
        f"A multilingual translation model ({spec.topology}) with {layers}, model width "
        f"{spec.model_dim}, {spec.num_heads} heads, {len(opened.symbols):,} entries in the "
        f"vocabulary and {count:,} parameters, trained with tdo_plugin."
    )


def _text(opened: OpenedModel, folder: Path, limits: str) -> Iterator[str]:
    """What the text must look like."""
    yield "## Text"
    yield ""
    if opened.form == TextForm():
        yield "- Plain text, cased, without tokenization: the tokenizer does the rest."
    else:
        yield (
            f"- Input must have the form of the training text, {form_shown(opened.form.stored())}, "
            "which the tokenizer does not make; output has the same form. `moses` means the "
            "scripts of Moses for normalisation, tokenization and truecasing (Python: sacremoses), "
            "with Chinese words by jieba."
        )
    if models := sorted(path.name for path in folder.glob("truecase.*")):
        yield f"- Truecasing models of Moses, by language: {', '.join(map(_code, models))}."
    tags = ", ".join(f"{code}: `{tag}`" for code, tag in opened.tags.items())
    yield f"- Language tags: {tags}."
    sides = {"src": "the source language", "tgt": "the target language", None: "none"}
    yield f"- Tag before the source: {sides[opened.source_tag]}."
    yield f"- Tag before the target: {sides[opened.target_tag]}."
    yield f"- At most {opened.spec.max_source_positions} tokens, tag and end symbol included."
    yield f"- {limits}"


def _code(text: str) -> str:
    return f"`{text}`"


def _training(opened: OpenedModel) -> Iterator[str]:
    if opened.converted:
        yield "- Restored or converted by `tdo convert`; the training is not recorded."
        return
    yield from _data(opened.data.root)
    sizes = opened.data.training_sizes()
    if sizes:
        counts = ", ".join(f"{pair} {count:,}" for pair, count in sizes.items())
        yield f"- Sentence pairs: {counts}."
    yield f"- Directions: {', '.join(opened.directions)}."
    segmentation: Any = (folder_settings(opened.data.root) or {}).get("segmentation")
    if segmentation:
        yield f"- Segmentation: `{json.dumps(segmentation)}`."
    averaged = opened.origin.get("averaged")
    what = f"average of {', '.join(averaged)}" if averaged else "one checkpoint"
    yield f"- Updates: {opened.origin['updates']:,} ({what})."
    training = opened.origin["training"]
    if isinstance(training, dict) and training.get("command"):
        recorded = training.get("versions") or {}
        versions = [f"{name} {version}" for name, version in recorded.items()]
        if commit := training.get("commit"):
            versions.append(f"commit {commit}")
        if versions:
            yield f"- Versions: {', '.join(versions)}."
        yield from ("- Command:", "", "```", *_wrapped(str(training["command"])), "```")


def _wrapped(command: str) -> Iterator[str]:
    """A command, an option per line, without folders of the machine that ran it."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quote without its other half
        words = command.split()
    line: list[str] = []
    for word in words:
        if word.startswith("--") and line:
            yield f"{shlex.join(line)} \\"
            line = []
        line.append(FOLDERS.sub("", ENDING.sub("", word)))
    yield shlex.join(line)


def _data(folder: Path) -> Iterator[str]:
    """What the record of `tdo prepare` says of the text; other folders have none."""
    path = folder / OUTCOME
    try:
        record = read_json(path) if path.is_file() else {}
    except ValueError:
        record = {}
    if not isinstance(record, dict) or "licence" not in record:
        yield f"- Data: `{folder.name}`; its licence is not recorded."
    elif record["licence"] == OWN_LICENCE:
        name = str(record.get("title")).removeprefix(OWN_TITLE)
        yield f"- Data: own text, `{name}`; its licence is not recorded."
    else:
        yield f"- Data: {record.get('title') or folder.name}."
        yield f"- Licence of the data: {record['licence']}."
        if record.get("cite"):
            yield f"- Source: {str(record['cite']).removesuffix('.')}."
