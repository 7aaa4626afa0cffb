"""Held-out sets that are made of training text: stable, and without a leak."""

import resource
from itertools import combinations

from support.layouts.sentences import sentence
from support.own_folders import write_parallel

from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.data.textnames import SPLITS
from tdo_plugin.start.own_corpus import ROW_RULES, clean, make_sets, split_description
from tdo_plugin.start.recognised_text import Found, Text
from tdo_plugin.start.split_plan import pivot_of, plan_splits
from tdo_plugin.start.split_writer import copy_sets, write_splits
from tdo_plugin.start.text_sizes import sizes_of


def text_of(folder, name, languages, split=None):
    files = {code: folder / f"{name}.{code}" for code in languages.split()}
    return Text(name, split, files)


def written(tmp_path, out, texts, pairs, given=()):
    counts = {pair: 0 for pair in pairs}
    for text, of in zip(texts, sizes_of(texts).values(), strict=True):
        for pair in text.pairs():
            if pair in counts:
                counts[pair] += of[pair[0]].lines
    plan = plan_splits(pairs, counts, given, tmp_path / out / "shares.json")
    write_splits(texts, pairs, given, plan, ROW_RULES, tmp_path / out)
    return sets_in(tmp_path / out)


def sets_in(folder):
    """(split, pair) -> rows."""
    sets = {}
    for path in sorted(folder.glob("*.*-*.*")):
        split, pair, _ = path.name.split(".")
        first, second = pair.split("-")
        sides = [read_lines(folder / f"{split}.{pair}.{code}") for code in (first, second)]
        sets[split, (first, second)] = [*zip(*sides, strict=True)]
    return sets


def place_of(sets, pair, side):
    """Each sentence of a side, and its set."""
    return {
        row[side]: split for (split, named), rows in sets.items() if named == pair for row in rows
    }


def test_more_text_and_another_order_move_nothing(tmp_path):
    pair = ("de", "en")
    write_parallel(tmp_path / "a", "news", "de en", range(1_000))
    write_parallel(tmp_path / "b", "more", "de en", reversed(range(1_400)))
    first = written(tmp_path, "out-a", [text_of(tmp_path / "a", "news", "de en")], [pair])
    again = written(tmp_path, "out-b", [text_of(tmp_path / "b", "more", "de en")], [pair])
    before, after = place_of(first, pair, 1), place_of(again, pair, 1)
    assert len(before) == 1_000 and len(after) == 1_400
    assert all(after[text] == split for text, split in before.items())
    for split in ("valid", "test"):  # near 1/16 each
        assert 40 < len(first[split, pair]) < 90


def test_a_folder_keeps_its_shares_when_it_grows_and_of_pairs_left_out(tmp_path):
    record, pair = tmp_path / "shares.json", ("de", "en")
    first = plan_splits([pair], {pair: 20_000}, (), record)
    assert plan_splits([pair], {pair: 200_000}, (), record).shares == first.shares == {pair: 5}
    record.unlink()
    lines = {pair: 200_000, ("en", "fr"): 20_000}
    shares = plan_splits([*lines], lines, (), record).shares
    assert shares[pair] == 8
    plan_splits([pair], lines, (), record)
    assert plan_splits([*lines], dict.fromkeys(lines, 300), (), record).shares == shares


def test_one_english_sentence_is_in_one_set_of_all_pairs(tmp_path):
    """Corpora of two pairs with the same English, in different orders and sizes."""
    folder = tmp_path / "in"
    write_parallel(folder, "a", "de en", range(1_000))
    write_parallel(folder, "b", "en fr", reversed(range(500, 1_500)))
    texts = [text_of(folder, "a", "de en"), text_of(folder, "b", "en fr")]
    sets = written(tmp_path, "out", texts, [("de", "en"), ("en", "fr")])
    german, french = place_of(sets, ("de", "en"), 1), place_of(sets, ("en", "fr"), 0)
    shared = german.keys() & french.keys()
    assert len(shared) == 500 and all(german[text] == french[text] for text in shared)


