"""`tdo export` on small trained models, and what the libraries make of its folders."""

import json
import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from support.built_models import in_double_precision, padded
from support.commands import exit_code
from support.covering import mostly_full
from support.exported import AWKWARD, BOTH_TAGS, PLAIN, export, exported
from support.prepared import TEST_SENTENCES, prepared, trained
from support.pretrained import PAD, convert, facts, sinusoids
from support.processes import finished
from support.translating import translator_of
from transformers import AutoModelForSeq2SeqLM, PreTrainedTokenizerFast

from tdo_compat.checkpoint import safe_load
from tdo_plugin.cli.export import _refusal
from tdo_plugin.evaluation.decoding.loading import task_of
from tdo_plugin.export import model_card, opened_model
from tdo_plugin.export.model_card import Written, write_card
from tdo_plugin.export.opened_model import open_model
from tdo_plugin.metrics.textform import TextForm
from tdo_plugin.modules.positions import SinusoidalPositions

EOS = 2
TAGGED = {"one tag": PLAIN, "tags of both sides": BOTH_TAGS}
each_tagging = pytest.mark.parametrize("flags", TAGGED.values(), ids=TAGGED)
# nothing of this package can be imported behind this
BLOCKED = """
import sys


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("fairseq", "fairseq_cli", "tdo_plugin", "tdo_compat"):
            raise ImportError(f"{name} is blocked")


sys.meta_path.insert(0, Blocker())
"""


def assert_same_logits(core, model, ids, target, atol):
    with torch.no_grad():
        expected = core.logits(core.decode(target, core.encode(ids)))
        logits = model(
            input_ids=ids, attention_mask=ids.ne(PAD).long(), decoder_input_ids=target
        ).logits
    real = target.ne(PAD)
    torch.testing.assert_close(logits[real], expected[real], rtol=0, atol=atol)


def model_of(folder):
    """The folder's model in double precision, with its tokenizer, without the folder's code."""
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).double().eval()
    for side in (model.model.encoder, model.model.decoder):
        # they are made in single precision, whatever the model's
        side.embed_positions.weights = sinusoids(*side.embed_positions.weights.shape)
    return model, PreTrainedTokenizerFast.from_pretrained(folder)


def doubled(core):
    """The core in double precision, sinusoids too."""
    core.double()
    with in_double_precision():
        core.source_positions = SinusoidalPositions(core.spec.model_dim, PAD)
        if core.target_positions is not None:
            core.target_positions = SinusoidalPositions(core.spec.model_dim, PAD)
    return core


def drawn(rows, entries, seed):
    """Random sentences of different lengths."""
    source = torch.Generator().manual_seed(seed)
    return [
        [*torch.randint(3, entries, (1 + number % 7,), generator=source).tolist(), EOS]
        for number in range(rows)
    ]


@pytest.mark.parametrize(("flags",), mostly_full(zip(TAGGED.values(), strict=True)), ids=TAGGED)
def test_every_logit_is_the_models(flags):
    """Also in single precision, with the library's own positions."""
    opened, folder = open_model(trained(*flags)), exported("hf", flags)
    entries = len(opened.symbols)
    sources = drawn(11, entries, 1)
    target = padded([[EOS, *row[:-1]] for row in drawn(11, entries, 2)], left=False)
    single = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    assert single.config.vocab_size == entries
    assert_same_logits(opened.core, single, padded(sources, False), target, 1e-5)
    core, (model, _) = doubled(opened.core), model_of(folder)
    for left in (True, False):
        assert_same_logits(core, model, padded(sources, left), target, 1e-10)


def test_ids_are_those_of_the_translator():
    _, tokenizer = model_of(exported("hf", PLAIN))
    translator = translator_of(trained(*PLAIN))
    task = task_of(translator._task, "de-fr")
    lines = [*AWKWARD, *prepared().reference("de", "fr", "de").read_text().splitlines()]
    encoded = translator._encode(task, "de-fr", lines, prepared=False)
    assert tokenizer(lines)["input_ids"] == [line.tolist() for line in encoded]
    dataset = task.build_dataset_for_inference(encoded, [len(line) for line in encoded])
    tag = tokenizer.convert_tokens_to_ids("__fr__")
    for number, line in enumerate(encoded):
        assert dataset[number]["source"].tolist() == [tag, *line.tolist()]


