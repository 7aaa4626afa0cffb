"""The keys and values that the JSON of a description may have."""

from __future__ import annotations

from typing import Any

from tdo_plugin.corpora.description.schema import SPLITS
from tdo_plugin.data import shapes as k
from tdo_plugin.names import LANGUAGE

PAIR_NAMES = ("src", "tgt", "pair", "src_code", "tgt_code")
LANGUAGE_NAMES = ("lang", "lang_code")

CODE = k.matching("a language code of letters, digits and _", LANGUAGE)
WORD = k.matching("a word of letters, digits and -", r"[A-Za-z0-9][A-Za-z0-9-]*")
SHA256 = k.matching("64 hexadecimal digits", r"[0-9a-f]{64}")
MD5 = k.matching("32 hexadecimal digits", r"[0-9a-f]{32}")
IN_PAIR = k.template(*PAIR_NAMES)
ROWS = k.matching(
    "all, first:N, last:N or without:FIRST:LAST", r"all|(first|last):[1-9]\d*|without:\d+:\d+"
)


def _encoding(name: Any) -> bool:
    try:
        "".encode(name)  # as codecs.lookup, but only for encodings of text
    except (LookupError, TypeError, ValueError):
        return False
    return True


def _known(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and not [*k.whole(1)(value[0], "")]
        and not [*k.nothing_or(SHA256)(value[1], "")]
    )


_NAMED = (*PAIR_NAMES, *LANGUAGE_NAMES)
ARCHIVE = k.record(
    {
        "urls": k.list_of(
            k.all_of(
                k.matching("an http(s) address", r"https?://[^\s/]+/\S+"),
                k.template(*_NAMED, "file"),
            )
        ),
        "source": k.TEXT,
    },
    {
        "bytes": k.nothing_or(k.whole(1)),
        "sha256": k.nothing_or(SHA256),
        "md5": k.nothing_or(MD5),
        "parts": k.list_of(k.template(*_NAMED), least=2),
        "known": k.map_of(k.leaf("[bytes, SHA-256]", _known)),
    },
)

# format -> the number of texts of a pair, and the options of its reader
FORMATS: dict[str, tuple[int, dict[str, k.Kind]]] = {
    "lines": (2, {}),
    "tagged": (2, {"keep": k.list_of(WORD)}),
    "segments": (2, {}),
    "tsv": (1, {"columns": k.map_of(k.whole(0), keys=IN_PAIR)}),
    "multiway-tsv": (1, {}),
    "tmx": (1, {"apart": k.list_of(CODE)}),
}

PAIRS = k.list_or(k.TEXT, WORD)


def _set(options: dict[str, k.Kind]) -> k.Kind:
    return k.record(
        {
            "split": k.one_of(*SPLITS),
            "pairs": PAIRS,
            "archive": k.list_or(IN_PAIR, IN_PAIR),
            "format": k.TEXT,
        },
        {
            "members": k.list_of(IN_PAIR, least=1),
            "encoding": k.leaf("the name of an encoding", _encoding),
            "rows": ROWS,
            "options": k.record({}, options),
            "deal": CODE,
        },
    )


def _rule(**details: k.Kind) -> k.Kind:
    return k.record({"rule": k.TEXT, **details})


_UNIT = k.one_of("characters", "tokens")
RULE = k.chosen_by(
    "rule",
    {
        "empty": _rule(),
        "same": _rule(),
        "unreadable": _rule(),
        "duplicates": _rule(),
        "held-out": _rule(),
        "held-out-pairs": _rule(),
        "contains": _rule(text=k.TEXT),
        "length": _rule(least=k.whole(0), most=k.whole(1), unit=_UNIT),
        "ratio": _rule(most=k.above(1, 1000), unit=_UNIT),
    },
)

TAKE = k.all_of(
    k.record({}, {"every": k.whole(2), "rows": k.whole(1)}),
    k.leaf("an object with either every or rows", lambda value: len(value) == 1),
)

SEGMENTATION = k.all_of(
    k.record(
        {"model_type": k.one_of("bpe", "unigram")},
        {
            "vocab_size": k.whole(1),
            "bpe_operations": k.whole(1),
            "character_coverage": k.above(0, 1),
            "sentences": k.whole(0),
            "hub_pairs": k.list_of(CODE),
            "temperature": k.above(0, 1000),
            "normalization": k.one_of("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"),
        },
    ),
    k.leaf(
        "an object with either vocab_size or bpe_operations",
        lambda value: ("vocab_size" in value) != ("bpe_operations" in value),
    ),
    k.leaf(
        "an object whose model_type is bpe if it has bpe_operations",
        lambda value: value["model_type"] == "bpe" or "bpe_operations" not in value,
    ),
)

_NEEDED: dict[str, k.Kind] = {
    "title": k.TEXT,
    "paper": k.TEXT,
    "licence": k.TEXT,
    "cite": k.TEXT,
    "notes": k.list_of(k.TEXT),
    "languages": k.list_of(CODE, least=2),
    "train": PAIRS,
    "test": k.list_or(k.TEXT, WORD, least=0),
    "archives": k.map_of(ARCHIVE, keys=k.template(*_NAMED)),
    "sets": k.list_of(
        k.chosen_by("format", {name: _set(options) for name, (_, options) in FORMATS.items()}),
        least=1,
    ),
    "clean": k.record({split: k.list_of(RULE) for split in SPLITS}),
    "form": k.record(
        {
            "casing": k.one_of("cased", "lowercased", "truecased"),
            "tokenization": k.one_of("none", "moses"),
        },
        {
            "tokenized_at_source": k.FLAG,
            "normalize_punctuation": k.FLAG,
            "aggressive_hyphens": k.FLAG,
        },
    ),
    "segmentation": SEGMENTATION,
}
_OPTIONAL: dict[str, k.Kind] = {
    "codes": k.map_of(k.TEXT, keys=CODE),
    "centre": CODE,
    "groups": k.map_of(k.list_of(k.TEXT, least=1), keys=WORD),
    "sample": k.record({"pairs": k.whole(1)}, {"seed": k.whole(0)}),
    "hold_out": k.record({}, {"valid": TAKE, "test": TAKE, "pairs": PAIRS, "seed": k.whole(0)}),
    "limit": k.record({}, {split: k.whole(1) for split in SPLITS}),
    "monolingual": k.list_of(
        k.record(
            {"language": CODE, "archive": k.template(*LANGUAGE_NAMES), "rows": k.whole(1)},
            {"member": k.template(*LANGUAGE_NAMES), "seed": k.whole(0)},
        )
    ),
}
_REPLACED = {key: k.nothing_or(kind) for key, kind in {**_NEEDED, **_OPTIONAL}.items()}

DESCRIPTION = k.record(_NEEDED, _OPTIONAL)
VARIANTS = k.map_of(k.record({"about": k.TEXT}, _REPLACED), keys=WORD)
