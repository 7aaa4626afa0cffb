"""The page with explanations inside, small enough to be sent by mail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdo_plugin import __version__
from tdo_plugin.errors import UserError
from tdo_plugin.serve.explanation_json import MOST_WEIGHTS
from tdo_plugin.serve.page import page
from tdo_plugin.serve.served_model import ServedModel

LARGEST = 2_000_000  # bytes


def explained_page(
    models: Sequence[ServedModel], text: str, source: str, targets: Sequence[str]
) -> str:
    """The page of one sentence, into several languages, by several models.

    Where the weights of all heads would make the page too large, it has their mean.

    Raises:
        UserError: the sentence is too long for a page, or empty, or a language is unknown.
    """
    for html in _pages(models, text, source, targets):
        if len(html.encode()) < LARGEST:
            return html
    raise UserError(
        "`--text` must be shorter, or there must be fewer languages or models; the page would have "
        f"{len(html.encode()):,} bytes, more than {LARGEST:,}"
    )


def _pages(
    models: Sequence[ServedModel], text: str, source: str, targets: Sequence[str]
) -> Iterator[str]:
    for most_weights in (MOST_WEIGHTS, 0):
        explanations = [
            model.explain(text, source, target, most_weights=most_weights)
            for target in targets
            for model in models
        ]
        yield page(
            {
                "made_by": f"tdo explain, tdo_plugin {__version__}",
                "models": [model.description() for model in models],
                "explanations": explanations,
            }
        )
