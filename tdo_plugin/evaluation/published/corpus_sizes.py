"""The sentence pairs that papers count in corpora, to compare with those of `tdo prepare`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tdo_plugin.evaluation.published import published, table

# corpus and variant of `tdo prepare`, and the table with its counts
COUNTED = MappingProxyType({("ted19", ""): "tdo:5", ("opus100", "revised"): "tdo:6"})


@dataclass(frozen=True)
class CorpusSizes:
    """Training sentence pairs with English, by language; `source` names paper and table."""

    source: str
    pairs: Mapping[str, int]


def corpus_sizes(corpus: str, variant: str) -> CorpusSizes | None:
    """A paper's counts for a corpus; None if no paper counts it.

    Args:
        corpus: the corpus' name, such as `ted19`.
        variant: the variant, or empty.
    """
    reference = COUNTED.get((corpus, variant))
    if reference is None:
        return None
    key, _, number = reference.partition(":")
    pairs = {row.system: int(row.values[0] or 0) for row in table(reference).rows}
    return CorpusSizes(f"{published(key).paper}, Table {number}", pairs)
