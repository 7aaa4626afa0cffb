"""`tdo score-lm`: likelihoods of pairs and of text, against sums over a model's own logits."""

import functools
import json
import math
import shutil
from pathlib import Path

import pytest
import torch
from support.commands import told
from support.prepared import TEST_SENTENCES, prepared, trained
from support.translating import lines, translator_of

from tdo_plugin.data.segmentation import load_model
from tdo_plugin.evaluation.decoding.likelihood import perplexity
from tdo_plugin.evaluation.decoding.loading import load_models, task_of

SHORT = ("--max-update", "2")
CAUSAL = ("--arch", "tdo_causal_decoder_only", "--tdo-layers", "2", "--tdo-target-layer", "0")
CAUSAL += ("--tdo-adaptation-dim", "0", "--tdo-positions", "continuous", *SHORT)
TLM = ("--criterion", "label_smoothed_cross_entropy_tlm")
PREFIX = ("--tdo-source-attention", "prefix")


@pytest.fixture
def score(capsys):
    """Runs the command; gives back its output and its messages."""
    return functools.partial(told, capsys, "score-lm", prepared().root, "--cpu")


def scored(path):
    """The numbers of each sentence that the command wrote."""
    return [[*map(float, row.rstrip("\t").split("\t")[2:])] for row in lines(path)]


def by_hand(*paths, direction="en-de", prefix_length=0):
    """(log P(target | source), its tokens, log P(source), its tokens), sentence by sentence.

    Several models mix their probabilities; the target begins with `prefix_length` given symbols.
    """
    models, base = load_models(list(paths), prepared())

    def mixed(each):
        return (sum(output[0].softmax(-1) for output in each) / len(models)).log()

    task = task_of(base, direction)
    task.load_dataset("test")
    dataset = task.dataset("test")
    likelihoods = []
    for number in range(len(dataset)):
        batch = dataset.collater([dataset[number]])
        fed = batch["net_input"]
        log_probs = mixed([model.eval()(**fed)[0] for model in models])[prefix_length:]
        target, source = batch["target"][0][prefix_length:], fed["src_tokens"][0]
        source_logits = []
        for model in models:
            last = model.core.spec.source_layers
            state = model.source_state(fed, (last,))
            features = model.core.stack.readout(state.layer_outputs[last], state.context)
            source_logits.append(model.core.logits(features))
        source_log_probs = mixed(source_logits)
        of_target = sum(log_probs[place, token] for place, token in enumerate(target))
        of_source = sum(source_log_probs[place, token] for place, token in enumerate(source[1:]))
        likelihoods.append((of_target.item(), len(target), of_source.item(), len(source) - 1))
    return likelihoods


def test_pairs(score, tmp_path):
    path = trained(*CAUSAL, *TLM)
    files = ("--json", tmp_path / "found.json", "--sentences", tmp_path / "found.tsv")
    shown, messages = score("--path", path, "--pairs", "en-de,de-fr", *files)
    assert "left out" not in messages
    expected = by_hand(path)
    names = [line.split("\t")[:2] for line in lines(tmp_path / "found.tsv")]
    assert names[:TEST_SENTENCES] == [["en-de", str(n + 1)] for n in range(TEST_SENTENCES)]
    assert len(names) == 2 * TEST_SENTENCES
    for row, likelihoods in zip(scored(tmp_path / "found.tsv"), expected, strict=False):
        assert row == pytest.approx(likelihoods, abs=1e-3)
    target, target_tokens, source, source_tokens = map(sum, zip(*expected, strict=True))
    joint = -(target + source) / (target_tokens + source_tokens)
    first, second = json.loads((tmp_path / "found.json").read_text())["sets"]
    assert first == {
        "set": "en-de",
        "sentences": TEST_SENTENCES,
        "target_tokens": target_tokens,
        "target_perplexity": pytest.approx(math.exp(-target / target_tokens), rel=1e-4),
        "source_tokens": source_tokens,
        "source_perplexity": pytest.approx(math.exp(-source / source_tokens), rel=1e-4),
        "joint_perplexity": pytest.approx(math.exp(joint), rel=1e-4),
    }
    assert second["set"] == "de-fr"
    assert f"{first['joint_perplexity']:.3f}" in shown


@pytest.mark.parametrize(
    "flags",
    [((), ("--reconstruction-weight", "0.5")), (("--tdo-laln", "both"),)],
    ids=["an ensemble", "language-aware norms"],
)
def test_several_models_and_languages(flags, score, tmp_path):
    paths = [trained(*CAUSAL, *TLM, *model_flags) for model_flags in flags]
    files = ("--sentences", tmp_path / "found")
    _, messages = score("--path", ":".join(map(str, paths)), "--pairs", "en-de", *files)
    assert "left out" not in messages
    for row, likelihoods in zip(scored(tmp_path / "found"), by_hand(*paths), strict=True):
        assert row == pytest.approx(likelihoods, abs=1e-3)


def test_all_models_of_an_ensemble_tell_their_sources(score):
    paths = trained(*CAUSAL, *TLM), trained(*CAUSAL)
    for order in (paths, paths[::-1]):
        shown, messages = score("--path", ":".join(map(str, order)), "--pairs", "en-de")
        assert "the model was not trained on it" in messages and "source" not in shown


