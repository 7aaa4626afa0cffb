"""A checkpoint with everything that its users need outside of fairseq: tags, text, provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_compat.digests import check_file
from tdo_plugin.data.databin import DataFolder, read_data_folder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoded_checkpoints import describe, resolve_one
from tdo_plugin.evaluation.decoding.loading import load_models, recorded_data, state_of
from tdo_plugin.metrics.textform import TextForm, read_text_form
from tdo_plugin.pretrained.exported_text import ExportedText
from tdo_plugin.text_settings import Settings, is_converted, pairs_of, settings_of, task_options

if TYPE_CHECKING:
    from tdo_plugin.modules.spec import ModelSpec
    from tdo_plugin.modules.translation_model import TranslationModel

SEGMENTATION = "spm.model"


@dataclass(frozen=True)
class OpenedModel:
    """A trained model and what its text must look like.

    Attributes:
        path: the checkpoint's file.
        data: the data folder with its dictionary and segmentation.
        core: the model without fairseq, in evaluation mode, on the CPU, in float32, as
            `tdo translate` loads it; float32 holds half precision exactly.
        symbols: names of the rows of the embeddings (V): special symbols, pieces, tags, fillers.
        languages: in the order of language ids: the model's ids are indices from 0.
        tags: the symbol of each language's tag, by language.
        source_tag: whose tag sources begin with: `src`, `tgt`, or None for no tag.
        target_tag: whose tag hypotheses are forced to begin with, after the end symbol, which is
            the first symbol of every target: `tgt`, `src`, or None for no tag.
        directions: such as `en-de`, that the model was trained on; if ``converted``, those of its
            options.
        segmentation: the content of the SentencePiece model's file.
        form: casing and tokenization of the text before the segmentation.
        text_settings: options of the task that the checkpoint records.
        converted: whether `tdo convert` wrote the checkpoint, so that it records no training.
        origin: updates, averaged files, training command; see :func:`.describe`.
    """

    path: Path
    data: DataFolder
    core: TranslationModel
    symbols: Sequence[str]
    languages: Sequence[str]
    tags: Mapping[str, str]
    source_tag: str | None
    target_tag: str | None
    directions: Sequence[str]
    segmentation: bytes
    form: TextForm
    text_settings: Settings
    converted: bool
    origin: Mapping[str, Any]

    @property
    def spec(self) -> ModelSpec:
        """The model's specification."""
        return self.core.spec

    @property
    def text(self) -> ExportedText:
        """The entries about text of a folder's configuration."""
        return ExportedText(
            tuple(self.languages), tuple(self.directions), self.text_settings, self.form.way_in()
        )

    @property
    def tag_entries(self) -> dict[str, Any]:
        """The entries about tags of a folder's configuration, which its search reads."""
        return {
            "tag_ids": [self.row(self.tags[language]) for language in self.languages],
            "source_tag": self.source_tag,
            "target_tag": self.target_tag,
        }

    @property
    def example(self) -> list[str]:
        """Source and target language of a trained direction, from English if there is one."""
        return min(self.directions, key=lambda name: not name.startswith("en")).split("-")

    def row(self, symbol: str) -> int:
        """The row of a symbol in the embeddings."""
        return self.symbols.index(symbol)


def open_model(
    model: Path | str, data: Path | None = None, average: str | None = None, write: bool = True
) -> OpenedModel:
    """Open a checkpoint as `tdo translate` does.

    Args:
        model: a file, or the folder of a training, system or run.
        data: a folder that `tdo prepare` or `tdo preprocess` finished; None: that of the training,
            as the checkpoint records it.
        average: `best-5`, `last-5`, ...: the checkpoints of a folder to average; see `resolve`.
        write: whether to write a missing average into the folder.

    Raises:
        UserError: the checkpoint is not of this package's models, does not match the data folder,
            or needs text that only fairseq's task can make; the data folder is missing.
    """
    from fairseq.data.multilingual.multilingual_utils import get_lang_tok

    from tdo_plugin.models.languages import tag_sides
    from tdo_plugin.models.tdo_transformer import TdoTransformer

    path = resolve_one(str(model), average, print, "MODEL", write)
    state = state_of([path])
    folder = read_data_folder(data or recorded_data(path, state))
    segmentation = folder.root / SEGMENTATION
    if not segmentation.is_file():
        raise UserError(
            f"`--data` must have a SentencePiece model, {SEGMENTATION}; {folder.root} has none"
        )
    check_file(str(segmentation))
    (loaded,), task = load_models([path], folder)
    if not isinstance(loaded, TdoTransformer):
        raise UserError(
            f"`MODEL` must be of tdo_plugin's models; {path} is of {type(loaded).__name__}"
        )
    args = task.args
    if args.lang_tok_replacing_bos_eos:
        raise UserError(
            "`MODEL` must be trained without `--lang-tok-replacing-bos-eos`, which no "
            f"exported tokenizer can do; {path} was trained with it"
        )
    source_tag, _ = tag_sides(args)
    target_tag = args.langtoks["main"][1]
    return OpenedModel(
        path=path,
        data=folder,
        core=loaded.core.eval().requires_grad_(False),
        symbols=tuple(task.source_dictionary.symbols),
        languages=tuple(task.langs),
        tags={name: get_lang_tok(name, args.lang_tok_style) for name in task.langs},
        source_tag=source_tag,
        target_tag=target_tag and target_tag[:3],
        directions=tuple(pairs_of(state)),
        segmentation=segmentation.read_bytes(),
        form=read_text_form(folder.root),
        text_settings=settings_of(task_options(state)),
        converted=is_converted(state),
        origin=describe(path),
    )
