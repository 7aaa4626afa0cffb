"""The stock commands of `tdo translate --engine fairseq`, and how they are run; none is."""

import ast
from argparse import Namespace
from pathlib import Path

import pytest
import torch
from support.data import BOTH_WAYS
from support.trainings import saved

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.evaluation.decoding import fairseq_engine
from tdo_plugin.evaluation.decoding.decoding_jobs import Job
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.evaluation.decoding.fairseq_engine import FairseqWork, generate_all
from tdo_plugin.evaluation.outputs import is_whole, read_texts

STOCK = "translation_multi_simple_epoch"


def work_of(checkpoint: str, data: DataFolder, out: Path, *flags: str, **options) -> FairseqWork:
    decoding = DecodingOptions((Path(checkpoint),), **options)
    return FairseqWork(decoding, data, out, flags=flags)


def parsed(words: list[str]) -> Namespace:
    """A command as fairseq-generate reads it."""
    from fairseq import options

    assert words[0] == "fairseq-generate"
    return options.parse_args_and_arch(options.get_generation_parser(), words[1:])


@pytest.mark.parametrize("task", ["tdo_translation", STOCK])
@pytest.mark.parametrize(
    "settings",
    [
        {"encoder_langtok": "tgt"},
        {"decoder_langtok": True, "lang_tok_replacing_bos_eos": True, "lang_tok_style": "mbart"},
        {
            "encoder_langtok": "src",
            "langtoks_specs": ["main", "mono_dae"],
            "left_pad_source": False,
        },
    ],
)
def test_the_task_is_the_checkpoints(task, settings, data, tmp_path):
    checkpoint = saved(tmp_path / "m.pt", task, **settings)
    args = parsed(work_of(checkpoint, data, tmp_path).command("de-fr", "cpu"))
    assert (args.task, args.source_lang, args.target_lang) == (task, "de", "fr")
    assert list(args.langs) == ["en", "de", "fr", "es"]
    for name, value in settings.items():
        read = getattr(args, name)
        assert (str(read) == str(value)) or list(read) == value, name
    limits = ast.literal_eval(args.model_overrides)
    assert limits == dict.fromkeys(("max_source_positions", "max_target_positions"), 1024)


def test_no_value_of_a_checkpoint_is_a_flag(data, tmp_path):
    evil = "--user-dir=/evil"
    settings = {"encoder_langtok": evil, "source_noise": evil, "back_translated_tag": evil}
    checkpoint = saved(tmp_path / "m.pt", evil, **settings)
    words = work_of(checkpoint, data, tmp_path).command("de-fr", "cpu")
    assert sum(evil in word for word in words) == 4
    assert not any(word.startswith(evil) for word in words)


def test_limits_of_learned_positions_stay(data, tmp_path):
    path = tmp_path / "m.pt"
    task = Namespace(task=STOCK, lang_pairs=BOTH_WAYS, lang_tok_style="multilingual")
    task.max_source_positions = 40
    for learned, words in ((False, ["{'max_source_positions': 1024}"]), (True, [])):
        model = {"_name": "transformer", "encoder_learned_pos": learned}
        torch.save({"model": {}, "cfg": {"task": task, "model": model}}, path)
        command = work_of(str(path), data, tmp_path).command("de-fr", "cpu")
        assert [word for word in command if "positions" in word] == words


