"""Text that is not split, dealt out by a hash of each sentence pair."""

import gzip

import pytest

from tdo_plugin.corpora.splitting import HeldOutSizes, split_folder
from tdo_plugin.errors import UserError

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
    parts = [numbers(tmp_path / "out", part) for part in ("train", "valid", "test")]
    assert [len(part) for part in parts] == [88, 7, 5]
    assert sorted(number for part in parts for number in part) == list(range(100))
    assert parts[0] == sorted(parts[0])
    for part in ("train", "valid", "test"):
        german = numbers(tmp_path / "out", part, "de-en.de")
        assert german == numbers(tmp_path / "out", part)


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
    assert (
        min(numbers(tmp_path / "out", "valid", "en") + numbers(tmp_path / "out", "test", "en")) > 14
    )


@pytest.mark.parametrize(
    ("prepare", "sizes", "message"),
    [
        (lambda folder: write(folder, range(10)), SIZES, "must leave training text"),
        (lambda folder: write(folder, range(12)), SIZES, "must leave training text"),
        (lambda folder: write(folder, [1]), SIZES, "no more than 1 different"),
        (lambda folder: write(folder, range(9), "train.en-de"), SIZES, "has train.en-de.de"),
        (lambda folder: write(folder, range(9), "test.en-de"), SIZES, "has test.en-de.de"),
        (
            lambda folder: write(folder, range(90), languages=("en", "pt-BR", "pt_BR")),
            SIZES,
            "one file of a corpus for each language; it has corpus.pt-BR and corpus.pt_BR",
        ),
        (
            lambda folder: write(folder, range(90), languages=("en", "De", "de", "de.gz")),
            SIZES,
            "it has corpus.De and corpus.de",
        ),
        (lambda folder: write(folder, range(9), "notes", ("txt", "md")), SIZES, "text to split"),
        (lambda folder: write(folder, [1]), HeldOutSizes(test=-1), "`--split-test` must be at"),
        (
            lambda folder: write(write(folder, range(90)), range(89), languages=("de",)),
            SIZES,
            r"`corpus.de` must have as many lines as corpus.en; it ends after 89",
        ),
    ],
)
def test_what_cannot_be_split(tmp_path, prepare, sizes, message):
    with pytest.raises(UserError, match=message):
        split(prepare(tmp_path / "text"), tmp_path / "out", sizes)


def test_text_without_a_translation_is_told(tmp_path):
    folder = write(write(tmp_path / "text", range(90)), range(90), "alone", ("en",))
    message, _ = split(folder, tmp_path / "out")
    assert message == "not used, since another language's file is missing: alone.en"


def test_more_than_two_languages_where_pairs_are_wanted(tmp_path):
    folder = write(tmp_path / "text", range(90), languages=("en", "de", "fr"))
    with pytest.raises(UserError, match="has text of de,en,fr, which tdo prepare --from can split"):
        split(folder, tmp_path / "out", pairs=True)


def test_a_link_to_nothing_is_no_text(tmp_path):
    folder = write(tmp_path / "text", range(90))
    (folder / "corpus.fr").symlink_to(tmp_path / "gone")
    with pytest.raises(UserError, match=r"text in files; corpus\.fr is a broken link"):
        split(folder, tmp_path / "out")
