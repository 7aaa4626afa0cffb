"""Records the corpus that a data folder was prepared from.

OUT/prepare.json    the corpus, and the rows that each rule removed from each pair; written last
OUT/work/splits     exists only in folders of `tdo prepare`, complete or not
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tdo_plugin.corpora.description import Corpus
from tdo_plugin.corpora.pair_rows import Record
from tdo_plugin.data.databin import MARK
from tdo_plugin.data.finished_folder import left_out, model_facts
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json

OUTCOME = "prepare.json"
SPLITS = Path("work", "splits")


def check_made(out: Path, key: str, fresh: bool) -> bool:
    """Whether the folder is complete; otherwise, or to make it anew, it is marked as incomplete.

    Args:
        out: the data folder.
        key: of the corpus and its settings.
        fresh: make it anew.

    Raises:
        UserError: it is complete, but was made from something else.
    """
    if fresh:
        for name in (OUTCOME, MARK):
            (out / name).unlink(missing_ok=True)
    try:
        stored_key = read_json(out / OUTCOME)["key"]
    except (OSError, ValueError, KeyError):
        stored_key = None
    if stored_key is None and ((out / SPLITS).is_dir() or not (out / MARK).exists()):
        for name in (OUTCOME, MARK):  # already binarised, perhaps with other settings
            (out / name).unlink(missing_ok=True)
        return False
    if stored_key != key:
        raise UserError(
            f"`--out` must be a new folder, or `--fresh` given; {out} was made from another corpus "
            "or with other settings"
        )
    return True


def corpus_made(out: Path) -> tuple[str, str]:
    """Name and variant of the complete corpus in a folder; both empty if there is none.

    A sample (`--rows`) is not a complete corpus.
    """
    try:
        document = read_json(out / OUTCOME)
        if document["sample"]:
            return "", ""
        return str(document["corpus"]), str(document["variant"] or "")
    except (OSError, ValueError, LookupError, TypeError):
        return "", ""


def write_outcome(out: Path, corpus: Corpus, key: str, records: Sequence[Record]) -> None:
    """Record the corpus, which marks the folder complete."""
    document = {
        "key": key,
        "corpus": corpus.name,
        "variant": corpus.variant,
        "sample": asdict(corpus.sample) if corpus.sample else None,
        "title": corpus.title,
        "licence": corpus.licence,
        "cite": corpus.cite,
        "notes": corpus.notes,
        "rows": [{**asdict(record), "pair": "-".join(record.pair)} for record in records],
        "model": model_facts(out),
        "left_out_in_pieces": {name: asdict(dropped) for name, dropped in left_out(out).items()},
    }
    write_text(out / OUTCOME, [json.dumps(document, indent=1, ensure_ascii=False)])
