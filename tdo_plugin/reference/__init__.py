"""Generates pages of docs/reference from declarations: options, commands, experiments.

``python -m tdo_plugin.reference`` writes all pages into a clone; a test checks them.
"""

from collections.abc import Callable

from tdo_plugin.installation import FILES
from tdo_plugin.reference.command_page import command_pages, commands
from tdo_plugin.reference.fairseq_page import fairseq_options
from tdo_plugin.reference.library_pages import experiments, prepared_corpora
from tdo_plugin.reference.option_pages import model_options, training_options

FOLDER = FILES / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands,
    **command_pages(),
    "experiments.md": experiments,
    "fairseq-options.md": fairseq_options,
    "model-options.md": model_options,
    "prepared-corpora.md": prepared_corpora,
    "training-options.md": training_options,
}
