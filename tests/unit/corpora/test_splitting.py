"""Text that is not split, dealt out by a hash of each sentence pair."""

import gzip

from tdo_plugin.corpora.splitting import HeldOutSizes, split_folder

SIZES = HeldOutSizes(valid=7, test=5)


def write(folder, numbers, name="corpus", languages=("en", "de")):
    numbers = [*numbers]
    folder.mkdir(exist_ok=True)
    for language in languages:
        lines = "".join(f"{language[:2]} {number}\n" for number in numbers)
        path = folder / f"{name}.{language}"
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(lines.encode()))
        else:
            path.write_text(lines, encoding="utf-8")
    return folder


def split(folder, out, sizes=SIZES, **options):
    out.mkdir()
    messages = []
    split_folder(folder, out, sizes, "TEXT", messages.append, **options)
    return messages


def numbers(out, part, name="de-en.en"):
    path = out / f"{part}.{name}"
    return [int(line.split()[1]) for line in path.read_text(encoding="utf-8").splitlines()]


def test_sides_stay_parallel_and_nothing_is_lost(tmp_path):
    (message,) = split(write(tmp_path / "text", range(100)), tmp_path / "out")
    assert message.startswith("de-en: 88 train, 7 valid, 5 test of corpus.de, corpus.en")
    parts, german = (
        [numbers(tmp_path / "out", part, f"de-en.{side}") for part in ("train", "valid", "test")]
        for side in ("en", "de")
    )
    assert parts == german
    assert [len(part) for part in parts] == [88, 7, 5]
    assert sorted(number for part in parts for number in part) == list(range(100))
    assert parts[0] == sorted(parts[0])


def test_names_and_order_do_not_matter(tmp_path):
    split(write(tmp_path / "a", range(100)), tmp_path / "x")
    write(tmp_path / "b", reversed(range(60, 100)), "Europarl.de-en")
    write(tmp_path / "b", range(60), "Books.en-de", ("en.gz", "de.gz"))
    split(tmp_path / "b", tmp_path / "y")
    for part in ("train", "valid", "test"):
        assert set(numbers(tmp_path / "x", part)) == set(numbers(tmp_path / "y", part))


def test_adding_text_moves_nothing_into_a_held_out_set(tmp_path):
    split(write(tmp_path / "a", range(100)), tmp_path / "x")
    split(write(tmp_path / "b", range(130)), tmp_path / "y")
    for part in ("valid", "test"):
        before, after = (set(numbers(tmp_path / out, part)) for out in ("x", "y"))
        assert after - before <= set(range(100, 130))
        assert before - after <= set(numbers(tmp_path / "y", "train"))
    assert set(numbers(tmp_path / "x", "train")) <= set(numbers(tmp_path / "y", "train"))


def test_repeated_pairs_fall_together(tmp_path):
    write(tmp_path / "text", [*range(50), *range(50)])
    write(tmp_path / "text", range(50), "Europarl.de-en")
    for language in ("en", "de"):  # but for case and spaces
        path = tmp_path / "text" / f"corpus.{language}"
        path.write_text(path.read_text().replace(f"{language} 1\n", f" {language.upper()}  1\n"))
    (message,) = split(tmp_path / "text", tmp_path / "out")
    train, valid, test = (set(numbers(tmp_path / "out", p)) for p in ("train", "valid", "test"))
    assert not (train & valid or train & test or valid & test)
    assert len(numbers(tmp_path / "out", "test")) == 5
    assert "24 repetitions of held-out pairs are left out" in message
    assert len(numbers(tmp_path / "out", "train")) == 3 * len(train)


def test_more_than_two_languages_and_blank_sides(tmp_path):
    folder = write(tmp_path / "text", range(30), languages=("en", "de", "fr"))
    (folder / "corpus.fr").write_text("\n" * 15 + "".join(f"fr {n}\n" for n in range(15, 30)))
    split(folder, tmp_path / "out")
    assert len(numbers(tmp_path / "out", "train", "en")) == 18
    held_out = [n for part in ("valid", "test") for n in numbers(tmp_path / "out", part, "en")]
    assert min(held_out) > 14


def test_what_cannot_be_split(refused, tmp_path):
    def check(names, folder, sizes=SIZES, **options):
        with refused.raised(names, names=names):
            split(folder, tmp_path / f"{folder.name}-out", sizes, **options)

    for number, (names, lines, *options) in enumerate(
        [
            ("no more than 10 different", range(10)),
            ("leave training text; de-en has none left", range(12)),
            ("no more than 1 different", [1]),
            ("has train.en-de.de", range(9), "train.en-de"),
            ("has test.en-de.de", range(9), "test.en-de"),
            ("corpus.pt-BR and corpus.pt_BR", range(90), "corpus", ("en", "pt-BR", "pt_BR")),
            ("corpus.De and corpus.de", range(90), "corpus", ("en", "De", "de", "de.gz")),
            ("text to split", range(9), "notes", ("txt", "md")),
        ]
    ):
        check(names, write(tmp_path / f"{number}", lines, *options))
    check("--split-test", write(tmp_path / "sizes", [1]), HeldOutSizes(test=-1))
    unequal = write(write(tmp_path / "unequal", range(90)), range(89), languages=("de",))
    check("ends after 89", unequal)
    three = write(tmp_path / "three", range(90), languages=("en", "de", "fr"))
    check("text of de,en,fr", three, pairs=True)
    two = write(tmp_path / "two", range(90), languages=("en", "de", "fr"))
    check("only one set of more", write(two, range(90), "other", ("en", "de", "it")))
    link = write(tmp_path / "link", range(90))
    (link / "corpus.fr").symlink_to(tmp_path / "gone")
    check("corpus.fr is a broken link", link)


def test_text_without_a_translation_is_told(tmp_path):
    folder = write(write(tmp_path / "text", range(90)), range(90), "alone", ("en",))
    message, _ = split(folder, tmp_path / "out")
    assert message == "not used, since another language's file is missing: alone.en"
