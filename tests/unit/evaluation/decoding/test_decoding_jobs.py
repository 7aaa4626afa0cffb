"""What is done for a direction, and what counts as done; the model is a stand-in."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tdo_plugin.data.databin import MARK, DataFolder
from tdo_plugin.evaluation.decoding.decoding_jobs import plan
from tdo_plugin.evaluation.outputs import (
    has_others_hypotheses,
    read_summary,
    read_texts,
    remove_translations,
    write_how,
)


class Upper:
    """Translates by capital letters and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def of(self, direction: str) -> "Upper":
        return self

    def translate_lines(
        self, direction: str, lines: list[str], progress: object, prepared: bool = False
    ) -> list[SimpleNamespace]:
        self.asked.append((direction, len(lines)))
        texts = [f"{line.upper()} {direction}" for line in lines]
        return [
            SimpleNamespace(text=text, pieces="▁" + text.replace(" ", " ▁"), score=-1.0)
            for text in texts
        ]

    def translate_test(self, direction: str, progress: object) -> list[SimpleNamespace]:
        return self.translate_lines(direction, ["a", "b", "c"], progress)

    def perplexity(self, direction: str) -> float | None:
        self.asked.append((direction, 0))
        return 7.0 if direction == "en-de" else None


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def do(data: DataFolder, out: Path, *directions: str, **options: object) -> list[tuple[str, int]]:
    out.mkdir(exist_ok=True)
    model = Upper()
    stages, failures = plan(data, out, directions, "settings", **options)
    assert not failures
    for job in (job for stage in stages for job in stage):
        if not job.is_whole(out):
            job.perform(model, data, out, lambda _: None)
        assert job.is_whole(out)
    return model.asked


def test_what_is_there_is_not_done_again(data, out):
    assert do(data, out, "en-de", "de-fr") == [("en-de", 3), ("de-fr", 3)]
    assert do(data, out, "en-de", "de-fr") == []
    assert read_texts(out, "de-fr").hypotheses == ("A de-fr", "B de-fr", "C de-fr")
    # a direction without one of its files is not whole
    for suffix in ("src", "ref", "hyp", "jsonl", "json"):
        (out / f"de-fr.{suffix}").unlink()
        assert do(data, out, "en-de", "de-fr") == [("de-fr", 3)], suffix


def test_another_reference_or_other_settings_are_another_result(data, out):
    do(data, out, "en-de", "de-fr")
    reference = data.root / "reference" / "test.fr"
    reference.write_text(reference.read_text(encoding="utf-8").swapcase(), encoding="utf-8")
    assert do(data, out, "en-de", "de-fr") == [("de-fr", 3)]
    (stage,), _ = plan(data, out, ["en-de"], "other settings")
    assert not stage[0].is_whole(out)


def test_other_pieces_are_another_result_where_they_do_not_follow_from_the_text(data, out):
    (data.root / MARK).write_text('{"form": {"casing": "truecased", "plain_references": true}}')
    for language in data.languages:
        (data.root / "pieces" / f"test.{language}").write_text("▁The\n" * 3)
    do(data, out, "en-de", "de-fr", "fr-de", pivot="en")
    (data.root / "pieces" / "test.de").write_text("▁the\n" * 3)
    again = do(data, out, "en-de", "de-fr", "fr-de", pivot="en")
    assert [direction for direction, _ in again] == ["de-en", "en-fr"]


def test_perplexity_is_added_to_what_is_there(data, out):
    do(data, out, "en-de", "de-fr")
    assert do(data, out, "en-de", "de-fr", perplexity=True) == [("en-de", 0), ("de-fr", 0)]
    assert read_summary(out, "en-de")["perplexity"] == 7.0
    assert read_summary(out, "de-fr")["perplexity"] is None
    assert do(data, out, "en-de", "de-fr", perplexity=True) == []


def test_a_pivots_first_step_is_shared_and_uses_the_test_set(data, out):
    (data.root / "reference" / "test.de-en.de").write_text("x\ny\nz\n")
    requests = do(data, out, "de-fr", "fr-de", "en-de", pivot="en")
    # de-en has a source of its own, so de-fr's is translated as text
    assert requests == [("de-en", 3), ("fr-en", 3), ("en-fr", 3), ("en-de", 3), ("en-de", 3)]
    assert read_texts(out, "fr-de").hypotheses[0] == "A FR-EN en-de"


def test_a_missing_side_costs_its_directions_only(data, tmp_path):
    (data.root / "reference" / "test.fr").unlink()
    stages, failures = plan(data, tmp_path, ["en-de", "fr-en"], "")
    assert [job.direction for job in stages[0]] == ["en-de"]
    assert failures == [f"fr-en: `DATA` must have reference/test.fr; {data.root} does not"]


def test_sides_that_differ_are_told_before_anything_is_translated(data, tmp_path, refused):
    (data.root / "reference" / "test.fr").write_text("une ligne\n")
    model = Upper()
    (stage,), _ = plan(data, tmp_path, ["de-fr"], "")
    with refused.raised("three lines for one", names="the reference, 1; it has 3"):
        stage[0].perform(model, data, tmp_path, lambda _: None)
    assert not model.asked


@pytest.mark.parametrize("suffix", ["src", "ref", "hyp", "jsonl", "json"])
def test_a_kill_between_two_files_leaves_nothing_that_looks_like_someone_elses(
    data, out, monkeypatch, suffix
):
    def write_text(path, lines):
        if path.suffix == f".{suffix}":
            raise KeyboardInterrupt
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("tdo_plugin.evaluation.outputs.write_text", write_text)
        do(data, out, "de-fr")
    assert not has_others_hypotheses(out)
    assert do(data, out, "de-fr") == [("de-fr", 3)]


def test_only_own_files_are_removed(data, out):
    do(data, out, "en-de", "de-fr", pivot="en")
    write_how(out, {})
    for name in ("scores.json", "notes.jsonl", "fr-en.hyp"):
        (out / name).write_text("mine")
    assert has_others_hypotheses(out)
    remove_translations(out)
    left = sorted(path.name for path in out.rglob("*") if path.is_file())
    assert left == ["fr-en.hyp", "notes.jsonl", "scores.json"]
