"""The descriptions that come along."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tdo_plugin.corpora.description import FOLDER, Corpus, Take, load, names
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.steps import described

CHOICES = [(name, variant) for name in names() for variant in (None, *load(name).variants)]
EUROPARL = ("cs", "fi", "el", "hu", "lt", "lv", "pl", "pt", "sk", "sl", "sv", "es")
# archives whose content cannot be checked, as no checksum was found: one added here needs a reason
UNCHECKED = {
    *(f"europarl-v7.{language}-en.tgz" for language in EUROPARL),
    *(f"news-commentary-v16.{pair}.tsv.gz" for pair in ("de-es", "de-fr", "es-fr")),
    *(f"test2006.{language}" for language in ("de", "en", "fr")),
    "2017-01-mted-test.tgz",
    "SETIMES-v2.en-ro.txt.zip",
    "UNv1.0.ar-en.tar.gz",
    "UNv1.0.en-ru.tar.gz",
    "UNv1.0.testsets.tar.gz",
    "iwslt14.de-en.tgz",
    "news.2019.en.shuffled.deduped.gz",
    "wmt07-devsets.tgz",
}
WITHOUT_ADDRESS = {"SETIMES-v2.en-ro.tmx.gz", "test2006.de", "test2006.en", "test2006.fr"}


def all_archives() -> list:
    corpora = [load(name, variant) for name, variant in CHOICES]
    return [archive for corpus in corpora for archive in corpus.archives_needed().values()]


def test_the_corpora_of_the_papers_are_there() -> None:
    assert names() == [
        "europarl-12",
        "europarl-de-fr",
        "iwslt14-de-en",
        "iwslt17",
        "multi30k",
        "multiun",
        "news-commentary-v16",
        "opus100",
        "ted19",
        "wmt16-en-ro",
        "wmt19-zh-en",
    ]


@pytest.mark.parametrize(("name", "variant"), CHOICES)
def test_every_variant_has_all_its_text(name: str, variant: str | None) -> None:
    corpus = load(name, variant)
    assert corpus.variant == (variant or "")
    for split, pairs in (
        ("train", corpus.train_pairs),
        ("valid", corpus.valid_pairs),
        ("test", corpus.test_pairs),
    ):
        held = corpus.hold_out.pairs if corpus.hold_out and split != "train" else ()
        assert pairs
        assert all(corpus.sets_of(split, pair) or pair in held for pair in pairs)
    assert not set(corpus.members_needed()) - set(corpus.archives)


def test_addresses_are_of_the_web_and_few_are_missing() -> None:
    archives = all_archives()
    for archive in archives:
        addresses = [*archive.urls, *(url for part in archive.parts for url in part.urls)]
        assert all(url.startswith(("http://", "https://")) for url in addresses)
        assert "{" not in "".join(addresses)
    missing = {archive.name for archive in archives if not (archive.urls or archive.parts)}
    assert missing == WITHOUT_ADDRESS


def test_archives_without_a_checksum_are_known() -> None:
    archives = all_archives()
    assert {a.name for a in archives if not (a.sha256 or a.md5)} == UNCHECKED
    assert all(archive.bytes for archive in archives if archive.sha256)


def test_corpora_that_share_an_archive_agree_about_it() -> None:
    archives = all_archives()
    by_name = {archive.name: archive for archive in archives}
    assert all(by_name[archive.name] == archive for archive in archives)


@pytest.mark.parametrize("name", names())
def test_no_archive_is_there_in_vain(name: str) -> None:
    variants = [load(name, variant) for which, variant in CHOICES if which == name]
    used = {archive for corpus in variants for archive in corpus.archives_needed()}
    document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for key in document["archives"]:
        pattern = re.sub(r"\\{\w+\\}", ".+", re.escape(key))
        assert any(re.fullmatch(pattern, archive) for archive in used), key


def members(corpus: Corpus, split: str, pair: str) -> list[list[tuple[str, str]]]:
    first, _, second = pair.partition("-")
    sets = corpus.sets_of(split, (first, second))
    return [[(member.archive, member.path) for member in text_set.members] for text_set in sets]


OPUS = "opus-100-corpus-af-en-v1.0.tar.gz"
ZERO = "opus-100-corpus-zeroshot-v1.0.tar.gz"
IWSLT = "DeEnItNlRo-DeEnItNlRo"
MTED = "2017-01-mted-test"


@pytest.mark.parametrize(
    ("name", "split", "pair", "expected"),
    [
        ("ted19", "test", "he-ru", [[("ted_talks.tar.gz", "all_talks_test.tsv")]]),
        (
            "opus100",
            "valid",
            "af-en",
            [
                [
                    (OPUS, "opus-100-corpus/v1.0/supervised/af-en/opus.af-en-dev.af"),
                    (OPUS, "opus-100-corpus/v1.0/supervised/af-en/opus.af-en-dev.en"),
                ]
            ],
        ),
        (
            "opus100",
            "test",
            "nl-zh",
            [
                [
                    (ZERO, "opus-100-corpus/v1.0/zero-shot/nl-zh/opus.nl-zh-test.nl"),
                    (ZERO, "opus-100-corpus/v1.0/zero-shot/nl-zh/opus.nl-zh-test.zh"),
                ]
            ],
        ),
        (
            "multiun",
            "train",
            "en-ru",
            [
                [
                    ("UNv1.0.en-ru.tar.gz", "en-ru/UNv1.0.en-ru.en"),
                    ("UNv1.0.en-ru.tar.gz", "en-ru/UNv1.0.en-ru.ru"),
                ]
            ],
        ),
        (
            "europarl-de-fr",
            "test",
            "de-fr",
            [
                [
                    ("wmt07-devsets.tgz", "wmt07/devtest/devtest2006.de"),
                    ("wmt07-devsets.tgz", "wmt07/devtest/devtest2006.fr"),
                ]
            ],
        ),
        (
            "iwslt17",
            "test",
            "it-ro",
            [
                [
                    (
                        f"{MTED}.tgz",
                        f"{MTED}/texts/it/ro/it-ro.tgz!it-ro/IWSLT17.TED.tst2017.mltlng.it-ro.it.xml",
                    ),
                    (
                        f"{MTED}.tgz",
                        f"{MTED}/texts/ro/it/ro-it.tgz!ro-it/IWSLT17.TED.tst2017.mltlng.ro-it.ro.xml",
                    ),
                ]
            ],
        ),
        (
            "iwslt17",
            "valid",
            "nl-en",
            [
                [
                    (f"{IWSLT}.tgz", f"{IWSLT}/IWSLT17.TED.tst2010.nl-en.nl.xml"),
                    (f"{IWSLT}.tgz", f"{IWSLT}/IWSLT17.TED.tst2010.nl-en.en.xml"),
                ]
            ],
        ),
        (
            "wmt16-en-ro",
            "train",
            "en-ro",
            [
                [
                    (
                        "training-parallel-ep-v8.tgz",
                        "training-parallel-ep-v8/europarl-v8.ro-en.en",
                    ),
                    (
                        "training-parallel-ep-v8.tgz",
                        "training-parallel-ep-v8/europarl-v8.ro-en.ro",
                    ),
                ],
                [
                    ("SETIMES-v2.en-ro.txt.zip", "SETIMES.en-ro.en"),
                    ("SETIMES-v2.en-ro.txt.zip", "SETIMES.en-ro.ro"),
                ],
            ],
        ),
        (
            "wmt16-en-ro",
            "valid",
            "en-ro",
            [
                [
                    ("wmt19-dev.tgz", "dev/newsdev2016-roen-ref.en.sgm"),
                    ("wmt19-dev.tgz", "dev/newsdev2016-roen-src.ro.sgm"),
                ]
            ],
        ),
        (
            "wmt19-zh-en",
            "test",
            "zh-en",
            [
                [
                    ("wmt19-dev.tgz", "dev/newstest2018-zhen-src.zh.sgm"),
                    ("wmt19-dev.tgz", "dev/newstest2018-zhen-ref.en.sgm"),
                ]
            ],
        ),
        (
            "news-commentary-v16",
            "valid",
            "es-fr",
            [[("news-commentary-v16.es-fr.tsv.gz", "")]],
        ),
        ("multi30k", "train", "en-cs", [[("train.en.gz", ""), ("train.cs.gz", "")]]),
    ],
)
def test_members_are_those_of_the_source(
    name: str, split: str, pair: str, expected: list[list[tuple[str, str]]]
) -> None:
    assert members(load(name), split, pair) == expected


def test_ted19_is_the_papers() -> None:
    corpus = load("ted19")
    assert len(corpus.train_pairs) == 18
    assert corpus.train_pairs[:2] == (("en", "ar"), ("en", "he"))
    assert corpus.valid_pairs == corpus.train_pairs
    assert len(corpus.test_pairs) == 342 // 2
    (chinese,) = corpus.sets_of("train", ("en", "zh"))
    assert chinese.codes == ("en", "zh-cn")
    assert (corpus.code("zh"), corpus.code("en")) == ("zh-cn", "en")
    assert corpus.segmentation.vocab_size == 50000
    assert corpus.segmentation.hub_pairs == ("ar",)
    assert [rule.rule for rule in load("ted19", "strict").clean["train"]] == [
        "empty",
        "contains",
        "held-out",
    ]


@pytest.mark.parametrize(
    ("name", "operations", "vocabulary"),
    [
        *(("multiun", 40000, 0), ("europarl-de-fr", 40000, 0)),  # TPDM paper, section 4.3.3
        *(("iwslt17", 40000, 0), ("europarl-12", 90000, 0)),  # neuron allocation paper, section 4.1
        *(("iwslt14-de-en", 0, 10000), ("wmt19-zh-en", 0, 47000)),  # TLM paper, table 1
    ],
)
def test_sizes_are_operations_where_the_paper_says_so(
    name: str, operations: int, vocabulary: int
) -> None:
    segmentation = load(name).segmentation
    assert segmentation.bpe_operations == operations
    assert segmentation.vocab_size == vocabulary


def test_opus100_has_every_pair_with_its_own_archive() -> None:
    corpus = load("opus100")
    assert (len(corpus.languages), len(corpus.train_pairs)) == (100, 99)
    assert (len(corpus.valid_pairs), len(corpus.test_pairs)) == (94, 94 + 15)
    needed = corpus.archives_needed()
    assert len(needed) == 100
    assert sum(archive.bytes for archive in needed.values()) == 2_574_722_068
    norwegian = needed["opus-100-corpus-en-no-v1.0.tar.gz"]
    assert norwegian.urls == (
        "https://object.pouta.csc.fi/OPUS-100/v1.0/opus-100-corpus-en-no-v1.0.tar.gz",
    )
    assert norwegian.bytes == 28_851_262
    revised = load("opus100", "revised")
    assert set(corpus.languages) - set(revised.languages) == {"an", "dz", "hy", "mn", "yo"}
    assert (len(revised.train_pairs), len(revised.archives_needed())) == (94, 95)
    assert revised.segmentation.model_type == "unigram"


def test_variants_add_up() -> None:
    both = load("opus100", "revised,strict")
    assert both.variant == "revised,strict"
    assert len(both.languages) == 95
    assert "held-out" in [rule.rule for rule in both.clean["train"]]
    assert load("wmt19-zh-en").monolingual[0].rows == 5_000_000
    assert load("wmt19-zh-en", "parallel").monolingual == ()


def test_parts_have_addresses_of_their_own() -> None:
    archive = load("multiun").archives["UNv1.0.en-ru.tar.gz"]
    assert [part.name[-3:] for part in archive.parts] == [".00", ".01", ".02"]
    assert archive.parts[1].urls[1] == (
        "https://conferences.unite.un.org/UNCORPUS/en/DownloadFile?filename=UNv1.0.en-ru.tar.gz.01"
    )
    assert archive.urls == ()


def test_tests_of_trained_pairs_keep_their_order() -> None:
    corpus = load("multiun")
    assert corpus.train_pairs == (("ar", "en"), ("en", "ru"), ("en", "zh"))
    assert corpus.test_pairs[0] == ("ar", "en")
    assert set(corpus.valid_pairs) == set(corpus.test_pairs)
    assert corpus.valid_pairs[:3] == corpus.train_pairs


def test_europarl_12_holds_out_where_there_is_no_test_set() -> None:
    corpus = load("europarl-12")
    assert ("es", "en") not in corpus.hold_out.pairs
    assert (len(corpus.hold_out.pairs), corpus.hold_out.test) == (11, Take(rows=1000))
    assert corpus.sets_of("test", ("cs", "en")) == []
    assert len(corpus.valid_pairs) == 12


def test_columns_are_named_by_pair() -> None:
    (test_set,) = load("news-commentary-v16").sets_of("test", ("de", "fr"))
    assert (test_set.rows, test_set.options) == ("first:3000", {"columns": {"de": 0, "fr": 1}})


def test_one_pass_over_an_archive_is_enough() -> None:
    needed = load("iwslt14-de-en").members_needed()
    assert len(needed["iwslt14.de-en.tgz"]) == 2 + 2 * 5
    assert load("multi30k").members_needed()["val.fr.gz"] == [""]


def test_multi30k_is_dealt_out_in_the_order_of_the_recorded_results() -> None:
    corpus = load("multi30k", "disjoint")
    deals = [corpus.sets_of("train", ("en", target))[0].deal for target in ("de", "fr", "cs")]
    assert [(deal.side, deal.parts, deal.part) for deal in deals] == [
        (0, 3, 0),
        (0, 3, 1),
        (0, 3, 2),
    ]


def test_unknown_names_and_variants(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"`NAME` must be one of europarl-12, .*; it is ted20"):
        load("ted20")
    with pytest.raises(UserError, match="`--variant` must be one of revised, strict; it is old"):
        load("opus100", "old")
    with pytest.raises(UserError, match="`--variant` must be left out for news-commentary-v16"):
        load("news-commentary-v16", "opus")
    with pytest.raises(UserError, match="must be a file; opening it gave"):
        load(str(tmp_path / "none.json"))
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(UserError, match="must be JSON; it is not"):
        load(str(tmp_path / "bad.json"))


def test_files_hold_no_more_than_descriptions() -> None:
    assert all(path.suffix == ".json" for path in FOLDER.iterdir())


def test_another_wording_leaves_prepared_folders_complete() -> None:
    corpus = load("multi30k")
    reworded = replace(corpus, title="other", notes=("other",), licence="other", variants={})
    assert described(reworded) == described(corpus)
    assert described(replace(corpus, languages=corpus.languages[::-1])) != described(corpus)
