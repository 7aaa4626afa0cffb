"""What is refused when a training begins."""

from support.data import CROSS_ENTROPY, TAG, TASK, TDO, TRAIN, built, databin, generation

ROBT = ("--task", "tdo_robt", *TASK, *TRAIN, *TDO, *CROSS_ENTROPY)


def test_refused(refused):
    refused.rows(
        """
        fairseq-train {data} {robt} --encoder-langtok tgt
            --tdo-adapter-dim 4                             :: --tdo-adapter-dim
            --robt-languages de,it,xx                       :: it, xx
            --robt-languages ""                             :: --robt-languages
            --robt-languages de                             :: --robt-languages
            --robt-languages de,de                          :: --robt-languages
            --robt-targets listed                           :: --robt-languages
            --lang-pairs en-de,de-en --robt-languages fr,es --robt-targets listed :: fr, es
            --robt-share 0                                  :: --robt-share
            --robt-share 1.5                                :: --robt-share
            --robt-max-length-ratio 0                       :: --robt-max-length-ratio
            --robt-max-length-ratio inf                     :: --robt-max-length-ratio
            --robt-beam 0                                   :: --robt-beam
            --robt-start-update -1                          :: --robt-start-update
            --monolingual folder                            :: --monolingual
            --back-translated folder                        :: --back-translated
            --extra-data "{'mined': '/nowhere'}"            :: --extra-data
            --ddp-backend fully_sharded                     :: --no-reshard-after-forward
            --encoder-langtok src                           :: --encoder-langtok
        fairseq-train {data} {robt}                         :: --encoder-langtok
            --decoder-langtok --lang-tok-replacing-bos-eos  :: --lang-tok-replacing-bos-eos
        """,
        data=databin(),
        robt=ROBT,
    )


def test_a_training_in_one_language_only():
    flags = [word.replace("en,de,fr,es", "en,de") for word in ROBT]
    flags[flags.index("--lang-pairs") + 1] = "en-de,de-en"
    task, *_ = built(*flags, *TAG)
    assert len(task.step_hooks) == 1


def test_options_are_looked_at_in_training_alone():
    flags = ("--robt-share", "7", "--robt-languages", "xx")
    generation("--task", "tdo_robt", *TASK, *TAG, "-s", "de", "-t", "fr", *flags)