def translated(flags, direction):
    """Hypotheses of each test sentence of a direction, by `tdo translate`."""
    translator = translator_of(trained(*flags), free_tag=flags is BOTH_TAGS)
    found = translator.translate_test(direction, lambda _: None)
    assert len(found) == TEST_SENTENCES
    return found


def sources_of(direction):
    source, target = direction.split("-")
    text = prepared().reference(source, target, source).read_text(encoding="utf-8")
    return source, target, text.splitlines()


@each_tagging
def test_beams_are_those_of_tdo_translate(flags):
    model, tokenizer = model_of(exported("hf", flags))
    model = model.float()
    tag = tokenizer.convert_tokens_to_ids
    for direction in ("de-en", "de-fr"):
        source, target, lines = sources_of(direction)
        first = target if flags is PLAIN else source
        rows = [[tag(f"__{first}__"), *ids] for ids in tokenizer(lines)["input_ids"]]
        batch = tokenizer.pad({"input_ids": rows}, return_tensors="pt")
        forced = {} if flags is PLAIN else {"forced_bos_token_id": tag(f"__{target}__")}
        found = model.generate(**batch, **forced).tolist()
        special = {PAD, EOS, *map(tag, tokenizer.all_special_tokens)} - {3}
        pieces = [
            tokenizer.convert_ids_to_tokens([row for row in ids if row not in special])
            for ids in found
        ]
        assert pieces == [each.pieces.split() for each in translated(flags, direction)]


@each_tagging
def test_ctranslate2_says_the_same(flags, monkeypatch):
    """By the program of the card."""
    folder = exported("ctranslate2", flags)
    card = (folder / "README.md").read_text(encoding="utf-8")
    program, names = re.search(r"```python\n(.*?)```", card, re.DOTALL)[1], {}
    monkeypatch.chdir(folder.parent)
    exec(program, names)
    for direction in ("de-en", "de-fr"):
        source, target, lines = sources_of(direction)
        expected = [hypothesis.text for hypothesis in translated(flags, direction)]
        assert names["translate"](lines, source, target) == expected
    translator = translator_of(trained(*flags))
    rows = {symbol: row for row, symbol in enumerate(open_model(trained(*flags)).symbols)}
    for line in AWKWARD:
        ids = [rows.get(piece, rows["<unk>"]) for piece in names["pieces"](line)]
        assert [*ids, EOS] == translator.encoded("de-en", line).tolist(), ascii(line)


@each_tagging
def test_tdo_convert_reads_it_back(flags, tmp_path):
    convert(exported("hf", flags), tmp_path / "back", to="tdo_encoder_decoder")
    back = safe_load(str(tmp_path / "back" / "model.pt"), map_location="cpu")
    original = safe_load(str(trained(*flags)), map_location="cpu")
    assert back["model"].keys() == original["model"].keys()
    for name, value in original["model"].items():
        assert torch.equal(back["model"][name], value), name
    opened = open_model(trained(*flags))
    symbols = (tmp_path / "back" / "dict.txt").read_text(encoding="utf-8").splitlines()
    assert [line.rpartition(" ")[0] for line in symbols] == list(opened.symbols[4:])
    assert (tmp_path / "back" / "spm.model").read_bytes() == opened.segmentation
    assert facts(tmp_path / "back")["languages"] == list(opened.languages)
    assert back["task_state"] == original["task_state"]
    again = open_model(tmp_path / "back" / "model.pt", prepared().root)
    assert again.converted and again.directions == opened.directions and again.text == opened.text
    export(again.path, tmp_path / "again", "--data", prepared().root)
    for name in ("config.json", "tokenizer.json", "generation_config.json"):
        expected = (exported("hf", flags) / name).read_bytes()
        assert (tmp_path / "again" / name).read_bytes() == expected
    card = (tmp_path / "again" / "README.md").read_text(encoding="utf-8")
    assert "converted by `tdo convert`; the training is not recorded." in card
    assert "Updates" not in card and "trained directions" not in card and "- directions (6)" in card
    ending = ("tgt",) if flags is PLAIN else ("src", "--decoder-langtok")
    assert tuple(facts(tmp_path / "back")["flags"])[-len(ending) :] == ending


