"""Descriptions of corpora: where the text comes from and how it is processed.

A description is a JSON file, `descriptions/NAME.json` or a user's own. Its keys (those with * are
optional):

    title, paper, licence, cite   text; the licence with its source
    notes           list of text: what the paper leaves open and what is chosen here
    languages       codes; their order determines the ids of the tags
    codes*          language -> its code in the source, if different
    centre*         the language that training pairs share
    groups*         name -> list of pairs, for the keys below
    train           pairs with training text, or "centre": the centre with each other language
    test            pairs with a test set, or "all", or "train"; may be empty
    archives        name -> {urls, source, bytes*, sha256*, md5*, parts*, known*}
    sets            list of {split, pairs, archive, format, members*, encoding*, rows*, options*,
                    deal*}: where the rows of a split come from, read in order
    sample*         {pairs, seed*}: maximum number of rows of a training pair, drawn before cleaning
    hold_out*       {valid*, test*, pairs*, seed*}: splits taken from the cleaned training rows of
                    these pairs (default: all); each is {"every": n}, every nth row starting with
                    the nth, or {"rows": n}, drawn at random
    limit*          split -> maximum number of rows, the first that remain at the end
    clean           split -> list of rules, in order; all three splits are required
    form            {casing, tokenization, tokenized_at_source*, normalize_punctuation*,
                    aggressive_hyphens*}
    segmentation    {model_type, vocab_size or bpe_operations, character_coverage*, sentences*,
                    hub_pairs*, temperature*, normalization*}
    monolingual*    list of {language, archive, rows, member*, seed*}
    variants*       name -> {about, ...}: replaces other keys one by one; null removes a key

A pair is "X-Y", in the order of the source's file names. Where a list of pairs is required,
"train", "test", the name of a group, or a list of any of these is accepted.

Text may contain {src} {tgt} {pair}, and {src_code} {tgt_code} if `codes` differ. The name of an
archive with these stands for an archive per pair; with {lang} or {lang_code}, for one per language.
The same names can be used in its addresses, and {file}, the file's own name. `known` has
[bytes, SHA-256] by pair or language. `parts` are names of files that are downloaded separately and
together form the archive. Unknown sizes and checksums are null, never a guess; `urls` may be empty.

A set has as many members as its format requires; if `archive` is a list, member i is in archive i;
without `members` the archive is the text itself. A member of an archive within the archive is
"OUTER/INNER.tgz!MEMBER". A member may be a glob: the files that match are sorted and concatenated.

    lines           two texts, plain or gzip, line i translates line i
    tagged          two texts without lines that begin with "<"; option keep: ["title", ...], tags
                    whose text is kept as a line
    segments        two SGML or XML texts, the <seg> elements
    tsv             one text, option columns: {"{src}": 0, "{tgt}": 1}
    multiway-tsv    one text whose header has the languages' codes
    tmx             one text; option apart: ["sr", ...], languages that are only the variants with
                    just this code, as sr-Latn is another language there

`rows` is all, first:N, last:N or without:N:M (all but the first N and last M) and counts rows as
they are read, before cleaning. `deal` names a language that all pairs of the set share: only pair
i mod (number of pairs) gets row i, unless an earlier row is equal in this language; then the pair
of that row gets it.

Rules: empty, same (both sides), unreadable, duplicates, contains {text}, length {least, most,
unit}, ratio {most, unit}, held-out-pairs (the same pair is in valid or test), held-out (one side
is, ignoring case and spaces, a sentence of that language in the valid or test set of any pair). In
`clean.valid` the last two check test alone, and `clean.test` cannot have them. The unit is
characters or tokens; tokens are those of the tokenized text, so these rules are applied after
tokenization and must be last.

Tokenization moses means Moses' tokens, and jieba's words for Chinese. With normalize_punctuation,
Moses' normalization and removal of non-printing characters are applied first, except to Chinese;
with aggressive_hyphens, hyphens become tokens (-a). tokenized_at_source: the source text is already
tokenized, with Moses even for Chinese; references are detokenized.
"""

from __future__ import annotations

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
from tdo_plugin.typed import read_json

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
    """The corpora that are part of the package."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(name: str, variant: str | None = None) -> Corpus:
    """Read a description.

    Args:
        name: one of `names()`, or the path of a user's description, which ends in .json.
        variant: None for the corpus as in the paper; "a,b" for variant a with b applied to it.

    Raises:
        UserError: the corpus or variant does not exist, or the description has mistakes; the
            message lists all of them.
    """
    from_file = name.endswith(".json")
    path = Path(name) if from_file else FOLDER / f"{name}.json"
    if not from_file and name not in names():
        guess = did_you_mean(name, names())
        raise UserError(f"`NAME` must be one of {', '.join(names())}; it is {name}{guess}")
    try:
        document = read_json(path)
    except OSError as error:
        raise UserError(f"`{name}` must be a file; opening it gave: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"`{name}` must be JSON; it is not ({error})") from None
    return parse(path.stem, document, variant or "")
