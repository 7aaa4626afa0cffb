"""Command lines that begin with a checkpoint: what is taken from it, and what is refused."""

from argparse import Namespace

import pytest
import torch
from fairseq import options
from support.data import BOTH_WAYS, TASK, TDO, databin
from support.trainings import LIMITS, saved

from tdo_plugin.errors import UserError

TRAINED = {  # by option of fairseq's, what is not its usual value, and another than that
    "encoder_langtok": ("tgt", ("--encoder-langtok", "src")),
    "lang_tok_style": ("mbart", ("--lang-tok-style", "multilingual")),
    "left_pad_source": (False, ("--left-pad-source", "True")),
    "left_pad_target": (True, ("--left-pad-target", "False")),
    "source_noise": ("bert", ("--source-noise", "none")),
    "back_translated_tag": ("<bt>", ("--back-translated-tag", "<b>")),
    "langtoks_specs": (["main", "mined"], ("--langtoks-specs", "main")),
    "langs": (["en", "de", "fr", "es"], ("--langs", "de,en,fr,es")),
}


def test_what_differs_is_refused(refused, tmp_path):
    for name, (value, words) in TRAINED.items():
        path = saved(tmp_path / "a.pt", **{name: value})
        for restore in (None, "--finetune-from-model", "--restore-file"):
            with refused.raised(" ".join(words), words[0]):
                training(restore, path, *words) if restore else decoding(path, *words)
    for flag in ("--decoder-langtok", "--lang-tok-replacing-bos-eos"):
        with refused.raised(flag, flag):
            decoding(saved(tmp_path / "a.pt"), flag)
        name = flag[2:].replace("-", "_")
        decoding(saved(tmp_path / "a.pt", **{name: True}), flag)


def parsed(parser, *words):
    return options.parse_args_and_arch(parser, input_args=[str(databin()), *words])


def decoding(path, *words, task="tdo_translation"):
    parser = options.get_generation_parser()
    return parsed(parser, "--task", task, "--path", path, "-s", "en", "-t", "de", *words)


def training(*words, task="tdo_translation"):
    parser = options.get_training_parser()
    return parsed(parser, "--task", task, *TDO, "--lang-pairs", BOTH_WAYS, *words)


def test_what_is_left_out_is_taken(tmp_path):
    chosen = {name: value for name, (value, _) in TRAINED.items()}
    path = saved(tmp_path / "a.pt", decoder_langtok=True, **chosen)
    for args in (decoding(path), training("--finetune-from-model", path)):
        assert args.langtoks == {"main": ("tgt", "tgt")}
        assert args.decoder_langtok is True
        for name, value in {**chosen, **LIMITS}.items():
            assert str(getattr(args, name)) == str(value), name
    assert decoding(path).lang_pairs == BOTH_WAYS


def test_the_same_may_be_said_again(tmp_path):
    path = saved(tmp_path / "a.pt", encoder_langtok="tgt", langtoks={"main": ("tgt", None)})
    again = decoding(path, "--encoder-langtok", "tgt", *TASK, "--left-pad-source", "1")
    assert again.langtoks == {"main": ("tgt", None)}
    decoding(path, "--langtoks", '{"main": ("tgt", None)}')
    with pytest.raises(UserError, match="`--encoder-langtok` must be the checkpoint's, tgt; it is"):
        decoding(path, "--langtoks", '{"main": ("src", None)}')


def test_what_text_does_not_pass_through_is_free(tmp_path):
    path = saved(tmp_path / "a.pt", encoder_langtok="tgt")
    words = ("--beam", "7", "--max-tokens", "99", "--truncate-source", "--lang-pairs", "en-de")
    args = decoding(path, *words)
    assert (args.beam, args.max_tokens, args.truncate_source) == (7, 99, True)
    assert args.lang_pairs == "en-de"


