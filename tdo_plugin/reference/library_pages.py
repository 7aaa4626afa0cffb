"""Pages about the package's data: experiment files and corpus descriptions."""

from __future__ import annotations

from collections.abc import Iterator

from tdo_plugin.corpora import description
from tdo_plugin.corpora.description import Corpus
from tdo_plugin.experiments import library
from tdo_plugin.experiments.document import Document, Table
from tdo_plugin.reference.markdown_table import OPTION_HEAD, codes, page, plain, table


def experiments() -> str:
    """Return the page of experiment files with their scales, options, systems and tables."""
    documents = [library.find(name) for name in library.names()]
    return page(
        "Experiments",
        "The files in `configs/experiments/`. `tdo reproduce FILE TABLE` makes a table, "
        "`tdo train FILE/SYSTEM DATA` trains a system; `--scale` chooses a scale. A system's name "
        "is made of parts, such as `ted19/tdo-prefix+adaptation+instrucl`; "
        "[experiments.md](../reproduce/experiments.md) describes the format.",
        *(block for document in documents for block in _document(document)),
    )


def _document(document: Document) -> Iterator[str]:
    yield f"## `{document.name}`"
    yield f"{plain(document.title)}."
    scales = [(f"`{name}`", plain(scale.help)) for name, scale in document.scales.items()]
    yield table(("scale", "meaning"), [row for row in scales if row[1]])
    yield table(OPTION_HEAD, _options(document))
    yield f"Parts of systems: {codes(document.systems)}."
    rows = [
        (f"`{name}`", plain(entry.title), _rows(entry)) for name, entry in document.tables.items()
    ]
    yield table(("table", "content", "rows"), rows)


def _options(document: Document) -> Iterator[tuple[str, str]]:
    for name, option in document.options.items():
        value = "{" + ",".join(option.choices) + "}" if option.choices else "VALUE"
        yield f"`--{name} {value}`", plain(option.help)
    for name, source in document.inputs.items():
        yield f"`--{name} PATH`", plain(source.help) + (" (needed)" if source.needed else "")


def _rows(entry: Table) -> str:
    if entry.axes:
        systems = [entry.system] if isinstance(entry.system, str) else entry.system
        cells = f"{codes(systems)}, with all values of {codes(entry.axes)}"
        return ", ".join(filter(None, [codes(entry.rows), cells]))
    return codes(entry.rows) or (f"those of `{entry.cells}`" if entry.cells else "")


def prepared_corpora() -> str:
    """Return the page of `tdo prepare` corpora: licence, size, what the papers leave open."""
    corpora = [description.load(name) for name in description.names()]
    return page(
        "Corpora of tdo prepare",
        "`tdo prepare NAME --out DIR` makes a data folder of one of these corpora "
        "([data.md](../guide/data.md)). The descriptions are `tdo_plugin/corpora/descriptions/`; "
        "`tdo prepare --list` and `tdo prepare NAME --show` print them.",
        *(block for corpus in corpora for block in _corpus(corpus)),
    )


def _corpus(corpus: Corpus) -> Iterator[str]:
    yield f"## `{corpus.name}`"
    yield f"{plain(corpus.title)}. Paper: {plain(corpus.paper)}."
    sizes = [archive.bytes for archive in corpus.archives_needed().values()]
    whole = f"{sum(filter(None, sizes)):,} bytes" + (" and more" if None in sizes else "")
    facts = {
        "languages": " ".join(corpus.languages),
        "pairs": f"{len(corpus.train_pairs)} with training text, {len(corpus.test_pairs)} with a "
        "test set",
        "download": whole if any(sizes) else "size unknown",
        "licence": plain(corpus.licence),
        "citation": plain(corpus.cite),
    }
    facts |= {f"`--variant {name}`": plain(about) for name, about in corpus.variants.items()}
    yield table(("property", "value"), facts.items())
    yield "\n".join(f"- {plain(note)}" for note in corpus.notes)
