"""One rule for names from outside, wherever one is given or read."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
from support.commands import told
from support.prepared import prepared

from tdo_plugin.data.databin import read_data_folder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.groups import user_groups
from tdo_plugin.evaluation.systems import read_systems
from tdo_plugin.launch.slurm_script import job_script
from tdo_plugin.launch.training import Machine
from tdo_plugin.launch.training_config import read_config
from tdo_plugin.models.extension import Extension
from tdo_plugin.names import check_languages, check_line, check_titles, is_language

NO_LANGUAGES = ("../x", "", "a b", "pt-BR", "x/y", "1a", "_a", "é", "a\n", "a.b", "..", None, 3)
NO_LINES = ("a\nb", "a\rb", "a\0", "\x1b[0m", "a\u2028b", "a\u2029", "a\x85b", "\x0b", "\x0c", "\t")
NO_TITLES = ("", "  ", "a\nb", "\x1b[0m", "x" * 201, None, 3)


@pytest.mark.parametrize("name", ["de", "pt_BR", "zh_Hans", "eng_Latn", "x1"])
def test_names_of_languages(name):
    assert is_language(name)
    check_languages([name], "`--x`")


@pytest.mark.parametrize("name", NO_LANGUAGES)
def test_what_is_no_language(name):
    assert not is_language(name)
    with pytest.raises(UserError, match=r"^`--x` must name languages by letters") as raised:
        check_languages(["de", name], "`--x`")
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("text", NO_LINES)
def test_what_ends_a_line(text):
    with pytest.raises(UserError, match="`--x` must be without control characters") as raised:
        check_line("--x", "fine", text)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("name", NO_TITLES)
def test_what_is_no_title(name):
    with pytest.raises(UserError, match="`--x` must have names") as raised:
        check_titles([name], "`--x`")
    assert len(str(raised.value)) < 200


def test_titles_may_be_in_any_script():
    check_titles(["TDO, seed 1", "w/o InstruCL", "日本語", "می‌شود"], "`--x`")


# --- where they are given --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../x", "pt-BR", "a b"])
def test_new_languages_of_a_model(name):
    with pytest.raises(UserError, match="`--languages` must name languages by letters"):
        Extension(("en", "de"), (name,))


def test_systems_and_groups(tmp_path: Path):
    with pytest.raises(UserError, match="`NAME=DIR` must have names without control characters"):
        read_systems([f"a\nb={tmp_path}"], None, None, [])
    with pytest.raises(UserError, match="`--group` must have names without control characters"):
        user_groups(["a\x1b=*"], ["de-en"])


# --- where they are read ---------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder's lists, to be changed."""
    for name in ("langs.txt", "pairs.txt", "test-pairs.txt", "prepared.json"):
        shutil.copy(prepared().root / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("langs.txt", "../../x", "must name languages by letters"),
        ("pairs.txt", "../../x-en", "must have directions such as"),
        ("pairs.txt", "en", "must have directions such as"),
        ("test-pairs.txt", "en-../../x", "must have directions such as"),
        ("shards.txt", "../../x", "must list folders such as shard2"),
        ("shards.txt", "/etc", "must list folders such as shard2"),
    ],
)
def test_lists_of_a_data_folder(folder: Path, name: str, line: str, message: str, capsys):
    with (folder / name).open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    with pytest.raises(UserError, match=message) as raised:
        read_data_folder(folder)
    assert f"`{folder / name}`" in str(raised.value)
    assert line in str(raised.value)
    _, errors = told(capsys, "inspect", folder, code=2)
    assert message in errors


@pytest.mark.parametrize("place", ["systems", "groups", "directions", "baseline"])
def test_names_of_a_scores_file(tmp_path: Path, place: str):
    from tdo_plugin.evaluation.score_sheet import (
        Comparison,
        DirectionScores,
        ScoreSheet,
        SystemScores,
        as_json,
    )
    from tdo_plugin.evaluation.sheet_reading import read_sheet

    rows = (DirectionScores("de-en", 3, {"bleu": 1.0}),)
    sheet = ScoreSheet((SystemScores("a", rows),), ("de-en",), {"all": ("de-en",)}, ("bleu",))
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(as_json(sheet)), encoding="utf-8")
    assert read_sheet(path).systems[0].name == "a"
    bad = "../x\n"
    changed = {
        "systems": {"systems": (SystemScores(bad, rows),)},
        "groups": {"groups": {bad: ("de-en",)}},
        "directions": {"directions": ("de-en", bad)},
        "baseline": {"comparisons": (Comparison("a", bad, "bleu", {}, {}, {}),)},
    }[place]
    content = {**as_json(sheet), **json.loads(json.dumps(changed, default=dataclasses.asdict))}
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UserError, match=r"^`\w+(.json)?` must") as refused:
        read_sheet(path)
    assert "\n" not in str(refused.value)


# --- where they are written ------------------------------------------------------------------


@pytest.mark.parametrize("text", NO_LINES)
def test_nothing_adds_a_line_to_a_script(text: str):
    machine = Machine(1, 1, None, 1)
    cases = (("name", Path(text), ()), (text, Path("f"), ()), ("name", Path("f"), (text,)))
    for name, place, options in cases:
        with pytest.raises(UserError, match="must be without control characters"):
            job_script(name, machine, place, [["tdo"]], options)
    with pytest.raises(UserError, match="`--lr` must be without control characters"):
        job_script("name", machine, Path("f"), [["tdo", f"--lr={text}"]], ())


def test_a_folder_with_a_line_break_is_refused_by_its_option(tmp_path, capsys):
    config = tmp_path / "some.conf"
    config.write_text("--task tdo_translation\n--arch tdo_transformer\n--max-tokens 4000\n")
    words = ("train", config, prepared().root, "--slurm", "--gpus", "1", "--dry-run")
    _, errors = told(capsys, *words, "--save-dir", "a\ntouch b\n#", code=2)
    assert "`--save-dir` must be without control characters" in errors
    assert errors.count("\n") == 1
    _, errors = told(capsys, *words, "--sbatch=--time=1\ntouch b", code=2)
    assert "`--sbatch` must be without control characters" in errors


# --- settings that run code ------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ["--user-dir evil", "--user-dir=evil", "--lr 1 --user-dir evil", "'--user-dir' evil"],
)
def test_a_config_imports_nothing(tmp_path: Path, line: str):
    path = tmp_path / "some.conf"
    path.write_text(f"--arch tdo_transformer\n{line}\n")
    with pytest.raises(UserError, match=r"`some.conf` line 2 must be without `--user-dir`"):
        read_config(path)


@pytest.mark.parametrize("line", ["--lr '1\x0b2'", "--lr 1\x1b", "--lr 1\u20282"])
def test_a_config_has_no_control_characters(tmp_path: Path, line: str):
    path = tmp_path / "some.conf"
    path.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"line 1 must be without control characters"):
        read_config(path)


def test_a_config_may_be_of_windows_and_have_tabs(tmp_path: Path):
    path = tmp_path / "some.conf"
    path.write_bytes(b"--lr\t1\r\n\r\n# a note\r\n--max-tokens 40\r\n")
    assert read_config(path).flags == {"--lr": ["1"], "--max-tokens": ["40"]}