def test_tags_are_those_that_the_folder_records(refused, tmp_path):
    folder = tmp_path / "mbart"
    shutil.copytree(exported("hf", PLAIN), folder)
    for name in ("tokenizer.json", "config.json"):
        text = (folder / name).read_text(encoding="utf-8")
        text = re.sub("__(en|de|fr)__", r"[\1]", text).replace('"multilingual"', '"mbart"')
        (folder / name).write_text(text, encoding="utf-8")
    words = ("--to", "tdo_encoder_decoder", "--out", tmp_path / "back")
    refused("convert", folder, "--from", "nllb", *words, names="--from")
    convert(folder, tmp_path / "back", to="tdo_encoder_decoder")
    back = safe_load(str(tmp_path / "back" / "model.pt"), map_location="cpu")
    original = safe_load(str(trained(*PLAIN)), map_location="cpu")
    assert back["task_state"] == original["task_state"]  # with fairseq's usual tags
    for tags in ({}, None, dict.fromkeys(("en", "de", "fr"), "[en]"), {"en": 1}):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps(config | {"tdo_tags": tags}))
        command = ("convert", folder, "--from", "m2m100", *words, "--fresh")
        refused(*command, names="`tdo_tags` in", case=str(tags))


def test_refusals_name_the_option_of_the_file():
    out = Path("/somewhere/out")
    for name, option in (
        ("/somewhere/.out.x1/new/config.json", "`--out` must be writable"),
        ("/somewhere", "`--out` must be writable"),
        (None, "`--out` must be writable"),
        ("/data/prepare.json", "`--data` must be readable"),
    ):
        assert _refusal(OSError(5, "fails", name), out).startswith(f"{option}; ")


@pytest.mark.parametrize("to", ["hf", "ctranslate2"])
def test_printed_programs_run_as_they_stand(to, tmp_path):
    """Those of the command and the card, where fairseq and this package cannot be imported."""
    out = tmp_path / 'a "model" ü'
    said = export(trained(*PLAIN), out, to=to)
    printed = said.partition("To translate with it, in Python:\n\n")[2]
    assert json.dumps(str(out), ensure_ascii=False) in printed  # the card has the folder's name
    card = (out / "README.md").read_text(encoding="utf-8")
    programs = [BLOCKED, printed, *re.findall(r"```python\n(.*?)```", card, re.DOTALL)]
    assert len(programs) == (4 if to == "hf" else 3)
    environment = {**os.environ, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    done = finished([sys.executable, "-c", "\n".join(programs)], cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    texts = [re.findall("'([^']+)'\\W*$", line) for line in done.stdout.splitlines()]
    (hypothesis,) = translator_of(trained(*PLAIN)).translate_lines("en-de", ["A sentence."])
    # CTranslate2 ends a hypothesis at the maximum length in another way
    expected = [hypothesis.text] if to == "hf" else texts[0]
    assert texts == [expected] * len(programs[1:]) and len(expected) == 1


def test_the_card_says_what_is_known():
    card = (exported("hf", PLAIN) / "README.md").read_text(encoding="utf-8")
    _, front, text = card.split("---\n", 2)
    assert '- "de"' in front and "license" not in front
    assert "pipeline_tag: translation" in front
    for said in (
        "2 encoder and 1 decoder layers",
        "model width 32",
        "Without it, the model is transformers' M2M100",
        "Tag before the source: the target language.",
        "Plain text, cased",
        "The pipeline gives empty and longer sentences an empty translation",
        "Data: `data`; its licence is not recorded.",
        "Directions: en-de, de-en, en-fr, fr-en.",
        "en-de 60, en-fr 60",
        "Updates: 150 (one checkpoint).",
        "- Command:",
        "zero-shot directions (2): de-fr, fr-de",
    ):
        assert said in text, said


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {"title": "text of my-text", "licence": "one's own", "cite": "none"},
            ["- Data: own text, `my-text`; its licence is not recorded."],
        ),
        (
            {"title": "Multi30k", "licence": "free", "cite": "Elliott et al."},
            ["- Data: Multi30k.", "- Licence of the data: free.", "- Source: Elliott et al."],
        ),
    ],
)
def test_the_card_names_the_data(record, expected, tmp_path):
    (tmp_path / "prepare.json").write_text(json.dumps(record), encoding="utf-8")
    assert list(model_card._data(tmp_path)) == expected


def test_weights_in_half_precision(tmp_path):
    out = tmp_path / "half"
    export(trained(*PLAIN), out, "--precision", "bf16")
    tensors = load_file(out / "model.safetensors").values()
    assert {tensor.dtype for tensor in tensors} == {torch.bfloat16}
    assert json.loads((out / "config.json").read_text())["dtype"] == "bfloat16"


