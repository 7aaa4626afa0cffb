"""One set through fairseq's `main`, made quick, against the same as it is."""

import pytest
from fairseq import options
from fairseq_cli import preprocess
from support.covering import mostly_full
from support.data import kept_logging

from tdo_plugin.data.binarization import binarise

KNOWN = [f"▁{number}" for number in range(70_000)]


@pytest.mark.parametrize("pieces", mostly_full([50, 70_000]))
def test_the_bytes_are_fairseqs(tmp_path, pieces):
    dictionary = tmp_path / "dict.txt"
    dictionary.write_text("".join(f"{piece} 1\n" for piece in KNOWN[:pieces]), encoding="utf-8")
    lines = ["▁1 ▁2", "", "▁49 ▁nowhere <unk> ▁0", "  ▁3\u3000▁4\x0b▁5\u2028▁6  ", " ".join(KNOWN)]
    for language in ("en", "de"):
        (tmp_path / f"text.{language}").write_text("\n".join(lines), encoding="utf-8")
    words = ["-s", "en", "-t", "de", "--validpref", str(tmp_path / "text"), "--destdir"]
    words += [str(tmp_path / "stock"), "--srcdict", str(dictionary), "--tgtdict", str(dictionary)]
    with kept_logging():
        preprocess.main(options.get_preprocessing_parser().parse_args(words))
        binarise("valid", ("en", "de"), tmp_path / "text", dictionary, tmp_path / "own")
    (tmp_path / "stock" / "preprocess.log").unlink()
    files = {path.name: path.read_bytes() for path in (tmp_path / "own").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "stock").iterdir()}
    assert {"valid.en-de.en.bin", "valid.en-de.de.idx", "dict.de.txt"} < set(files)


def test_what_fairseq_refuses_is_one_line(refused, tmp_path):
    with refused.raised("no files", names="fairseq-preprocess"):
        binarise("test", ("en", "de"), tmp_path / "no", tmp_path / "no.txt", tmp_path / "out")
