"""The benchmark of memory on many sentence pairs: its data, its command, what it reads."""

import os
from argparse import Namespace

import streaming

from tdo_compat.binarised import check_side


def test_its_data_is_valid_and_kept(tmp_path):
    folder = tmp_path / "100"
    streaming.make_data(folder, 100)
    sides = [check_side(str(folder / f"train.en-fr.{language}")) for language in ("en", "fr")]
    for side in sides:
        assert len(side.sizes) == 30
        assert (side.tokens[side.places // 2 + side.sizes - 1] == 2).all()
        assert side.sizes.min() >= 4
    written = (folder / "train.en-fr.en.bin").stat().st_mtime_ns
    streaming.make_data(folder, 100)
    assert (folder / "train.en-fr.en.bin").stat().st_mtime_ns == written


def test_its_commands(tmp_path):
    args = Namespace(epoch=10, loaders=2, updates=3)
    words = streaming.command(tmp_path, args, streaming.SYSTEMS["keyed"])
    assert "en-de,de-en,en-fr,fr-en,en-cs,cs-en" in words
    assert words[-2:] == ["--virtual-epoch-draw", "keyed"]
    streaming.make_text(tmp_path / "text", 7)
    assert (tmp_path / "text" / "train.de-en.de").read_text("utf-8").count("\n") == 7
    assert "--from-text" in streaming.text_command(tmp_path, tmp_path / "text", args)
    assert (tmp_path / "tiny.conf").read_text("utf-8").startswith("--task tdo_translation\n--enc")


def test_what_it_reads_of_a_process():
    sizes = dict(streaming._sizes(os.getpid()))
    assert set(sizes) == {"private", "mapped files", "proportional"}
    assert 0 < sizes["private"] < 100
