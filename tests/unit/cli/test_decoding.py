"""What hypotheses depend on."""

from dataclasses import replace
from pathlib import Path

from tdo_plugin.cli.decoding import settings_of
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions


def test_the_size_of_a_batch_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(b"a model")
    searched = DecodingOptions((path,), max_tokens=100)
    assert settings_of(searched) == settings_of(replace(searched, max_tokens=200, batch_size=3))
    assert settings_of(searched) != settings_of(replace(searched, beam=2))
    assert settings_of(searched) != settings_of(replace(searched, seed=7))


def test_checkpoints_count_by_their_content(tmp_path: Path) -> None:
    first, second = tmp_path / "first.pt", tmp_path / "second.pt"
    for path in (first, second):
        path.write_bytes(b"a model")
    options = DecodingOptions((first,))
    assert settings_of(options) == settings_of(replace(options, checkpoints=(second,)))
    second.write_bytes(b"another")
    assert settings_of(options) != settings_of(replace(options, checkpoints=(second,)))
