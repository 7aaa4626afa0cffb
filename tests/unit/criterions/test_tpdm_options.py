"""What TPDM refuses, in one line each, before anything is trained."""

import pytest
from fairseq import criterions, tasks
from support.data import TAG, TASK, TRAIN, training_arguments

from tdo_plugin.errors import UserError

BASE = ("--task", "tdo_translation", *TASK, *TRAIN, *TAG)
MODEL = (
    *("--arch", "tdo_encoder_decoder", "--tdo-encoder-layers", "2", "--tdo-model-dim", "8"),
    *("--tdo-heads", "2", "--tdo-ffn-dim", "12", "--tdo-tpdm-layer", "2"),
)
TPDM = ("--criterion", "label_smoothed_cross_entropy_tpdm")
GATED = ("--tdo-tpdm-gate", "relaxed-bernoulli", "--tpdm-gate-prior", "0.3")
WRONG = [
    *(
        (("--tpdm-temperature", text), "`--tpdm-temperature` must be at least 0.0001 and finite;")
        for text in ("0", "-1", "inf", "1e-40")
    ),
    ((*GATED, "--tpdm-gate-temperature", "0"), "`--tpdm-gate-temperature` must be at least 0.0001"),
    (
        ("--tpdm-gate-prior", "0.2"),
        "`--tpdm-gate-prior` must not be set if `--tdo-tpdm-gate` is none; it is 0.2",
    ),
    (("--tpdm-gate-weight", "0.5"), "`--tpdm-gate-weight` must not be set if `--tdo-tpdm-g"),
    (("--tpdm-gate-temperature", "1"), "`--tpdm-gate-temperature` must not be set if `--tdo-"),
    (
        ("--tpdm-disentangle-weight", "0", "--tpdm-generator-lr", "0.1"),
        "`--tpdm-generator-lr` must not be set if `--tpdm-disentangle-weight` is 0; it is 0.1",
    ),
    (
        ("--tpdm-disentangle-weight", "0", "--tpdm-new-generator"),
        "`--tpdm-new-generator` must not be set if `--tpdm-disentangle-weight` is 0; it is Tr",
    ),
    (("--tpdm-disentangle-weight", "-1"), "`--tpdm-disentangle-weight` must be finite and not neg"),
    (("--tpdm-position-weight", "inf"), "`--tpdm-position-weight` must be finite and not negative"),
    *(
        (
            ("--tpdm-disentangle-weight", "0", *flags),
            f"`{flags[0]}` must not be set if `--tpdm-disentangle-weight` is 0; it is ",
        )
        for flags in (
            ("--tpdm-disentangle-start", "2"),
            ("--tpdm-disentangle-warmup", "2"),
            ("--tpdm-detach-positional",),
            ("--tpdm-generator-steps", "2"),
        )
    ),
    (
        ("--tpdm-position-weight", "0", "--tpdm-detach-positional"),
        "`--tpdm-detach-positional` must not be set if `--tpdm-position-weight` is 0; it is",
    ),
    (
        ("--tpdm-disentangle-start", "9", "--max-update", "9"),
        "`--tpdm-disentangle-start` must be below --max-update, 9; it is 9",
    ),
    (("--tpdm-disentangle-start", "-1"), "`--tpdm-disentangle-start` must be 0 or more; it is -1"),
    (("--tpdm-disentangle-warmup", "-1"), "`--tpdm-disentangle-warmup` must be 0 or more; it is"),
    (("--tpdm-generator-steps", "0"), "`--tpdm-generator-steps` must be at least 1; it is 0"),
    (("--tpdm-generator-lr", "-0.1"), "`--tpdm-generator-lr` must be finite and not negative"),
    (("--tpdm-gate-weight", "-2"), "`--tpdm-gate-weight` must be finite and not negative"),
    (("--tpdm-gate-prior", "1"), "`--tpdm-gate-prior` must be above 0 and below 1; it is 1.0"),
    (
        ("--tpdm-disentangle-weight", "0", "--tpdm-position-weight", "0"),
        "`--tpdm-position-weight` must be positive if --tpdm-disentangle-weight is 0; it is 0.0",
    ),
    (("--tdo-tpdm-layer", "0"), "`--tdo-tpdm-layer` must be a source layer for TPDM; it is"),
    (
        ("--tdo-tpdm-layer", "3"),
        "`--tdo-tpdm-layer` must be from 1 to 2, the source layers of",
    ),
    (
        (*GATED, "--tpdm-disentangle-weight", "0"),
        "`--tpdm-disentangle-weight` must be positive if `--tdo-tpdm-gate` is not none; it is 0",
    ),
    (
        ("--task", "translation_multi_simple_epoch"),
        "`--task` must be tdo_translation or built on it for TPDM, whose generator is trained",
    ),
    (("--arch", "transformer_iwslt_de_en"), "`--arch` must be one of tdo_plugin's for TPDM"),
]


@pytest.mark.parametrize(("flags", "message"), WRONG, ids=lambda value: str(value[:2]))
def test_refused(flags, message):
    stock = "transformer_iwslt_de_en" in flags
    args = training_arguments(*BASE, *(() if stock else MODEL), *TPDM, *flags)
    task = tasks.setup_task(args)
    with pytest.raises(UserError) as caught:
        criterions.build_criterion(args, task)
    assert message in str(caught.value)