def test_the_search_is_what_the_pool_is_told(data, tmp_path, refused):
    checkpoint = saved(tmp_path / "m.pt")
    usual = parsed(work_of(checkpoint, data, tmp_path).command("de-fr", "cuda:1"))
    assert (usual.beam, usual.max_tokens, usual.batch_size) == (4, 4000, None)
    assert not (usual.cpu or usual.fp16 or usual.bf16)
    options = {
        **{"beam": 3, "length_penalty": 0.5, "max_len_a": 1.2, "max_len_b": 10, "min_len": 2},
        **{"unk_penalty": 2.0, "no_repeat_ngram_size": 2, "temperature": 0.7, "seed": 5},
        **{"sampling": True, "sampling_topk": 7, "max_tokens": None, "batch_size": 9},
    }
    others = {"length_penalty": "lenpen", "unk_penalty": "unkpen"}
    work = work_of(checkpoint, data, tmp_path, "--nbest", "3", **options, precision="bf16")
    args = parsed(work.command("de-fr", "cpu"))
    for name, value in options.items():
        assert getattr(args, others.get(name, name)) == value, name
    assert args.cpu and args.bf16 and args.nbest == 3
    for unknown, names in (
        ({"penalty_form": "gnmt"}, "--lenpen-form"),
        ({"precision": "int8"}, "--precision"),
    ):
        with refused.raised(names, names=names):
            work_of(checkpoint, data, tmp_path, **unknown).command("de-fr", "cpu")


@pytest.fixture
def commands(monkeypatch):
    """Commands that write a test set's output, but for those into German, which fail."""
    seen = []

    def run(self, words, log, environment, lock=None):
        seen.append((environment, lock))
        source, target = (words[words.index(f"--{side}-lang") + 1] for side in ("source", "target"))
        folder = Path(words[words.index("--results-path") + 1])
        assert folder.is_dir() and not list(folder.iterdir())
        log.write_text(f"{source}\nno memory\n\n")
        lines = [f"H-{number}\t-0.{number}\t▁{target} ▁{number}" for number in (2, 0, 1)]
        (folder / "generate-test.txt").write_text("\n".join(lines) + "\n")
        return 3 if target == "de" else 0

    monkeypatch.setattr(fairseq_engine.Commands, "run", run)
    monkeypatch.setattr(fairseq_engine, "program", lambda words: words)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    return seen


def test_commands_are_dealt_out_and_a_failure_costs_its_direction(commands, data, tmp_path):
    checkpoint = saved(tmp_path / "m.pt", langs=["en", "de", "fr"])
    work = work_of(checkpoint, data, tmp_path / "out")
    jobs = [Job(direction, 3, "key") for direction in ("de-fr", "fr-de", "de-en")]
    half = work.folder("de-fr")
    half.mkdir(parents=True)
    (half / "generate-test.txt").write_text("half of it")
    devices = ["cuda:0", "cuda:1", "cuda:0"]
    first, *events = generate_all([jobs], work, devices, {"A": "b"}, lock=5)
    assert first.kind == "ready" and first.checkpoints[0]["path"] == checkpoint
    kinds = {event.job.direction: event.kind for event in events}
    assert kinds == {"de-fr": "done", "fr-de": "failed", "de-en": "done"}
    (text,) = (event.text for event in events if event.text)
    assert "`fairseq-generate` must succeed; it ended with 3: no memory (full log: " in text
    shown = sorted(environment["CUDA_VISIBLE_DEVICES"] for environment, _ in commands)
    assert shown == ["4", "4", "6"] and {lock for _, lock in commands} == {5}
    assert all(environment["A"] == "b" for environment, _ in commands)
    assert read_texts(work.out, "de-fr").hypotheses == ("fr 0", "fr 1", "fr 2")
    assert is_whole(work.out, "de-fr", "key") and not (work.out / "fr-de.json").exists()


def test_what_is_not_whole_or_not_known_is_a_failure(commands, data, tmp_path):
    work = work_of(saved(tmp_path / "m.pt", langs=["en", "fr"]), data, tmp_path / "out")
    jobs = [Job("en-fr", 4), Job("de-fr", 3)]
    events = list(generate_all([jobs], work, ["cpu"], {}))[1:]
    texts = {event.job.direction: event.text for event in events}
    assert "must have 4 hypotheses; it has 3, sentence 3 is missing" in texts["en-fr"]
    assert "must know the languages of de-fr; it knows en, fr, but not de" in texts["de-fr"]
    assert "CUDA_VISIBLE_DEVICES" not in commands[0][0]