def test_a_given_tag_is_not_scored(score, tmp_path):
    """Wherever padding stands."""
    path = trained(*CAUSAL, "--decoder-langtok", "--left-pad-target", "True")
    score("--path", path, "--pairs", "en-de", "--sentences", tmp_path / "found")
    expected = [likelihoods[:2] for likelihoods in by_hand(path, prefix_length=1)]
    assert len({many for _, many in expected}) > 1
    for row, likelihoods in zip(scored(tmp_path / "found"), expected, strict=True):
        assert row[:2] == pytest.approx(likelihoods, abs=1e-3)


def test_a_model_that_has_diverged(score, tmp_path):
    assert perplexity(-1e6, 10) == math.inf
    checkpoint = torch.load(trained(*CAUSAL, *TLM), weights_only=False)
    for name, parameter in checkpoint["model"].items():
        if "embeddings" in name:
            parameter *= 1e4
    torch.save(checkpoint, tmp_path / "far.pt")
    files = ("--json", tmp_path / "found.json")
    shown, _ = score("--path", tmp_path / "far.pt", "--pairs", "en-de", *files)
    assert "inf" in shown

    text = (tmp_path / "found.json").read_text()
    (measured,) = json.loads(text, parse_constant=pytest.fail)["sets"]
    assert measured["target_perplexity"] is None


def test_the_validation_s_perplexity(score):
    """As a training and `tdo translate --perplexity` measure it."""
    path = trained(*CAUSAL, *TLM)
    shown, _ = score("--path", path, "--pairs", "en-de", "--split", "valid")
    assert f"{translator_of(path).perplexity('en-de'):.3f}" in shown


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ((*TLM, *PREFIX), "source positions attend to later ones"),
        ((*TLM, "--reconstruction-task", "ae"), "the model was not trained on it"),
        ((*TLM, "--reconstruction-weight", "0"), "the model was not trained on it"),
        ((), "the model was not trained on it"),
        ((*TLM, "--langtoks", "{'main': (None, 'tgt')}"), "no tag precedes the first source token"),
        ((*TLM, "--lang-tok-replacing-bos-eos"), "no tag precedes the first source token"),
    ],
)
def test_where_the_source_s_is_no_probability(flags, why, score, tmp_path):
    path = shutil.copy(trained(*CAUSAL, *flags), tmp_path)  # its own has a colon
    shown, messages = score("--path", path, "--pairs", "en-de")
    assert why in messages
    assert "source" not in shown and "target perplexity" in shown


def test_text_has_no_source_to_leave_out(score, tmp_path):
    """Also where the model would give its sources no probability."""
    file = tmp_path / "text"
    file.write_text(lines(sorted(prepared().root.with_name("text").glob("test*.de"))[0])[0] + "\n")
    shown, messages = score("--path", trained(*CAUSAL), "--text", f"de={file}")
    assert "target perplexity" in shown
    assert "P(source)" not in messages


TARGET = ("--decoder-langtok",)
REPLACING = ("--langtoks", "{'main': (None, 'tgt')}", "--lang-tok-replacing-bos-eos")
ALONE = {
    "on the source": ((), ["__de__"], ["</s>"]),
    "on both": (TARGET, [], ["</s>", "__de__"]),
    "in place of the target's begin": (REPLACING, [], ["__de__"]),
}


@pytest.mark.parametrize("name", ALONE)
def test_text_alone(name, score, tmp_path):
    """As targets behind what tells their language, as `--monolingual` trains them."""
    tags, before, begin = ALONE[name]
    path = Path(shutil.copy(trained(*CAUSAL, *TLM, *tags), tmp_path))  # its own has a colon
    file = tmp_path / "text"
    folder = prepared().root.with_name("text")
    text = lines(sorted(folder.glob("test*.de"))[0])[:5]
    file.write_text("\n".join([*text[:2], "", *text[2:]]) + "\n", encoding="utf-8")
    score("--path", path, "--text", f"de={file}", "--sentences", tmp_path / "found")
    (model,), base = load_models([path], prepared())
    model.eval()
    dictionary = base.source_dictionary
    source, prefix = (
        torch.tensor([[dictionary.index(symbol) for symbol in symbols]]).long()
        for symbols in (before, begin)
    )
    pieces = load_model(prepared().root / "spm.model").encode(text, out_type=str)
    for row, words in zip(scored(tmp_path / "found"), pieces, strict=True):
        target = dictionary.encode_line(" ".join(words), add_if_not_exist=False).long()
        previous = torch.cat([prefix, target[None, :-1]], 1)
        logits = model(source, prev_output_tokens=previous)[0][0].log_softmax(-1)
        logits = logits[prefix.size(1) - 1 :]
        expected = logits.gather(1, target[:, None]).sum().item()
        assert row[:2] == pytest.approx([expected, len(target)], abs=1e-3)


def test_refused(refused, tmp_path):
    for name, content in {"text": b"wort\n", "empty": b"\n \n", "broken": b"fine\n\xff\n"}.items():
        (tmp_path / name).write_bytes(content)
    refused.rows(
        """
        score-lm {data} --cpu --path {path}
            --text de                               :: --text
            --text de={tmp}/empty                   :: --text
            --text de={tmp}/broken                  :: UTF-8
            --text xx={tmp}/text                    :: xx
            --text de={tmp}/empty --pairs en-de     :: --pairs
            --text de={tmp}/empty --split valid     :: --split
            --pairs en-xx                           :: --pairs
            --pairs de-fr --split valid             :: de-fr
            --json {tmp}                            :: --json
            --sentences {tmp}/no/file               :: --sentences
            --average some                          :: --average
            --max-tokens 0                          :: --max-tokens
        """,
        data=prepared().root,
        path=trained(*CAUSAL, *TLM),
        tmp=tmp_path,
    )
