"""Descriptions of corpora: where the text comes from and what becomes of it.

A description is a JSON file, `descriptions/NAME.json` or one of the user's own. Its keys (those
with * may be absent):

    title, paper, licence, cite   text; the licence says where it was read
    notes           list of text: what the paper leaves open and what is taken here
    languages       codes; their order fixes the ids of the tags
    codes*          language -> what the source calls it, where that differs
    centre*         the language that training pairs share
    groups*         name -> list of pairs, for the keys below
    train           pairs with training text, or "centre": the centre with each other language
    test            pairs with a test set, or "all", or "train"; may be empty
    archives        name -> {urls, source, bytes*, sha256*, md5*, parts*, known*}
    sets            list of {split, pairs, archive, format, members*, encoding*, rows*, options*,
                    deal*}: where the rows of a split come from, read one set after the other
    sample*         {pairs, seed*}: at most so many rows of a training pair, before cleaning
    hold_out*       {valid*, test*, pairs*, seed*}: splits taken out of the cleaned training rows
                    of these pairs (default: all); each is {"every": n}, every nth row beginning
                    with the nth, or {"rows": n}, drawn at random
    limit*          split -> so many rows at most, the first that are left in the end
    clean           split -> list of rules, in their order; all three splits must be there
    form            {casing, tokenization, tokenized_at_source*, normalize_punctuation*,
                    aggressive_hyphens*}
    segmentation    {model_type, vocab_size or bpe_operations, character_coverage*, sentences*,
                    hub_pairs*, temperature*, normalization*}
    monolingual*    list of {language, archive, rows, member*, seed*}
    variants*       name -> {about, ...}: what else is replaced, key by key; null takes a key away

A pair is "X-Y", the order being the one of the source's file names. Where a list of pairs is
asked for, "train", "test", a name of a group, or a list that mixes all these will do.

Text may hold {src} {tgt} {pair}, and {src_code} {tgt_code} where `codes` differ. A name of an
archive that holds these stands for one archive per pair; one that holds {lang} or {lang_code}, for
one per language. The same names go into its addresses, and {file}, the file's own name. `known` has
[bytes, SHA-256] by pair or language. `parts` are names of files that are fetched one by one and
make the archive together. Unknown sizes and checksums are null, never a guess; `urls` may be empty.

A set has as many members as its format asks for; where `archive` is a list, member i is in archive
i; without `members` the archive is the text itself. A member within an archive within the archive
is "OUTER/INNER.tgz!MEMBER". A member may be a glob: the files it finds are sorted and read as one.

    lines           two texts, plain or gzip, line i translates line i
    tagged          two texts, lines that begin with "<" left out; option keep: ["title", ...], tags
                    whose text is a line all the same
    segments        two SGML or XML texts, the <seg> elements
    tsv             one text, option columns: {"{src}": 0, "{tgt}": 1}
    multiway-tsv    one text whose header names the languages' codes
    tmx             one text

`rows` is all, first:N, last:N or without:N:M (all but the first N and last M) and counts rows as
they are read, before cleaning. `deal` names a language that all pairs of the set have: row i goes
to pair i mod their number only, but to the pair of an earlier row that is equal in this language.

Rules: empty, same (both sides), unreadable, duplicates, contains {text}, length {least, most,
unit}, ratio {most, unit}, held-out-pairs (that very pair is in valid or test), held-out (one side
is, but for case and spaces, a sentence of that language in the valid or test set of any pair). In
`clean.valid` the last two look at test alone, and `clean.test` cannot have them. The unit is
characters or tokens; tokens are those of the tokenized text, so these rules come after
tokenization and must stand last.

Tokenization moses means Moses' tokens, and jieba's words for Chinese. With normalize_punctuation
Moses' normalization and removal of non-printing characters come before, but not in Chinese; with
aggressive_hyphens hyphens become tokens (-a). tokenized_at_source: the source has done it, with
Moses alone even to Chinese; references are detokenized.
"""

from __future__ import annotations

import json
from pathlib import Path

from tdo_compat.errors import did_you_mean
from tdo_plugin.corpora.description.parsing import parse
from tdo_plugin.corpora.description.schema import (
    HELD_OUT,
    SPLITS,
    Archive,
    ConcreteSet,
    Corpus,
    Deal,
    HoldOut,
    Member,
    Monolingual,
    Pair,
    Part,
    Row,
    Rule,
    Sample,
    Take,
)
from tdo_plugin.errors import UserError

__all__ = [
    "HELD_OUT",
    "SPLITS",
    "Archive",
    "ConcreteSet",
    "Corpus",
    "Deal",
    "HoldOut",
    "Member",
    "Monolingual",
    "Pair",
    "Part",
    "Row",
    "Rule",
    "Sample",
    "Take",
    "load",
    "names",
]

FOLDER = Path(__file__).parents[1] / "descriptions"


def names() -> list[str]:
    """The corpora that come with the project."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(name: str, variant: str | None = None) -> Corpus:
    """Read a description.

    Args:
        name: one of `names()`, or the path of a description of one's own, which ends in .json.
        variant: None for the corpus as the paper has it; "a,b" for variant a, then b on top.

    Raises:
        UserError: no such corpus or variant, or mistakes in the description, all of them.
    """
    from_file = name.endswith(".json")
    path = Path(name) if from_file else FOLDER / f"{name}.json"
    if not from_file and name not in names():
        guess = did_you_mean(name, names())
        raise UserError(f"`NAME` must be one of {', '.join(names())}; it is {name}{guess}")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"`{name}` must be a file; opening it gave: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"`{name}` must be JSON; it is not ({error})") from None
    return parse(path.stem, document, variant or "")
