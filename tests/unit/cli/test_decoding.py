"""What hypotheses depend on."""

from dataclasses import replace

from tdo_plugin.cli.decoding import settings_of
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions


def test_the_content_of_checkpoints_counts_and_the_size_of_a_batch_does_not(tmp_path):
    first, second = tmp_path / "first.pt", tmp_path / "second.pt"
    for path in (first, second):
        path.write_bytes(b"a model")
    options = DecodingOptions((first,), max_tokens=100)
    settings = settings_of(options)
    assert settings == settings_of(replace(options, max_tokens=200, batch_size=3))
    assert settings == settings_of(replace(options, checkpoints=(second,)))
    second.write_bytes(b"another")
    for changes in ({"beam": 2}, {"seed": 7}, {"checkpoints": (second,)}):
        assert settings != settings_of(replace(options, **changes))
