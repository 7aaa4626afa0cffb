"""`tdo prepare`: what it shows, and options that cannot be."""

import pytest
from support.commands import exit_code, told

from tdo_plugin.corpora import preparing
from tdo_plugin.corpora.description import load, names
from tdo_plugin.corpora.sources import fetch
from tdo_plugin.corpora.sources.links import LinkStatus


@pytest.fixture
def shown(capsys):
    return lambda *words, code=0: told(capsys, "prepare", *words, code=code)[0]


def test_every_corpus_is_listed_with_its_variants(shown):
    listed = shown("--list")
    for name in names():
        assert f"\n{name}: " in f"\n{listed}"
        for variant in load(name).variants:
            assert f"    --variant {variant}: " in listed
    assert "\ntoy: " in listed


def test_a_corpus_is_shown_with_all_its_addresses(shown):
    described = shown("multiun", "--show", "--variant", "opus")
    corpus = load("multiun", "opus")
    assert f"licence: {corpus.licence}\n" in described
    for archive in corpus.archives_needed().values():
        assert archive.name in described and all(url in described for url in archive.urls)
    assert shown("toy", "--show") == shown("toy", "--check") != ""


def test_a_check_says_of_each_address_what_it_answered(shown, monkeypatch):
    gone, size = "HTTP 404 Not Found", 1234
    unknown = "it has no known address; --from-file must provide it"
    answers = [
        LinkStatus("a.gz", "a.gz", "http://h/a.gz", 200, size, None, ""),
        LinkStatus("a.gz", "a.gz", "http://i/a.gz", 404, None, None, gone),
        LinkStatus("b.gz", "b.gz", "", None, None, None, unknown),
    ]
    lines = [
        "ted19: a.gz: http://h/a.gz: ok (1,234 bytes)",
        f"ted19: a.gz: http://i/a.gz: {gone}",
        f"ted19: b.gz: {unknown}",
    ]
    for count, code in ((1, 0), (3, 1)):
        monkeypatch.setattr(fetch, "check", lambda _, count=count: answers[:count])
        assert shown("ted19", "--check", code=code).splitlines() == lines[:count]


@pytest.fixture
def requested(monkeypatch, tmp_path):
    """What `tdo prepare` is about to make: the corpus, and the files that were given."""
    calls = []
    monkeypatch.setattr(preparing, "prepare", lambda *arguments: calls.append(arguments))

    def run(*words):
        (tmp_path / "cache").mkdir(exist_ok=True)
        words = (*words, "--out", tmp_path / "out", "--cache", tmp_path / "cache")
        assert exit_code("prepare", *words) == 0
        corpus, _, files, *_ = calls[-1]
        return corpus, files

    return run


def test_a_number_of_sentences_is_bounded_unless_it_is_asked_for(requested):
    corpus, _ = requested("opus100")
    assert (corpus.segmentation.sentences, corpus.segmentation.bounded) == (10_000_000, True)
    corpus, _ = requested("opus100", "--sentences", 7)
    assert (corpus.segmentation.sentences, corpus.segmentation.bounded) == (7, False)
    assert requested("opus100", "--sentences", 0)[0].segmentation.bounded


def test_either_size_replaces_the_other(requested, tmp_path):
    def sizes(*words):
        segmentation = requested(*words)[0].segmentation
        return segmentation.vocab_size, segmentation.bpe_operations

    assert sizes("iwslt17") == (0, 40000)
    assert sizes("iwslt17", "--vocab-size", 70) == (70, 0)
    assert sizes("iwslt17", "--vocab-size", 70, "--model-type", "unigram") == (70, 0)
    assert sizes("ted19", "--bpe-operations", 70) == (0, 70)
    text = tmp_path / "text"
    text.mkdir()
    for language in ("de", "en"):
        (text / f"train.de-en.{language}").write_text("a b\n")
    assert sizes("--from", text, "--bpe-operations", 70, "--model-type", "bpe") == (0, 70)
    assert sizes("--from", text) == (8000, 0)


def test_a_trial_draws_rows_of_pairs_and_lines_of_one_language(requested):
    corpus, _ = requested("wmt19-zh-en", "--rows", 7)
    assert corpus.sample.pairs == 7
    assert [monolingual.rows for monolingual in corpus.monolingual] == [7]
    corpus, _ = requested("wmt19-zh-en", "--rows", 10**9)
    assert [monolingual.rows for monolingual in corpus.monolingual] == [5_000_000]


def test_a_name_that_several_addresses_end_with_says_nothing(requested, refused, tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    whole = {archive.name for archive in load("multiun").archives_needed().values()}
    for name in ("DownloadFile", *whole):
        (folder / name).touch()
    _, files = requested("multiun", "--from-file", folder)
    assert set(files) == whole
    words = ("prepare", "multiun", "--out", tmp_path / "out", "--from-file")
    refused(*words, folder / "DownloadFile", names="DownloadFile")


def test_what_is_refused(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tgz").touch()
    refused.rows(
        """
        prepare ted19                              :: --out
        prepare --out data                         :: --from
            nothing                                :: europarl-12
            iwslt17 --model-type unigram           :: --model-type
            toy --bpe-operations 9                 :: --model-type
            toy --variant a                        :: toy
        prepare ted19 --out data
            --from .                               :: --from
            --vocab-size 0                         :: --vocab-size
            --bpe-operations 0                     :: --bpe-operations
            --bpe-operations 9 --vocab-size 8      :: 8 and 9
            --bpe-operations 9 --model-of .        :: --model-of
            --rows 0                               :: --rows
            --workers 0                            :: --workers
            --shard-sentences -1                   :: --shard-sentences
            --hub en                            :: --hub
            --variant other                        :: --variant
            --from-file .                          :: ted19
            --from-file a.tgz                      :: ted19
        """
    )
