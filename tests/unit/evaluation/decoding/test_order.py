"""Directions are dealt out so that what takes long is begun early."""

from tdo_plugin.evaluation.decoding.decoding_jobs import Job
from tdo_plugin.evaluation.decoding.order import Waiting


def take(waiting: Waiting) -> str:
    job = waiting.first()
    waiting.begun(job)
    return job.direction


def test_each_target_language_comes_up_once_then_the_slowest():
    directions = ("en-fr", "de-fr", "cs-fr", "en-de", "fr-de", "cs-de", "de-en", "fr-en")
    jobs = {direction: Job(direction, 100) for direction in directions}
    waiting = Waiting(jobs.values())
    assert [take(waiting) for _ in range(3)] == ["en-fr", "en-de", "de-en"]
    waiting.took(jobs["en-fr"], 10.0)
    assert take(waiting) in ("de-fr", "fr-de", "fr-en")  # all expected to take as long as French
    waiting.took(jobs["en-de"], 30.0)
    assert take(waiting) in ("fr-de", "cs-de")
    waiting.took(jobs["de-en"], 1.0)
    assert take(waiting) in ("fr-de", "cs-de")
    assert take(waiting) == "cs-fr"
    assert take(waiting) == "fr-en"
    assert not waiting


def test_more_sentences_are_longer():
    waiting = Waiting([Job("en-de", 5), Job("fr-de", 50), Job("cs-de", 20)])
    assert [take(waiting) for _ in range(3)] == ["fr-de", "cs-de", "en-de"]


def test_a_first_step_puts_out_the_pivot():
    steps = [Job("de-fr", 9, pivot="en", into_pivot=True), Job("de-cs", 9), Job("fr-cs", 9)]
    waiting = Waiting(steps)
    first = take(waiting)
    waiting.took(steps[0], 5.0)
    assert {first, take(waiting)} == {"de-fr", "de-cs"}
