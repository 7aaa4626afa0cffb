"""What the config files were that files of experiments replaced, every system is still."""

import pytest
from support.configs import flat, named, old_configs

# What systems have beside what their files had, which scripts put behind these.
NOW = {
    "lang-pairs": "a direction that is part of the name, or the only one of the corpus",
    "num-workers": "0 where a batch is made in no time",
    "max-update": "the scale's, of the file of the small originals",
    **dict.fromkeys(
        (
            "eval-translation",
            "eval-subset",
            "eval-lid",
            "validate-interval-updates",
            "keep-interval-updates",
        ),
        "what figure 1 of the OPUS-100 paper takes, of its ROBT rows",
    ),
}


def test_each_is_a_system_with_equal_flags(subtests: pytest.Subtests) -> None:
    configs = old_configs()
    assert len(configs) == 137
    for old in configs:
        with subtests.test(config=old.file):
            assert flat(named(old.name, old.scale)) == old.flags | old.now
            assert set(old.now) <= set(NOW)
