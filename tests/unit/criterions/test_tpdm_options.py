"""What TPDM refuses, in one line each, before anything is trained."""

from fairseq import criterions, tasks
from support.data import databin, training_arguments
from support.tpdm_cases import BASE, GATED, SMALL, TOPOLOGIES, TPDM

MODEL = (*TOPOLOGIES["encoder-decoder"], *SMALL)


def test_refused(refused):
    refused.rows(
        """
        fairseq-train {data} {base} {model} {tpdm}
            --tpdm-temperature 0                                   :: --tpdm-temperature
            --tpdm-temperature -1                                  :: --tpdm-temperature
            --tpdm-temperature inf                                 :: --tpdm-temperature
            --tpdm-temperature 1e-40                               :: --tpdm-temperature
            --tpdm-gate-prior 0.2                                  :: --tpdm-gate-prior
            --tpdm-gate-weight 0.5                                 :: --tpdm-gate-weight
            --tpdm-gate-temperature 1                              :: --tpdm-gate-temperature
            --tpdm-disentangle-weight -1                           :: --tpdm-disentangle-weight
            --tpdm-position-weight inf                             :: --tpdm-position-weight
            --tpdm-position-weight 0 --tpdm-detach-positional      :: --tpdm-detach-positional
            --tpdm-disentangle-start 9 --max-update 9              :: --tpdm-disentangle-start
            --tpdm-disentangle-start -1                            :: --tpdm-disentangle-start
            --tpdm-disentangle-warmup -1                           :: --tpdm-disentangle-warmup
            --tpdm-generator-steps 0                               :: --tpdm-generator-steps
            --tpdm-generator-lr -0.1                               :: --tpdm-generator-lr
            --tpdm-gate-weight -2                                  :: --tpdm-gate-weight
            --tpdm-gate-prior 1                                    :: --tpdm-gate-prior
            --tdo-tpdm-layer 0                                     :: --tdo-tpdm-layer
            --task translation_multi_simple_epoch                  :: --task
        fairseq-train {data} {base} {model} {tpdm} {gated}
            --tpdm-gate-temperature 0                              :: --tpdm-gate-temperature
            --tpdm-disentangle-weight 0                            :: --tpdm-disentangle-weight
        fairseq-train {data} {base} {model} {tpdm} --tpdm-disentangle-weight 0
            --tpdm-generator-lr 0.1                                :: --tpdm-generator-lr
            --tpdm-new-generator                                   :: --tpdm-new-generator
            --tpdm-disentangle-start 2                             :: --tpdm-disentangle-start
            --tpdm-disentangle-warmup 2                            :: --tpdm-disentangle-warmup
            --tpdm-detach-positional                               :: --tpdm-detach-positional
            --tpdm-generator-steps 2                               :: --tpdm-generator-steps
            --tpdm-position-weight 0                               :: --tpdm-position-weight
        """,
        data=databin(),
        base=BASE,
        model=MODEL,
        tpdm=TPDM,
        gated=GATED,
    )


def test_models_that_the_criterion_alone_refuses(refused):
    for names, flags in (
        ("--tdo-tpdm-layer", (*MODEL, *TPDM, "--tdo-tpdm-layer", "3")),
        ("--arch", (*TPDM[:2], "--arch", "transformer_iwslt_de_en")),
    ):
        args = training_arguments(*BASE, *flags)
        with refused.raised(" ".join(flags[-2:]), names):
            criterions.build_criterion(args, tasks.setup_task(args))
