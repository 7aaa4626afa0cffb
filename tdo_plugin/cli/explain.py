"""`tdo explain`: one sentence's translation and what the model did for it, as one HTML file."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdo_plugin.cli.output_file import check_has_folder
from tdo_plugin.cli.served_models import model_options, opened_models
from tdo_plugin.errors import UserError

HELP = "write a page that shows what a model read, layer by layer, to translate a sentence"
EXAMPLE = 'tdo explain my-model -s de -t fr --text "Ein Hund." --out page.html'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("-s", "--source-lang", required=True, metavar="LANG", help="language of the text, or auto")
    add(
        "-t",
        "--target-lang",
        action="extend",
        nargs="+",
        required=True,
        metavar="LANG",
        help="language to translate into; several are allowed",
    )
    add("--text", required=True, metavar="TEXT", help="the sentence")
    add("--out", type=Path, required=True, metavar="FILE", help="the HTML file to write")
    model_options(parser)


def run(args: argparse.Namespace) -> int:
    """Translate, and write the page."""
    from tdo_plugin.metrics.silence import quiet_libraries
    from tdo_plugin.runtime.files import write_text
    from tdo_plugin.serve.explained_page import explained_page
    from tdo_plugin.serve.sentence_split import check_unicode

    check_has_folder(args.out, "--out")
    check_unicode("--text", args.text)
    if not args.text.strip():
        raise UserError("`--text` must have a sentence; it is empty")
    targets = list(dict.fromkeys(args.target_lang))
    with quiet_libraries():
        models = opened_models(args)
        page = explained_page(models, args.text, args.source_lang, targets)
    write_text(args.out, [page])
    print(args.out.resolve())
    return 0
