"""`tdo convert` on small random models."""

import json
import re
from argparse import Namespace
from pathlib import Path

import pytest
import sentencepiece
import torch
from fairseq import checkpoint_utils
from safetensors.torch import load_file, save_file
from support.data import databin
from support.pretrained import (
    NLLB_CODES,
    SIZES,
    convert,
    copied,
    facts,
    fairseq_checkpoint,
    folder,
    loaded,
    own_files,
    pieces,
    segmentation,
)

from tdo_compat.checkpoint import safe_load
from tdo_plugin.pretrained.fairseq_own import DATA_SOURCES


def originals(path: Path) -> dict[str, torch.Tensor]:
    return load_file(path / "model.safetensors")


def converted(out: Path) -> dict[str, torch.Tensor]:
    return safe_load(str(out / "model.pt"), map_location="cpu")["model"]


def test_a_checkpoint_of_fairseq_is_the_same_function(tmp_path):
    """The dictionary lacks the tags, which fairseq's task adds while it runs."""
    output = convert(fairseq_checkpoint(), tmp_path / "out", *own_files(), to="tdo_encoder_decoder")
    assert "2 + 4 layers, d = 16, 2 heads, 35 entries, 4 languages" in output
    assert re.search(r"rows 31 to 34 are the tags missing in", output)
    (original,), _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(fairseq_checkpoint())],
        arg_overrides={"source_lang": "en", "target_lang": "de", "data": str(databin())},
    )
    model, dictionary = loaded(tmp_path / "out")
    assert dictionary == task.source_dictionary
    source = torch.tensor([[1, 1, 33, 5, 8, 2], [34, 7, 20, 11, 4, 2]])
    previous = torch.tensor([[2, 9, 27, 1], [2, 21, 6, 16]])
    with torch.no_grad():
        expected, _ = original.double().eval()(source, source.ne(1).sum(1), previous)
        logits, _ = model(source, prev_output_tokens=previous)
    real = previous.ne(1)
    # fairseq's positions are in single precision
    torch.testing.assert_close(logits[real], expected[real], rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["m2m100", "nllb"])
def test_a_two_stage_model_is_made_of_decoder_layers(family, tmp_path):
    out = tmp_path / "out"
    output = convert(folder(family), out, family=family)
    model, dictionary = loaded(out)
    parameters = converted(out)
    original = originals(folder(family))
    for ours, theirs in {
        "stack.layers.2.attention.key": "decoder.layers.2.self_attn.k_proj",
        "stack.layers.0.feed_forward.outer": "decoder.layers.0.fc2",
        "stack.layers.3.feed_forward_residual.norm": "decoder.layers.3.final_layer_norm",
        "stack.output_block.1": "decoder.layer_norm",
        "embeddings.source": "shared",
    }.items():
        for part in ("weight",) if theirs == "shared" else ("weight", "bias"):
            weight = parameters[f"core.{ours}.{part}"]
            assert torch.equal(weight, original[f"model.{theirs}.{part}"]), ours
    spec = model.core.spec
    assert (spec.num_layers, spec.target_layer, spec.adaptation_dim, spec.norm) == (4, 2, 32, "pre")
    record = facts(out)
    d, inner, rows = SIZES["d_model"], SIZES["decoder_ffn_dim"], len(dictionary)
    attention, norm = 4 * (d * d + d), 2 * d
    network = 2 * d * inner + d + inner
    assert record["taken"] == rows * d + 4 * (attention + network + 2 * norm) + norm
    assert record["new"] == {"stack.bridge": norm + network, "stack.output_block": network}
    assert record["dropped"]["cross-attention"] == 4 * (attention + norm)
    assert record["parameters"] == record["taken"] + sum(record["new"].values())
    for word in ("taken:", "dropped:", "new:", "rows:", "written:"):
        assert word in output


def test_rows_keep_their_meaning(tmp_path):
    """Every id that the original's tokenizer gives is the id of the same piece or tag."""
    from transformers import M2M100Tokenizer, NllbTokenizer

    for family, kind in (("m2m100", M2M100Tokenizer), ("nllb", NllbTokenizer)):
        out = tmp_path / family
        convert(folder(family), out, family=family)
        _, dictionary = loaded(out)
        tokenizer = kind.from_pretrained(folder(family))
        for row, piece in enumerate(pieces(), 4):
            assert dictionary[row] == piece
            assert tokenizer.convert_tokens_to_ids(piece) == row
        for language in ("en", "fr"):
            if family == "nllb":
                language = NLLB_CODES[language]
                row = tokenizer.convert_tokens_to_ids(language)
            else:
                row = tokenizer.lang_token_to_id[f"__{language}__"]
            assert dictionary.index(f"__{language}__") == row != dictionary.unk()
        assert len({*dictionary.symbols}) == len(dictionary)


