"""What is refused when a training begins."""

import pytest
from support.data import CROSS_ENTROPY, TAG, TASK, TDO, TRAIN, built, generation

from tdo_plugin.errors import UserError

ROBT = ("--task", "tdo_robt", *TASK, *TRAIN, *TDO, *CROSS_ENTROPY)
REFUSED = {
    "unknown language": (
        (*TAG, "--robt-languages", "de,it,xx"),
        "`--robt-languages` must be a subset of en, de, fr, es; it has it, xx",
    ),
    "adapters": (
        (*TAG, "--tdo-adapter-dim", "4"),
        "`--tdo-adapter-dim` must be 0 with --task tdo_robt and with --monolingual, .*; it is 4",
    ),
    "no language": ((*TAG, "--robt-languages", ""), "`--robt-languages` must be a subset of"),
    "one language": (
        (*TAG, "--robt-languages", "de"),
        "`--robt-languages` must have at least two languages, .*; it has de",
    ),
    "one language twice": ((*TAG, "--robt-languages", "de,de"), "at least two languages"),
    "some targets of no list": (
        (*TAG, "--robt-targets", "listed"),
        "`--robt-languages` must be set with --robt-targets listed; it is not",
    ),
    "no trained target": (
        (
            *(*TAG, "--lang-pairs", "en-de,de-en"),
            *("--robt-languages", "fr,es", "--robt-targets", "listed"),
        ),
        r"`--robt-languages` must have one of the trained targets \(de, en\) .*; it has fr, es",
    ),
    "no share": (
        (*TAG, "--robt-share", "0"),
        "`--robt-share` must be above 0 and at most 1; it is",
    ),
    "more than all": ((*TAG, "--robt-share", "1.5"), "`--robt-share` must be above 0"),
    "no length": (
        (*TAG, "--robt-max-length-ratio", "0"),
        "`--robt-max-length-ratio` must be positive and finite; it is 0.0",
    ),
    "endless": ((*TAG, "--robt-max-length-ratio", "inf"), "must be positive and finite; it is inf"),
    "no beam": ((*TAG, "--robt-beam", "0"), "`--robt-beam` must be at least 1; it is 0"),
    "before the start": (
        (*TAG, "--robt-start-update", "-1"),
        "`--robt-start-update` must be at least 0; it is -1",
    ),
    "text without a source": (
        (*TAG, "--monolingual", "folder"),
        "`--monolingual` must not be set with --task tdo_robt, .*; it is folder",
    ),
    "synthetic pairs": (
        (*TAG, "--back-translated", "folder"),
        "`--back-translated` must not be set with --task tdo_robt, .*; it is folder",
    ),
    "no tags": ((), "`--encoder-langtok` must be tgt, or --decoder-langtok on, .*; it is None"),
    "tags of the source": (
        ("--encoder-langtok", "src"),
        "`--encoder-langtok` must be tgt, or --decoder-langtok on, .*; it is src",
    ),
    "tags in place of ends": (
        ("--decoder-langtok", "--lang-tok-replacing-bos-eos"),
        "`--lang-tok-replacing-bos-eos` must be off with --task tdo_robt: .*; it is on",
    ),
    "more kinds of data": (
        (*TAG, "--extra-data", "{'mined': '/nowhere'}"),
        "`--extra-data` must not be set with --task tdo_robt",
    ),
    "parts of a model": (
        (*TAG, "--ddp-backend", "fully_sharded"),
        "`--no-reshard-after-forward` must be set with --task tdo_robt .*; it is not",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    flags, message = REFUSED[name]
    with pytest.raises(UserError, match=message) as raised:
        built(*ROBT, *flags)
    assert "\n" not in str(raised.value)


def test_a_training_in_one_language_only():
    flags = [word.replace("en,de,fr,es", "en,de") for word in ROBT]
    flags[flags.index("--lang-pairs") + 1] = "en-de,de-en"
    task, *_ = built(*flags, *TAG)
    assert len(task.step_hooks) == 1


def test_options_are_looked_at_in_training_alone():
    """A checkpoint's options do not matter where it translates."""
    flags = ("--robt-share", "7", "--robt-languages", "xx")
    generation("--task", "tdo_robt", *TASK, *TAG, "-s", "de", "-t", "fr", *flags)