def card_of(folder, **changes):
    """The card of a model of which something is another."""
    written = Written("", "ctranslate2", str, "", "")
    write_card(replace(open_model(trained(*PLAIN)), **changes), folder, "name", written)
    return (folder / "README.md").read_text(encoding="utf-8")


def test_the_card_names_the_form_of_other_text(tmp_path):
    (tmp_path / "truecase.de").touch()
    origin = {"updates": 7, "averaged": ["a.pt", "b.pt"], "training": "unknown"}
    card = card_of(tmp_path, form=TextForm("truecased", "moses"), origin=origin)
    assert "Truecasing models of Moses, by language: `truecase.de`." in card
    assert "the form of the training text, truecased, moses, which the tokenizer" in card
    assert "Updates: 7 (average of a.pt, b.pt)." in card and "Command" not in card


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("train --finetune-from-model=/root/secret/x.pt", "--finetune-from-model=x.pt"),
        ("train --x ../secret/k.pt /root/a:/root/b/", "--x k.pt a:b"),
        ("train --y \"{'a': '/root/secret/'}\"", "--y '{'\"'\"'a'\"'\"': '\"'\"'secret'\"'\"'}'"),
        ("train /root/secret/x 'y", "train x ''\"'\"'y'"),
    ],
)
def test_the_card_shortens_paths(command, expected, tmp_path):
    card = card_of(tmp_path, origin={"updates": 7, "training": {"command": command}})
    assert expected in card and "/root" not in card and "Versions" not in card


def test_truecasing_models_go_with_the_folder_and_come_back(tmp_path, monkeypatch):
    data = tmp_path / "data"
    shutil.copytree(prepared().root, data)
    (data / "truecase.de").write_text("Mann (1/1)\n", encoding="utf-8")
    monkeypatch.setattr(opened_model, "read_text_form", lambda _: TextForm("truecased"))
    said = export(trained(*PLAIN), tmp_path / "hf", "--data", data)
    assert "text must be truecased, none before it is tokenized; the folder has truecase.de" in said
    convert(tmp_path / "hf", tmp_path / "back", to="tdo_encoder_decoder")
    assert (tmp_path / "back" / "truecase.de").read_bytes() == (data / "truecase.de").read_bytes()
    back = safe_load(str(tmp_path / "back" / "model.pt"), map_location="cpu")
    assert back["task_state"]["text_form"] == TextForm("truecased").way_in()


def test_the_card_has_the_checkpoints_scores(tmp_path, refused):
    out, sheets = tmp_path / "out", tmp_path / "scores"
    words = ("--path", trained(*PLAIN), "--out", out, "--cpu", "--pairs", "de-fr")
    assert exit_code("translate", prepared().root, *words) == 0
    assert exit_code("score", f"small={out}", "--out", sheets) == 0
    scores = sheets / "scores.json"
    export(trained(*PLAIN), tmp_path / "hf", "--scores", scores)
    card = (tmp_path / "hf" / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"\| de-fr \| no \| {TEST_SENTENCES} \| \d+\.\d \|", card)
    assert "`BLEU|nrefs:1|" in card and "beam 4, length penalty 1.0" in card
    assert "trained directions (4): " in card and "zero-shot directions (1): fr-de" in card
    command = ("export", trained(*BOTH_TAGS), tmp_path / "other", "--to", "hf")
    refused(*command, "--scores", scores, names="--scores")


def test_mistakes(refused, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "notes").touch()
    refused.rows(
        """
        export {model} --out {out} --to hf --precision int8      :: --precision
        export {model} --to hf                                   :: --out
        export {two_stages} --out {out} --to ctranslate2         :: layer by layer
        export {model}:{model} --out {out} --to hf               :: MODEL
        export {folder} --out {out} --to hf --average most       :: --average
        export {model} --out {full} --to hf                      :: --out
        """,
        model=trained(*PLAIN),
        two_stages=trained(),
        folder=trained(*PLAIN).parent,
        out=tmp_path / "out",
        full=full,
    )


def test_a_missing_library_is_named_with_its_installation(refused, tmp_path, monkeypatch):
    for to, module in (("hf", "tokenizers"), ("ctranslate2", "ctranslate2.converters")):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            command = ("export", trained(*PLAIN), tmp_path / "out", "--to", to)
            refused(*command, names="pip install 'tdo_plugin[export]'")