def test_rows_of_nllbs_tags(tmp_path):
    """Tags stand behind the pieces, the mask behind them, whatever the folder says of them."""
    convert(folder("nllb"), tmp_path / "said", family="nllb")
    _, dictionary = loaded(tmp_path / "said")
    first = 4 + len(pieces())
    assert [dictionary[first], dictionary[first + 201]] == ["__ace_Arab__", "__zul_Latn__"]
    assert dictionary[first + 46] == "__eng_Latn__"  # 256,047 behind NLLB's 256,001 other entries
    assert [dictionary[first + 202 + row] for row in range(3)] == [
        f"madeupword000{number}" for number in range(3)
    ]
    silent = copied("nllb", tmp_path / "silent")
    config = json.loads((silent / "tokenizer_config.json").read_text())
    del config["added_tokens_decoder"]
    (silent / "tokenizer_config.json").write_text(json.dumps(config))
    assert "does not record the rows of tags" in convert(silent, tmp_path / "out", family="nllb")
    assert loaded(tmp_path / "out")[1] == dictionary


def as_fairseq_has_it(family: str, out: Path, has_tags: bool) -> tuple[object, ...]:
    """The same model as a checkpoint of fairseq's own; the words that convert it.

    Its dictionary has the pieces, and the tags and what is behind them or not: M2M-100 was
    published with both kinds, NLLB without.
    """
    convert(folder(family), out / "whole", family=family)
    symbols = loaded(out / "whole")[1].symbols[4:]
    first = len(pieces())
    languages = [symbol[2:-2] for symbol in symbols[first:] if symbol.startswith("__")]
    parameters = {
        name.removeprefix("model."): tensor for name, tensor in originals(folder(family)).items()
    }
    table = parameters.pop("shared.weight")
    for name in ("encoder.embed_tokens", "decoder.embed_tokens", "decoder.output_projection"):
        parameters[f"{name}.weight"] = table
    options = Namespace(
        encoder_normalize_before=True,
        decoder_normalize_before=True,
        encoder_attention_heads=SIZES["encoder_attention_heads"],
        decoder_attention_heads=SIZES["decoder_attention_heads"],
        langs=languages,
    )
    torch.save({"args": options, "model": parameters}, out / "model.pt")
    entries = symbols if has_tags else symbols[:first]
    (out / "dict.txt").write_text("".join(f"{entry} 1\n" for entry in entries), encoding="utf-8")
    (out / "spm.model").write_bytes(segmentation())
    return out / "model.pt", "--dict", out / "dict.txt", "--spm", out / "spm.model"


@pytest.mark.parametrize(
    ("family", "has_tags"), [("m2m100", True), ("m2m100", False), ("nllb", False)]
)
def test_both_formats_of_a_model_give_the_same_rows(family, has_tags, tmp_path):
    """They disagree in what they call the rows that are neither piece nor tag."""
    original, *files = as_fairseq_has_it(family, tmp_path, has_tags)
    output = convert(original, tmp_path / "one", *files, family=family)
    convert(folder(family), tmp_path / "other", family=family)
    fairseq_model, names = loaded(tmp_path / "one")
    folder_model, expected = loaded(tmp_path / "other")
    assert len(names) == len(expected)
    unnamed = range(len(names)) if family == "m2m100" else range(len(names) - 3)
    assert [names[row] for row in unnamed] == [expected[row] for row in unnamed]
    if family == "nllb":
        assert [names[row] for row in (-3, -2, -1)] == [*DATA_SOURCES]
        assert [expected[row] for row in (-3, -2, -1)] == [f"madeupword000{n}" for n in range(3)]
    assert ("are the tags missing in" in output) != has_tags
    assert facts(tmp_path / "one")["languages"] == facts(tmp_path / "other")["languages"]
    ours, theirs = fairseq_model.state_dict(), folder_model.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())


@pytest.mark.parametrize("ending", ["safetensors", "bin"])
def test_weights_in_parts(ending, tmp_path):
    whole = originals(folder("m2m100"))
    several = copied("m2m100", tmp_path / "several")
    (several / "model.safetensors").unlink()
    name = {"safetensors": "model.safetensors", "bin": "pytorch_model.bin"}[ending]
    places = {key: f"part-{number % 2}.{ending}" for number, key in enumerate(whole)}
    for place in {*places.values()}:
        part = {key: value for key, value in whole.items() if places[key] == place}
        if ending == "bin":
            torch.save(part, several / place)
        else:
            save_file(part, several / place)
    (several / f"{name}.index.json").write_text(json.dumps({"weight_map": places}))
    convert(folder("m2m100"), tmp_path / "one", "--layers", "1")
    convert(several, tmp_path / "two", "--layers", "1")
    from_whole, from_parts = (loaded(tmp_path / name)[0].state_dict() for name in ("one", "two"))
    assert all(torch.equal(value, from_parts[key]) for key, value in from_whole.items())


