"""What a release consists of: one version and date everywhere, and files that a wheel carries."""

import datetime
import re
import sys
from pathlib import Path

import pytest
import yaml
from support.option_reads import strings_of

from tdo_plugin import __version__, installation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CARRIED = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
RELEASE = re.compile(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", re.MULTILINE)
PLACE = re.compile(r"(?<![\w/.{}-])(?:benchmarks|configs|docs|scripts|tests)/[\w./-]*|\w+\.sh\b")


def citation() -> dict:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def test_version_and_date_are_the_same_everywhere() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    headings = re.findall(r"^## (.*)$", changelog, re.MULTILINE)
    releases = RELEASE.findall(changelog)
    assert headings == ["Unreleased", *(f"{version} - {date}" for version, date in releases)]
    dates = [datetime.date.fromisoformat(date) for _, date in releases]
    assert dates == sorted(dates, reverse=True)
    version, date = releases[0]
    assert version == __version__ == citation()["version"]
    assert date == str(citation()["date-released"])
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "tdo_plugin/__init__.py"


def test_licence_and_authors_are_the_same_everywhere() -> None:
    project, cited = PROJECT["project"], citation()
    assert project["license"] == cited["license"] == "MIT"
    (author,) = (author["name"] for author in project["authors"])
    (holder,) = (author["name"] for author in cited["authors"])
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert author == holder and text.startswith("MIT License") and f" {author}\n" in text
    assert all((ROOT / name).is_file() for name in (project["readme"], *project["license-files"]))


def test_five_papers_are_cited() -> None:
    papers = citation()["references"]
    families = [paper["authors"][0]["family-names"] for paper in papers]
    assert families == ["Qu", "Zhang", "Chen", "Gao", "Xie"]
    assert all(paper["title"] and paper["type"] for paper in papers)


@pytest.mark.parametrize("package", ["tdo_plugin", "tdo_compat"])
def test_no_message_names_a_file_that_a_wheel_lacks(package: str) -> None:
    places = {
        (path.name, place)
        for path in sorted((ROOT / package).rglob("*.py"))
        for text in strings_of(path)
        for place in PLACE.findall(text)
        if not any(place.startswith(carried) for carried in CARRIED)
    }
    own = {"slurm.sh"}  # a job's script, which `tdo train --slurm` writes
    assert {(name, place) for name, place in places if place not in own} == set()


def test_a_wheel_carries_what_is_there() -> None:
    for place, inside in CARRIED.items():
        assert (ROOT / place).exists(), place
        assert inside in (place, f"tdo_plugin/{installation.CARRIED.name}/{place}")
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    assert set(CARRIED) <= set(included)  # wheels may be built from a source distribution
    assert all((ROOT / place).exists() for place in included)


def test_this_clone_uses_its_own_files() -> None:
    assert installation.FILES == ROOT and not installation.CARRIED.exists()
    assert installation.CONSTRAINTS.is_file()
    pins = installation.CONSTRAINTS.read_text("utf-8")
    assert re.search(r"^torch==", pins, re.MULTILINE)


def test_workflows_name_the_commits_of_their_actions() -> None:
    workflows = list((ROOT / ".github" / "workflows").glob("*.yml"))
    used = [
        use for path in workflows for use in re.findall(r"uses: (\S+)", path.read_text("utf-8"))
    ]
    assert used
    for use in used:
        assert use.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use), use