def test_nothing_of_held_out_sets_is_in_training(tmp_path):
    """Whatever side they share, with pairs of very different sizes, from end to end."""
    folder = tmp_path / "in"
    write_parallel(folder, "large", "de en", range(3_000))
    write_parallel(folder, "small", "de fr", range(2_500, 3_000))
    write_parallel(folder, "test", "en fr", range(40))
    found = Found([
        text_of(folder, "large", "de en"), text_of(folder, "small", "de fr"),
        text_of(folder, "test", "en fr", "test"),
    ])  # fmt: skip
    run = tmp_path / "run"
    make_sets(found, [("de", "en"), ("de", "fr")], sizes_of(found.texts), run, None)
    clean(*split_description(run, "text"), run, 1)
    sets = sets_in(run / "data" / "work" / "tokens")
    trained = {(split, ("de", other)) for split in SPLITS for other in ("en", "fr")}
    assert set(sets) == trained | {("test", ("en", "fr"))}
    sentences = {}
    for (split, pair), rows in sets.items():
        for language, column in zip(pair, zip(*rows, strict=True), strict=True):
            sentences.setdefault((split, language), set()).update(column)
    for language in ("de", "en", "fr"):
        of = [sentences.get((split, language), set()) for split in SPLITS]
        assert of[2] and not any(a & b for a, b in combinations(of, 2)), language


def test_parallel_text_gives_its_untrained_pairs_a_test_set(tmp_path):
    write_parallel(tmp_path / "in", "all", "de en fr", range(600))
    pairs = [("de", "en"), ("en", "fr")]
    sets = written(tmp_path, "out", [text_of(tmp_path / "in", "all", "de en fr")], pairs)
    assert [split for split, pair in sets if pair == ("de", "fr")] == ["test"]
    assert {row[0] for row in sets["test", ("de", "fr")]} == {
        row[0] for row in sets["test", ("de", "en")]
    }


def test_a_held_out_set_has_clean_rows_and_each_sentence_once(tmp_path):
    folder = write_parallel(tmp_path / "in", "a", "de en", range(400))
    lines = {code: [*read_lines(folder / f"a.{code}")] for code in ("de", "en")}
    for code in lines:  # each English sentence again, beside another German one or none
        spoiled = [sentence(code, n + (5_000 if code == "de" else 0)) for n in range(400)]
        empty = [""] * 400 if code == "de" else spoiled
        (folder / f"a.{code}").write_text("\n".join([*lines[code], *spoiled, *empty]) + "\n")
    sets = written(tmp_path, "out", [text_of(folder, "a", "de en")], [("de", "en")])
    for split in ("valid", "test"):
        rows = sets[split, ("de", "en")]
        assert rows and all(row[0] and row[1] for row in rows)
        assert len({row[1] for row in rows}) == len(rows)


def test_sets_of_the_user_are_taken_as_they_are(tmp_path):
    folder = tmp_path / "in"
    write_parallel(folder, "valid", "de en fr", range(5))
    write_parallel(folder, "test", "de en fr sv", range(5, 12))
    named = {"valid": "de en fr", "test": "de en fr sv"}
    texts = [text_of(folder, split, languages, split) for split, languages in named.items()]
    (tmp_path / "out").mkdir()
    written = copy_sets(texts, [("de", "en")], ("de", "en", "fr"), tmp_path / "out")
    assert written == [
        ("valid", ("de", "en"), 5),
        *(("test", pair, 7) for pair in (("de", "en"), ("de", "fr"), ("en", "fr"))),
    ]


def test_too_little_to_hold_any_out(tmp_path, refused):
    with refused.raised("too little", names="it has 199"):
        plan_splits([("de", "en")], {("de", "en"): 199}, (), tmp_path / "shares.json")
    given = {(split, ("de", "en")) for split in ("valid", "test")}
    assert not plan_splits([("de", "en")], {("de", "en"): 5}, given, tmp_path / "s.json").shares


def test_text_that_repeats_one_sentence_is_refused(tmp_path, refused):
    for code in ("de", "en"):
        (tmp_path / f"a.{code}").write_text("ein satz\n" * 300)
    text = text_of(tmp_path, "a", "de en")
    with refused.raised("one sentence", names="de-en; no valid set"):
        make_sets(Found([text]), [("de", "en")], sizes_of([text]), tmp_path / "run", None)
    assert not (tmp_path / "run" / "split").exists()


def test_more_files_than_a_process_may_usually_open(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    codes = ("de", "en", "fr", "cs", "fi", "it", "lt", "pl")  # 28 pairs in 168 files
    for code in codes:
        write_parallel(tmp_path, "a", code, range(300))
    text = text_of(tmp_path, "a", " ".join(codes))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
        make_sets(Found([text]), text.pairs(), sizes_of([text]), tmp_path / "run", None)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (128, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_pivot():
    assert pivot_of([("de", "en"), ("de", "fr")]) == "de"
    assert pivot_of([("de", "en")]) == "en" and pivot_of([("deu", "eng")]) == "eng"
    assert pivot_of([("de", "fr")]) == "de"
