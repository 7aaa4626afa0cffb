"""Config files: includes, the last line wins, what is not understood is refused."""

import re
from pathlib import Path

import pytest

from tdo_plugin.launch.training_config import Config, read_config, with_lines


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.conf").write_text(text)
    return folder / "main.conf"


def test_the_file_that_the_documents_show(tmp_path, root):
    text = (root / "docs" / "reproduce" / "experiments.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```\n(include small.conf .*?)```$", text, re.M | re.S)
    write(tmp_path, small="--arch tdo_transformer\n--lr 1\n")
    config = read_config(write(tmp_path, main=shown))
    assert (config.gpus, config.precision, config.directions) == (8, "bf16", "en-*")
    assert config.flags == {"--arch": ["tdo_transformer"], "--lr": ["0.0005"]}


def test_later_lines_replace_earlier_ones(tmp_path):
    path = write(
        tmp_path,
        base="gpus 8\nprecision fp16\n--lr 0.1 # a remark\n--adam-betas '(0.9, 0.98)'\n--flag\n",
        main="# head\ninclude base.conf\n\n--lr 0.2\nprecision bf16\n",
    )
    config = read_config(path)
    assert (config.gpus, config.precision, config.directions) == (8, "bf16", "*")
    assert config.words() == ["--lr", "0.2", "--adam-betas", "(0.9, 0.98)", "--flag"]
    assert config.integer("--max-tokens", 4000) == 4000
    path = write(tmp_path, base="directions de-*", main="include base.conf\ndirections en-*,fr-en")
    config = read_config(path)
    assert (config.directions, config.words()) == ("en-*,fr-en", [])


@pytest.mark.parametrize(
    "config",
    [
        Config(),
        Config(
            {"--betas": ["(0.9, 0.98)"], "--flag": [], "--x": ["#", "a'b"]}, 8, "bf16", "en-*,fr-en"
        ),
    ],
)
def test_its_lines_read_as_the_config(tmp_path, config):
    (tmp_path / "main.conf").write_text("\n".join(config.lines()))
    assert read_config(tmp_path / "main.conf") == config


def test_lines_are_put_behind_a_config_which_stays(tmp_path, refused):
    write(tmp_path, more="--seed 2\n")
    config = Config({"--lr": ["1"], "--a": []})
    longer = with_lines(config, ["--lr 2  # more", "include more.conf"], tmp_path / "x", "`x` y")
    assert longer.flags == {"--lr": ["2"], "--a": [], "--seed": ["2"]}
    assert config.flags == {"--lr": ["1"], "--a": []}
    with refused.raised("no flag", names="`x` y"):
        with_lines(config, ["lr 2"], tmp_path / "x", "`x` y")


def test_it_may_be_of_windows_with_a_byte_order_mark_and_tabs(tmp_path):
    path = tmp_path / "windows.conf"
    path.write_bytes(b"\xef\xbb\xbf--lr\t1\r\n\r\n# a note\r\n--max-tokens 40\r\n")
    assert read_config(path).flags == {"--lr": ["1"], "--max-tokens": ["40"]}


def test_what_is_wrong_is_named(tmp_path, refused):
    write(tmp_path, a="include main.conf")
    for text, names in (
        ("include none.conf", "`include` in main.conf"),
        ("include a.conf", "main.conf → a.conf → main.conf"),
        ("gpus none", "`gpus`"),
        ("gpus 0", "`gpus`"),
        ("precision fp8", "line 1"),
        ("--lr 1\nlr 0.1", "line 2"),
        ("--lr '0.1", "line 1"),
        ("directions", "line 1"),
        ("--lr 1\n# caf\xe9\n", "its byte 13, in line 2, is 0xe9"),
    ):
        (tmp_path / "main.conf").write_bytes(text.encode("latin-1"))
        with refused.raised(text, names):
            read_config(tmp_path / "main.conf")
    with refused.raised("no file", names="none.conf"):
        read_config(tmp_path / "none.conf")