def test_limits_of_decoding_may_be_lower_but_not_higher(tmp_path):
    path = saved(tmp_path / "a.pt")
    assert decoding(path, "--max-source-positions", "8").max_source_positions == 8
    with pytest.raises(UserError) as raised:
        decoding(path, "--max-source-positions", "99")
    line = str(raised.value)
    assert line.startswith("`--max-source-positions` must be at most the checkpoint's 40; it is 99")
    # the advice is good
    overrides = line.split("`")[3].split('"')[1]
    words = ("--max-source-positions", "99", "--model-overrides", overrides)
    assert decoding(path, *words).max_source_positions == 99


def test_limits_of_a_training_are_free_where_positions_are_computed(tmp_path):
    path = saved(tmp_path / "a.pt")
    args = training("--finetune-from-model", path, "--max-source-positions", "99")
    assert (args.max_source_positions, args.max_target_positions) == (99, 50)
    path = saved(tmp_path / "a.pt", tdo_position_embedding="learned")
    for more in (training, decoding):
        begin = ("--restore-file", path) if more is training else (path,)
        with pytest.raises(UserError, match=r"`--max-source-positions` must be .*checkpoint's 40"):
            more(*begin, "--max-source-positions", "99")


def test_shares_of_noise_come_with_the_noise(tmp_path):
    path = saved(tmp_path / "a.pt", source_noise="bert", source_noise_rate=0.3)
    assert training("--restore-file", path).source_noise_rate == 0.3
    args = training("--restore-file", path, "--source-noise-rate", "0.1")
    assert (args.source_noise, args.source_noise_rate) == ("bert", 0.1)


def test_the_symbol_of_denoising_without_its_data(tmp_path):
    path = saved(tmp_path / "a.pt", extra_data={"mono_dae": "/nowhere"})
    assert decoding(path).extra_data == {"mono_dae": ""}
    assert training("--restore-file", path).extra_data is None


def test_what_a_training_goes_on_with_comes_first(tmp_path):
    """As fairseq has it: its own last checkpoint, before the one that it once began with."""
    begun = saved(tmp_path / "a.pt", encoder_langtok="src")
    words = ("--finetune-from-model", begun, "--save-dir", str(tmp_path))
    assert training(*words).encoder_langtok == "src"
    saved(tmp_path / "checkpoint_last.pt", encoder_langtok="tgt")
    assert training(*words).encoder_langtok == "tgt"
    assert training("--save-dir", str(tmp_path / "new")).encoder_langtok is None


def test_members_of_an_ensemble_must_agree(refused, tmp_path):
    first, second = saved(tmp_path / "a.pt", encoder_langtok="tgt"), saved(tmp_path / "b.pt")
    assert decoding(f"{first}:{first}").encoder_langtok == "tgt"
    with refused.raised("one with another tag", names="`--encoder-langtok` is tgt for "):
        decoding(f"{first}:{second}")


def test_fairseq_own_task_and_ours(refused, tmp_path):
    """The rule holds where one of the two is ours; between fairseq's own nothing changes."""
    stock = "translation_multi_simple_epoch"
    ours, theirs = saved(tmp_path / "a.pt"), saved(tmp_path / "b.pt", stock)
    option = ("--encoder-langtok", "src")
    for path, task in ((ours, stock), (theirs, "tdo_translation"), (ours, "tdo_robt")):
        with refused.raised("src where it is none", names="`--encoder-langtok` must be"):
            decoding(path, *option, task=task)
    args = decoding(theirs, *option, *TASK, task=stock)
    assert (args.encoder_langtok, args.langtoks) == ("src", None)


def test_checkpoints_of_other_tasks_say_nothing(tmp_path):
    path = tmp_path / "a.pt"
    cfg = {"task": Namespace(task="translation"), "model": {"_name": "transformer"}}
    torch.save({"model": {}, "cfg": cfg}, path)
    assert training("--finetune-from-model", str(path)).encoder_langtok is None
    assert training("--finetune-from-model", str(tmp_path)).encoder_langtok is None
