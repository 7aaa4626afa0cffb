"""Two workers over gloo train as one process that accumulates two batches does."""

import pytest
from support.auxiliary_data import monolingual
from support.commands import logged, succeed, two_workers
from support.data import TAG, TASK, TDO, TRAIN, databin
from support.trainings import assert_same_parameters

FLAGS = (
    *(databin(), *TASK, *TAG, *TRAIN, *TDO, "--tdo-positions", "continuous", "--dropout", "0"),
    *("--criterion", "label_smoothed_cross_entropy_terms", "--label-smoothing", "0.1"),
    *("--source-noise", "bert", "--reconstruction-schedule", "exponential"),
    *("--reconstruction-tau", "4", "--max-update", "4"),
)


def compared(folder, means, *flags):
    """Both trainings with these flags, and what the two workers log."""
    one = succeed("train", *FLAGS, *flags, "--update-freq", "2", "--save-dir", folder / "one")
    two = two_workers(*FLAGS, *flags, save_dir=folder / "two")
    for key in ("loss", "noise_picked", *means):
        assert len(logged(two, key)) == 4
        assert logged(two, key) == pytest.approx(logged(one, key), abs=2e-3), key
    for key in ("loss", "reconstruction_nll_loss"):
        assert logged(two, f"valid_{key}") == pytest.approx(logged(one, f"valid_{key}"), abs=2e-3)
    assert_same_parameters(folder / "one", folder / "two", rtol=1e-3, atol=1e-3)
    return two


@pytest.mark.long
def test_all_loss_terms_and_back_translation(tmp_path):
    """With a generator that hardly moves, since two batches are two steps of it or one."""
    means = ("instrucl_loss", "tpdm_d", "tpdm_g", "tpdm_p", "lexical_nll_loss")
    output = compared(
        *(tmp_path, (*means, "reconstruction_nll_loss", "robt_fr", "robt_dropped")),
        *("--task", "tdo_robt", "--loss-terms", "instrucl,tpdm,reconstruction,lexical"),
        *("--instrucl-scale", "per-token", "--tdo-tpdm-layer", "1", "--lexical-updates", "4"),
        *("--tpdm-generator-lr", "1e-12"),
    )
    assert min(logged(output, "robt_dropped")) < 1, "nothing was translated back"


@pytest.mark.full
def test_text_of_one_language(tmp_path):
    """Some of whose batches have no source at all."""
    more = ("--loss-terms", "reconstruction", "--monolingual", monolingual())
    flags = ("--task", "tdo_translation", *more, "--max-tokens", "60")
    compared(tmp_path, ("reconstruction_nll_loss",), *flags)