def test_half_precision_becomes_single(tmp_path):
    half = copied("m2m100", tmp_path / "half")
    (half / "model.safetensors").unlink()
    stored = {key: value.half() for key, value in originals(folder("m2m100")).items()}
    torch.save(stored, half / "pytorch_model.bin")
    convert(half, tmp_path / "out", "--layers", "1")
    table = converted(tmp_path / "out")["core.embeddings.source.weight"]
    assert table.dtype == torch.float32
    assert torch.equal(table, stored["model.shared.weight"].float())


def test_languages_by_names_of_ones_own(tmp_path):
    out = tmp_path / "out"
    names = ",".join(f"{ours}={theirs}" for ours, theirs in NLLB_CODES.items())
    convert(folder("nllb"), out, "--langs", names, family="nllb")
    _, dictionary = loaded(out)
    convert(folder("nllb"), tmp_path / "all", family="nllb")
    _, full_dictionary = loaded(tmp_path / "all")
    for ours, theirs in NLLB_CODES.items():
        assert dictionary.index(f"__{ours}__") == full_dictionary.index(f"__{theirs}__")
    assert facts(out)["languages"] == list(NLLB_CODES)


def test_which_layers_is_a_choice(tmp_path):
    out = tmp_path / "baseline"
    chosen = ("--layers", "2", "--encoder", "decoder:1,4", "--decoder", "decoder:3-4")
    convert(folder("m2m100"), out, *chosen, to="tdo_encoder_decoder")
    parameters = converted(out)
    original = originals(folder("m2m100"))
    name = "feed_forward.inner.weight"
    for side, numbers in (("encoder", (0, 3)), ("decoder", (2, 3))):
        for ours, theirs in enumerate(numbers):
            weight = parameters[f"core.stack.{side}_layers.{ours}.{name}"]
            assert torch.equal(weight, original[f"model.decoder.layers.{theirs}.fc1.weight"])
    assert "encoder.layer_norm" not in facts(out)["dropped"]
    words = ("--layers", "2", "--encoder", "decoder")  # its first ones
    convert(folder("m2m100"), tmp_path / "first", *words, to="tdo_encoder_decoder")
    stacks = facts(tmp_path / "first")["stacks"]
    assert stacks == {"encoder_layers": "decoder:1,2", "decoder_layers": "decoder:1,2"}
    convert(folder("m2m100"), tmp_path / "stack", "--layers", "1", "--stack", "encoder:3,2")
    weight = converted(tmp_path / "stack")[f"core.stack.layers.0.{name}"]
    assert torch.equal(weight, original["model.encoder.layers.2.fc1.weight"])


def test_new_languages_come_behind_all_rows(tmp_path):
    text = tmp_path / "text"
    text.write_text("\n".join(["bat bi hiru lau bost sei zazpi"] * 5), encoding="utf-8")
    added = ("--new-langs", "eus", "--like", "es", "--extend-vocabulary", text)
    convert(folder("m2m100"), tmp_path / "old")
    output = convert(folder("m2m100"), tmp_path / "new", *added, "--new-pieces", "40")
    old_model, old = loaded(tmp_path / "old")
    model, dictionary = loaded(tmp_path / "new")
    assert dictionary.symbols[: len(old)] == old.symbols
    assert dictionary.symbols[len(old)] == "__eus__" and len(dictionary) > len(old) + 1
    assert "1 tags and" in output
    table, before = (each.core.embeddings.source.weight for each in (model, old_model))
    assert torch.equal(table[: len(old)], before)
    assert torch.equal(table[len(old)], before[old.index("__es__")])
    extended = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "new" / "spm.model"))
    plain = sentencepiece.SentencePieceProcessor(model_proto=segmentation())
    sentence = "bat hiru zazpi"
    cut = extended.encode(sentence, out_type=str)
    assert len(cut) < len(plain.encode(sentence, out_type=str))
    assert all(piece in dictionary.indices for piece in cut)
    assert extended.decode(cut) == sentence
    # a piece starts as the mean of those that it was cut into
    row = next(row for row in range(len(old) + 1, len(dictionary)) if len(dictionary[row]) > 3)
    parts = plain.encode(dictionary[row].replace("▁", " "), out_type=str)
    if not dictionary[row].startswith("▁"):
        parts = parts[1:] if parts[0] == "▁" else parts
    part_vectors = [before[old.index(part)] for part in parts if part in old.indices]
    torch.testing.assert_close(table[row], torch.stack(part_vectors).mean(0), rtol=0, atol=1e-6)
    # what the old model knew is cut as before
    assert extended.encode("three four", out_type=str) == plain.encode("three four", out_type=str)


def test_the_flags_of_training_are_said(tmp_path):
    """What the checkpoint needs is printed and recorded; nothing is typed by hand."""
    output = convert(folder("m2m100"), tmp_path / "out", "--layers", "1", "--target-layer", "1")
    flags = facts(tmp_path / "out")["flags"]
    assert " ".join(flags) in output
    options = dict(zip(flags[::2], flags[1::2], strict=True))
    assert (options["--tdo-layers"], options["--tdo-target-layer"]) == ("2", "1")
    assert (options["--arch"], options["--tdo-model-dim"]) == ("tdo_transformer", "16")
