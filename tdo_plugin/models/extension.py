"""A trained model with more languages: a tag, and rows of all parts for each language.

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
    """What is added to a model.

    Attributes:
        languages: those that it knows, in order.
        new: those that come behind them.
        like: the known language whose parameters the new ones start with; None: the mean of all.
    """

    languages: Sequence[str]
    new: Sequence[str]
    like: str | None = None

    def __post_init__(self) -> None:
        check_languages(self.new, "`--languages`")
        if not self.new or len({*self.new}) < len(self.new) or {*self.new} & {*self.languages}:
            raise UserError(
                "`--languages` must name new languages, each once; they are "
                f"{', '.join(self.new) or 'none'} beside {', '.join(self.languages)}"
            )
        if self.like is not None and self.like not in self.languages:
            raise UserError(
                f"`--like` must be one of {', '.join(self.languages)}; it is {self.like}"
            )

    def rows(self, stored: Tensor) -> Tensor:
        """The new languages' rows, (new, ...), given those of the known ones, (K, ...)."""
        if self.like is None:
            row = stored.double().mean(0).to(stored.dtype)
        else:
            row = stored[self.languages.index(self.like)]
        return row.expand(len(self.new), *row.shape)

    def arguments(self, args: Namespace) -> Namespace:
        """The model's options with the new languages, whose tags are never predicted.

        Where tags stand on the target they are, the new ones too.

        Raises:
            UserError: the model has no tags, another symbol behind them, masks or adapters.
        """
        if options := behind_tags(args):
            raise UserError(
                f"`--path` must name a model without `{options[0]}`: new tags would stand before "
                "its last symbol and move it; this one has it"
            )
        if masks := getattr(args, "tdo_neuron_masks", ""):
            raise UserError(
                "`--path` must name a model without `--tdo-neuron-masks`, which say nothing of new "
                f"languages: extend the one that they began with; this one has {masks}"
            )
        if getattr(args, "tdo_adapter_dim", 0):
            raise UserError(
                "`--path` must name a model without `--tdo-adapter-dim`: new languages have no "
                "trained pairs, whose adapters they would need; this one has it"
            )
        on_source, on_target = tag_sides(args)
        if not (on_source or on_target):
            raise UserError("`--path` must name a model with language tags; this one has none")
        masked = getattr(args, "tdo_masked_tags", 0)
        if not on_target:
            masked += len(self.new)
        changed = {"langs": [*self.languages, *self.new], "tdo_masked_tags": masked}
        # a file of languages would go before their list
        return Namespace(**{**vars(args), **changed, "lang_dict": None})


def extend(
    old: TdoTransformer, build: Callable[[], TdoTransformer], extension: Extension
) -> TdoTransformer:
    """The new model, with the old one's parameters bit by bit and the new languages' behind them.

    Args:
        old: the trained model.
        build: makes the new one, with as many more entries in each dictionary as there are new
            languages, at the end.
        extension: what is added.
    """
    new = build()
    language_count = len(extension.languages)
    with torch.no_grad():
        tables = _language_tables(new)
        vocabularies = {id(embedding) for embedding in new.core.embeddings.parameters()}
        pairs = zip(old.named_parameters(), new.parameters(), strict=True)
        for (name, stored), parameter in pairs:
            if id(parameter) in tables:
                # the row of positions of no language stays the last
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
    """Ids of the parameters with a row for each language."""
    return {
        id(parameter)
        for part in model.modules()
        if isinstance(part, PerLanguage) and part.rows_of == "target"
        for parameter in part.parameters()
    }
