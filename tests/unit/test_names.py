"""One rule for names from outside, wherever one is given or read."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.prepared import prepared
from support.score_sheets import SCORES, sheet, system

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.groups import user_groups
from tdo_plugin.evaluation.score_sheet import Comparison, as_json
from tdo_plugin.evaluation.sheet_reading import read_sheet
from tdo_plugin.evaluation.systems import read_systems
from tdo_plugin.launch.slurm_script import job_script
from tdo_plugin.launch.training import Machine
from tdo_plugin.launch.training_config import read_config
from tdo_plugin.names import check_languages, check_line, check_titles, is_language

NO_LANGUAGES = ("../x", "", "a b", "pt-BR", "x/y", "1a", "_a", "é", "a\n", "a.b", "..", None, 3)
NO_LINES = ("a\nb", "a\rb", "a\0", "\x1b[0m", "a\u2028b", "a\u2029", "a\x85b", "\x0b", "\x0c", "\t")
NO_TITLES = ("", "  ", "a\nb", "\x1b[0m", "x" * 201, None, 3)


def test_names_of_languages_and_titles_which_may_be_in_any_script():
    languages = ["de", "pt_BR", "zh_Hans", "eng_Latn", "x1"]
    assert all(map(is_language, languages))
    check_languages(languages, "`--x`")
    check_titles(["TDO, seed 1", "w/o InstruCL", "日本語", "می‌شود"], "`--x`")


def test_what_is_no_name(refused):
    for name in NO_LANGUAGES:
        assert not is_language(name)
        with refused.raised(f"language {name!r}", names="--x"):
            check_languages(["de", name], "`--x`")
    for text in NO_LINES:
        with refused.raised(f"line {text!r}", names="--x"):
            check_line("--x", "fine", text)
    for name in NO_TITLES:
        with refused.raised(f"title {name!r:.9}", names="--x"):
            check_titles([name], "`--x`")
    with refused.raised("a group", names="--group"):
        user_groups(["a\x1b=*"], ["de-en"])
    with refused.raised("a system", names="NAME=DIR"):
        read_systems(["a\nb=."], None, None, [])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("langs.txt", "pairs.txt", "test-pairs.txt", "prepared.json"):
        shutil.copy(prepared().root / name, tmp_path / name)
    return tmp_path


def test_lists_of_a_data_folder(folder: Path, refused):
    for name, line in (
        ("langs.txt", "../../x"),
        ("pairs.txt", "../../x-en"),
        ("pairs.txt", "en"),
        ("test-pairs.txt", "en-../../x"),
        ("shards.txt", "../../x"),
        ("shards.txt", "/etc"),
    ):
        path = folder / name
        before = path.read_text(encoding="utf-8") if path.exists() else None
        path.write_text(f"{before or ''}{line}\n", encoding="utf-8")
        refused("inspect", folder, names=path, case=f"{name}: {line}")
        path.unlink() if before is None else path.write_text(before, encoding="utf-8")


@pytest.mark.parametrize("place", ["systems", "groups", "directions", "baseline"])
def test_names_of_a_scores_file(tmp_path: Path, place: str, refused):
    path, bad = tmp_path / "scores.json", "../x\n"
    path.write_text(json.dumps(as_json(sheet())), encoding="utf-8")
    assert read_sheet(path).systems[0].name == "plain"
    changed = {
        "systems": {"systems": (replace(system("plain"), name=bad),)},
        "groups": {"groups": {bad: ("en-de",)}},
        "directions": {"directions": (*SCORES, bad)},
        "baseline": {"comparisons": (Comparison("few", bad, "bleu", {}, {}, {}),)},
    }[place]
    path.write_text(json.dumps(as_json(sheet(**changed))), encoding="utf-8")
    with refused.raised(place, names="must"):
        read_sheet(path)


@pytest.mark.parametrize("text", NO_LINES)
def test_nothing_adds_a_line_to_a_script(text: str):
    for name, place, command, options in (
        ("name", Path(text), ["tdo"], ()),
        (text, Path("f"), ["tdo"], ()),
        ("name", Path("f"), ["tdo"], (text,)),
        ("name", Path("f"), ["tdo", f"--lr={text}"], ()),
    ):
        with pytest.raises(UserError, match="must be without control characters"):
            job_script(name, Machine(1, 1, None, 1), place, [command], options)


def test_a_folder_with_a_line_break_is_refused_by_its_option(tmp_path, refused):
    config = tmp_path / "some.conf"
    config.write_text("--task tdo_translation\n--arch tdo_transformer\n--max-tokens 4000\n")
    words = ("train", config, prepared().root, "--slurm", "--gpus", "1", "--dry-run")
    refused(*words, "--save-dir", "a\ntouch b\n#", names="--save-dir")
    refused(*words, "--sbatch=--time=1\ntouch b", names="--sbatch")


def test_a_config_imports_nothing_and_has_no_control_characters(tmp_path: Path, refused):
    path = tmp_path / "some.conf"
    for line, names in (
        ("--user-dir evil", "--user-dir"),
        ("--user-dir=evil", "--user-dir"),
        ("--lr 1 --user-dir evil", "--user-dir"),
        ("'--user-dir' evil", "--user-dir"),
        ("--lr '1\x0b2'", "control characters"),
        ("--lr 1\x1b", "control characters"),
        ("--lr 1\u20282", "control characters"),
    ):
        path.write_text(f"--arch tdo_transformer\n{line}\n", encoding="utf-8")
        with refused.raised(repr(line), names):
            read_config(path)
