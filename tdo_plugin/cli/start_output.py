"""Printed output of each step of `tdo start`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import escaped, print_line
from tdo_plugin.cli import report
from tdo_plugin.cli.next_steps import short, show_next

if TYPE_CHECKING:
    from tdo_plugin.corpora.pair_rows import Record
    from tdo_plugin.start.choices import Choices, Corpus
    from tdo_plugin.start.machine_facts import MachineFacts
    from tdo_plugin.start.own_corpus import Sets
    from tdo_plugin.start.recognised_text import Found
    from tdo_plugin.start.text_sizes import Sizes


def head(text: str) -> None:
    """Print the title of a step."""
    print_line(f"\n{text}")


def say(text: str) -> None:
    """Print a line of a step; files may have names with control characters."""
    print_line(f"  {escaped(text)}")


def show_texts(places: Sequence[Path], found: Found, sizes: Sizes) -> None:
    """Print each text with its split, lines and words per line, and unused files with reasons."""
    head(f"Text in {', '.join(map(str, places))}")
    width = max(len(text.name) for text in found.texts)
    for text in found.texts:
        of = sizes[text.name]
        words = ", ".join(f"{code} {of[code].words / of[code].lines:.1f}" for code in of)
        (lines,) = {size.lines for size in of.values()}
        say(f"{text.name:{width}}  {text.split or 'not split':9}  {lines:,} lines; words: {words}")
    by_reason: dict[str, list[str]] = {}
    for name, why in found.unused.items():
        by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        say(f"not used, {why}: {', '.join(names)}")


def show_sets(sets: Sets) -> None:
    """Print the origin of each set and its number of sentence pairs before cleaning."""
    written = sets.written
    for split in ("train", "valid", "test"):
        own = [f"{_named(pair)} {rows:,}" for name, pair, rows in sets.given if name == split]
        made = [
            f"{_named(pair)} {rows:,}"
            for (name, pair), rows in written.rows.items()
            if name == split
        ]
        if own:
            say(f"{split}, yours: {', '.join(own)}")
        if made:
            how = "" if split == "train" else ", taken out of train"
            say(f"{split}{how}: {', '.join(made)}")
    if any(split != "train" for split, _ in written.rows):
        say(
            f"a hash of the {sets.plan.pivot} sentence decides, so that more text, or another "
            "order, moves no sentence to another set"
        )
    for pair, between, rows in sets.joined:
        say(
            f"test, joined by the {between} sentences that two pairs share: {_named(pair)} {rows:,}"
        )
    _left_out(written.repeated, "further translations of held-out sentences")
    _left_out(written.foreign, "with a side in another language")


def _left_out(counts: dict[tuple[str, str], int], what: str) -> None:
    if any(counts.values()):
        each = ", ".join(f"{_named(pair)} {count:,}" for pair, count in counts.items() if count)
        say(f"left out, {what}: {each}")


def show_cleaning(records: Sequence[Record]) -> None:
    """Print how many sentence pairs each cleaning rule removed."""
    from tdo_plugin.corpora.preparing import line_of

    head("Cleaning (docs/guide/data.md#cleaning-rules explains the rules)")
    for split in ("train", "valid", "test"):
        of_split = [record for record in records if record.split == split]
        touched = [record for record in of_split if record.kept < record.read]
        for record in touched:
            say(line_of(record))
        if untouched := [_named(record.pair) for record in of_split if record not in touched]:
            say(f"{split}: nothing left out of {', '.join(untouched)}")


def show_choices(choices: Choices, corpus: Corpus, machine: MachineFacts) -> None:
    """Print every choice with its reason."""
    head(f"Choices, for {corpus.sentences:,} sentence pairs and {machine}")
    for name, why in choices.reasons.items():
        say(f"{name}: {why}")


def show_nllb(corpus: Corpus, run: Path) -> None:
    """Print the commands that fine-tune NLLB, if language pairs have few sentence pairs."""
    from tdo_plugin.start.nllb_commands import FEW, nllb_commands, unknown

    small = [f"{_named(pair)} {count:,}" for pair, count in corpus.pairs.items() if count < FEW]
    if not small:
        return
    head(f"Fewer than {FEW:,} sentence pairs: {', '.join(small)}; consider NLLB-600M")
    say("NLLB translates already, while a model trained from scratch has only these sentences")
    say("(advice, not measured). Fine-tuning needs a GPU with about 16 GiB and the weights")
    say("(facebook/nllb-200-distilled-600M, 2.5 GB), whose licence forbids commercial use")
    say("(docs/guide/pretrained.md). Once the data folder exists:")
    if lacking := unknown(corpus.languages):
        say(f"`tdo convert` needs NLLB's codes for {', '.join(lacking)}, which tdo does not know.")
        return
    for command in nllb_commands(corpus.languages, run):
        say(f"  {command}")
    say("`tdo convert` prints the `fairseq-train` command that fine-tunes the model.")


def show_result(run: Path, corpus: Corpus) -> None:
    """Print the score tables and the next steps."""
    from tdo_plugin.evaluation.sheet_reading import read_sheet
    from tdo_plugin.experiments.document_reader import read_document
    from tdo_plugin.experiments.tables import PAGE, REPORT, SHEET
    from tdo_plugin.start.experiment_file import FILE

    # the user may have renamed tables and systems in the file
    document = read_document(run / FILE)
    for table in document.tables:
        report.show_scores(read_sheet(run / REPORT / table / SHEET))
    print_line("")
    print_line(f"Report, for a browser: {short(run / REPORT / PAGE)}")
    source, target = (*corpus.zero_shot(), *corpus.pairs)[0]
    show_next(run, source, target)
    print_line(f"To try something else, edit {short(run / FILE)} and give the same command again.")


def _named(pair: tuple[str, str]) -> str:
    return "-".join(pair)
