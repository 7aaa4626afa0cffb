"""Multi30k's two forms, and its files' checksums."""

import gzip
import hashlib
import io
import urllib.request
from pathlib import Path

import pytest

from tdo_plugin.data import multi30k
from tdo_plugin.data.textfolder import read_lines, read_text_folder
from tdo_plugin.errors import UserError

SIZE = 7


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files named as upstream's with other content, and the checksums of that content."""
    folder = tmp_path / "raw"
    folder.mkdir()
    sums = {}
    for name in multi30k.SHA256:
        split, language, _ = name.split(".")
        lines = [f"{language} {split} {number}" for number in range(SIZE)]
        content = gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0)
        (folder / name).write_bytes(content)
        sums[name] = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(multi30k, "SHA256", sums)
    return folder


def test_shared_form_gives_every_pair_every_sentence(raw: Path, tmp_path: Path) -> None:
    sizes = multi30k.write_corpus(raw, tmp_path / "text", "shared")
    assert sizes == {"en-de": SIZE, "en-fr": SIZE, "en-cs": SIZE}
    folder = read_text_folder(tmp_path / "text")
    assert len(list(folder.test_pairs())) == 6
    assert list(read_lines(tmp_path / "text" / "train.en-fr.fr"))[2] == "fr train 2"


def test_disjoint_form_shares_no_english_sentence(raw: Path, tmp_path: Path) -> None:
    sizes = multi30k.write_corpus(raw, tmp_path / "text", "disjoint")
    assert sizes == {"en-de": 3, "en-fr": 2, "en-cs": 2}
    english = [
        line
        for other in multi30k.OTHERS
        for line in read_lines(tmp_path / "text" / f"train.en-{other}.en")
    ]
    assert len(set(english)) == len(english) == SIZE
    for other in multi30k.OTHERS:
        pair = zip(
            read_lines(tmp_path / "text" / f"train.en-{other}.en"),
            read_lines(tmp_path / "text" / f"train.en-{other}.{other}"),
            strict=True,
        )
        assert all(a.split()[1:] == b.split()[1:] for a, b in pair)


def test_an_english_sentence_that_recurs_stays_in_its_pair(raw: Path, tmp_path: Path) -> None:
    lines = ["a", "b", "c", "d", "a", "b", "c"]  # counted by thirds, a to c would be in two pairs
    (raw / "train.en.gz").write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    multi30k.write_corpus(raw, tmp_path / "text", "disjoint")
    parts = [
        sorted(read_lines(tmp_path / "text" / f"train.en-{other}.en")) for other in multi30k.OTHERS
    ]
    assert parts == [["a", "a", "d"], ["b", "b"], ["c", "c"]]
    assert list(read_lines(tmp_path / "text" / "train.en-de.de")) == [
        f"de train {number}" for number in (0, 3, 4)
    ]


def test_changed_and_missing_files_are_refused(raw: Path) -> None:
    multi30k.check(raw)
    (raw / "val.cs.gz").write_bytes(b"changed")
    with pytest.raises(UserError, match=r"val\.cs\.gz` must have the SHA-256"):
        multi30k.check(raw)
    (raw / "val.cs.gz").unlink()
    with pytest.raises(UserError, match=r"must hold val\.cs\.gz"):
        multi30k.check(raw)


def test_download_fetches_what_is_missing_and_checks_it(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO((raw / url.rsplit("/", 1)[1]).read_bytes())

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    target = tmp_path / "copy"
    multi30k.download(target, say=lambda url: None)
    multi30k.check(target)
    multi30k.download(target, say=lambda url: None)
    assert len(asked) == len(multi30k.SHA256)
    (target / "val.cs.gz").unlink()
    (raw / "val.cs.gz").write_bytes(b"changed on the way")
    with pytest.raises(UserError, match="must have the SHA-256"):
        multi30k.download(target, say=lambda url: None)
    assert not list(target.glob("val.cs.gz*"))


def test_no_connection_is_one_line(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(url: str, timeout: float) -> io.BytesIO:
        raise OSError("no route")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    with pytest.raises(UserError, match="no route"):
        multi30k.download(tmp_path / "copy", say=lambda url: None)
