"""Adds languages to a trained model: tags, and rows in all language-specific parameters.

Shapes: K languages, V entries of a vocabulary, D model width.
"""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tdo_plugin.errors import UserError
from tdo_plugin.models.languages import behind_tags, tag_sides
from tdo_plugin.models.tdo_transformer import TdoTransformer
from tdo_plugin.modules.grouped_linear import PerLanguage
from tdo_plugin.names import check_languages


@dataclass(frozen=True)
class Extension:
    """The languages added to a model.

    Attributes:
        languages: of the trained model, in order.
        new: to be appended.
        like: the known language whose parameters initialise the new ones; None: the mean of all.
    """

    languages: Sequence[str]
    new: Sequence[str]
    like: str | None = None

    def __post_init__(self) -> None:
        check_languages(self.new, "`--langs`")
        if not self.new or len({*self.new}) < len(self.new) or {*self.new} & {*self.languages}:
            raise UserError(
                "`--langs` must name new languages, each once; they are "
                f"{', '.join(self.new) or 'none'}, the model has {', '.join(self.languages)}"
            )
        if self.like is not None and self.like not in self.languages:
            raise UserError(
                f"`--like` must be one of {', '.join(self.languages)}; it is {self.like}"
            )

    def rows(self, stored: Tensor) -> Tensor:
        """The new languages' rows, (new, ...), given the rows of the known languages, (K, ...)."""
        if self.like is None:
            row = stored.double().mean(0).to(stored.dtype)
        else:
            row = stored[self.languages.index(self.like)]
        return row.expand(len(self.new), *row.shape)

    def arguments(self, args: Namespace) -> Namespace:
        """The model's options with the new languages, whose tags are never predicted.

        If targets begin with tags, tags are predicted, including the new ones.

        Raises:
            UserError: the model has no tags, a symbol after the tags, neuron masks or adapters.
        """
        if options := behind_tags(args):
            raise UserError(
                f"`--path` must name a model without `{options[0]}`, whose symbol follows the "
                "language tags and would be moved by new tags; this model has it"
            )
        if masks := getattr(args, "tdo_neuron_masks", ""):
            raise UserError(
                "`--path` must name a model without `--tdo-neuron-masks`, which do not cover new "
                f"languages: extend the model that they were allocated in; this model has {masks}"
            )
        if getattr(args, "tdo_adapter_dim", 0):
            raise UserError(
                "`--path` must name a model without `--tdo-adapter-dim`, since new languages have "
                "no trained pairs and so no adapters; this model has it"
            )
        on_source, on_target = tag_sides(args)
        if not (on_source or on_target):
            raise UserError("`--path` must name a model with language tags; this model has none")
        masked = getattr(args, "tdo_masked_tags", 0)
        if not on_target:
            masked += len(self.new)
        changed = {"langs": [*self.languages, *self.new], "tdo_masked_tags": masked}
        # the file of languages would override their list
        return Namespace(**{**vars(args), **changed, "lang_dict": None})


def extend(
    old: TdoTransformer, build: Callable[[], TdoTransformer], extension: Extension
) -> TdoTransformer:
    """The new model, with the old parameters unchanged bit for bit and the new rows appended.

    Args:
        old: the trained model.
        build: makes the new model, with an entry more at the end of each dictionary for each new
            language.
        extension: the languages to add.
    """
    new = build()
    language_count = len(extension.languages)
    with torch.no_grad():
        tables = _language_tables(new)
        vocabularies = {id(embedding) for embedding in new.core.embeddings.parameters()}
        pairs = zip(old.named_parameters(), new.parameters(), strict=True)
        for (name, stored), parameter in pairs:
            if id(parameter) in tables:
                # the extra row, for positions that LALN leaves out, stays last
                parts = [
                    stored[:language_count],
                    extension.rows(stored[:language_count]),
                    stored[language_count:],
                ]
            elif id(parameter) in vocabularies:
                parts = [stored, extension.rows(stored[-language_count:])]
            else:
                parts = [stored]
            grown = torch.cat(parts) if len(parts) > 1 else stored
            assert grown.shape == parameter.shape, name
            parameter.copy_(grown)
    return new


def _language_tables(model: nn.Module) -> set[int]:
    """Ids of parameters with a row for each target language."""
    return {
        id(parameter)
        for part in model.modules()
        if isinstance(part, PerLanguage) and part.rows_of == "target"
        for parameter in part.parameters()
    }
