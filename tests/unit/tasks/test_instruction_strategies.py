"""The five instruction strategies of the TDO paper's appendix B, as text of actual batches."""

from unittest import mock

import pytest
import torch
from support.data import NUMBERS, TAG, TASK, TDO, TRAIN, built, generation, iterate

from tdo_plugin.models.tdo_transformer import TargetStream

REPLACING = ("--decoder-langtok", "--lang-tok-replacing-bos-eos")
# flags; then source, previous output, target of a sentence; then what decoding starts from
STRATEGIES = {
    1: (TAG, "{T} {x} </s>", "</s> {y}", "{y} </s>", "</s>"),
    2: (("--decoder-langtok",), "{x} </s>", "</s> {T} {y}", "{T} {y} </s>", "</s> {T}"),
    3: (REPLACING, "{x} </s>", "{T} {y}", "{y} </s>", "{T}"),
    4: ((*TAG, "--decoder-langtok"), *("{T} {x} </s>", "</s> {T} {y}", "{T} {y} </s>", "</s> {T}")),
    5: (
        ("--encoder-langtok", "src", "--decoder-langtok"),
        *("{S} {x} </s>", "</s> {T} {y}", "{T} {y} </s>", "</s> {T}"),
    ),
}
EN_DE = dict(zip(NUMBERS["en"].split(), NUMBERS["de"].split(), strict=True))


def text(dictionary, tokens):
    return " ".join(dictionary[int(token)] for token in tokens if token != dictionary.pad())


@pytest.mark.parametrize("task_name", ["tdo_translation", "translation_multi_simple_epoch"])
@pytest.mark.parametrize("number", STRATEGIES)
def test_training_batch(number, task_name):
    flags, *patterns, _ = STRATEGIES[number]
    task_flags = ("--task", task_name, *TASK[:2], "--lang-pairs", "en-de,de-en")
    task, _, _ = built(*task_flags, *TRAIN, *TDO, *flags)
    seen = set()
    for batch in iterate(task, "train"):
        net_input = batch["net_input"]
        columns = (net_input["src_tokens"], net_input["prev_output_tokens"], batch["target"])
        for row in zip(*columns, strict=True):
            source, previous, target = (text(task.source_dictionary, tokens) for tokens in row)
            words = [word for word in source.split() if word.isalpha()]
            pair = ("en", "de") if words[0] in EN_DE else ("de", "en")
            mapping = EN_DE if pair[0] == "en" else {b: a for a, b in EN_DE.items()}
            parts = {
                "x": " ".join(words),
                "y": " ".join(mapping[word] for word in words),
                "S": f"__{pair[0]}__",
                "T": f"__{pair[1]}__",
            }
            assert [source, previous, target] == [pattern.format(**parts) for pattern in patterns]
            seen.add(pair)
    assert len(seen) == 2


@pytest.mark.parametrize("number", STRATEGIES)
def test_generation_starts_from(number):
    flags, *_, start = STRATEGIES[number]
    args, task = generation(
        *("--task", "tdo_translation", *TASK, *flags, "-s", "de", "-t", "fr"),
        *("--beam", "1", "--max-len-b", "4"),
    )
    _, model, _ = built("--task", "tdo_translation", *TASK, *TRAIN, *TDO, *flags)
    batch = iterate(task, "test", max_sentences=3)[0]
    generator = task.build_generator([model], args)
    fed, original = [], TargetStream.forward

    def forward(stream, prev_output_tokens, *args, **kwargs):
        fed.append(prev_output_tokens.clone())
        return original(stream, prev_output_tokens, *args, **kwargs)

    with mock.patch.object(TargetStream, "forward", forward):
        hypotheses = task.inference_step(generator, [model], batch)
    prefix = [task.target_dictionary.index(word) for word in start.format(T="__fr__").split()]
    assert fed[0].tolist() == [prefix[:1]] * len(fed[0])
    assert fed[len(prefix) - 1].tolist() == [prefix] * len(fed[0])
    tag = task.target_dictionary.index("__fr__")
    first_words = torch.stack([beams[0]["tokens"][0] for beams in hypotheses])
    assert number not in (2, 4, 5) or first_words.eq(tag).all()
    # in the text the tag is left out
    assert tag in generator.symbols_to_strip_from_output or number == 1
