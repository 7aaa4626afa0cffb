"""`tdo convert` on small random models."""

import functools
import json
import os
import re
import shutil
import signal
from argparse import Namespace
from pathlib import Path

import pytest
import torch
from integration.data import (
    TAG,
    TASK,
    TRAIN,
    databin,
    kept_logging,
    temporary,
    train,
)
from integration.pretrained import (
    NLLB_CODES,
    SIZES,
    convert,
    facts,
    folder,
    loaded,
    pieces,
    segmentation,
)

from tdo_plugin.cli import main
from tdo_plugin.pretrained.fairseq_own import DATA_SOURCES
from tdo_plugin_checkpoint import safe_load

PRE_NORM = ("--encoder-normalize-before", "--decoder-normalize-before")
FAIRSEQ_MODEL = (
    *("--arch", "transformer", *PRE_NORM, "--share-all-embeddings"),
    *("--encoder-embed-dim", "16", "--encoder-ffn-embed-dim", "24", "--encoder-layers", "2"),
    *("--decoder-embed-dim", "16", "--decoder-ffn-embed-dim", "32", "--decoder-layers", "4"),
    *("--encoder-attention-heads", "2", "--decoder-attention-heads", "2"),
)


@functools.cache
def fairseq_checkpoint() -> Path:
    """A transformer that fairseq itself trained for three updates."""
    out = temporary() / "fairseq-own"
    flags = ("--task", "translation_multi_simple_epoch", *TASK, *TAG, *TRAIN, *FAIRSEQ_MODEL)
    more = ("--criterion", "cross_entropy", "--max-update", "3", "--disable-validation")
    train(out, *flags, *more)
    return out / "checkpoint_last.pt"


@functools.cache
def spm_file() -> Path:
    """A SentencePiece model whose pieces are the dictionary's words."""
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(segmentation())
    del model.pieces[3:]
    for line in (databin() / "dict.en.txt").read_text(encoding="utf-8").splitlines():
        model.pieces.add(piece=line.split()[0], score=0)
    path = temporary() / "pieces.model"
    path.write_bytes(model.SerializeToString())
    return path


def own_files() -> tuple[object, ...]:
    return "--dict", databin() / "dict.en.txt", "--spm", spm_file()


@pytest.fixture
def refused(capsys):
    """The one line of a conversion that is refused; nothing is written."""

    def run(original, out, *words, family="m2m100", to="tdo_transformer") -> str:
        given = ["convert", original, "--from", family, "--to", to, "--out", out, *words]
        before = sorted(out.parent.iterdir())
        with kept_logging():
            assert main([*map(str, given)]) == 2
        assert sorted(out.parent.iterdir()) == before
        message = capsys.readouterr().err
        assert len(message.splitlines()) == 1, message
        return message

    return run


def test_a_checkpoint_of_fairseq_is_the_same_function(tmp_path):
    """The dictionary lacks the tags, which fairseq's task adds while it runs."""
    from fairseq import checkpoint_utils

    said = convert(fairseq_checkpoint(), tmp_path / "out", *own_files(), to="tdo_encoder_decoder")
    assert "2 + 4 layers, d = 16, 2 heads, 35 entries, 4 languages" in said
    assert re.search(r"rows 31 to 34 are the tags that .* lacks", said)
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
        found, _ = model(source, prev_output_tokens=previous)
    there = previous.ne(1)
    # fairseq's positions are in single precision
    torch.testing.assert_close(found[there], expected[there], rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["m2m100", "nllb"])
def test_a_two_stage_model_is_made_of_decoder_layers(family, tmp_path):
    out = tmp_path / "out"
    said = convert(folder(family), out, family=family)
    model, dictionary = loaded(out)
    own = safe_load(str(out / "model.pt"), map_location="cpu")["model"]
    original = _tensors(folder(family))
    for ours, theirs in (
        ("stack.layers.2.attention.key.weight", "decoder.layers.2.self_attn.k_proj.weight"),
        ("stack.layers.0.feed_forward.outer.bias", "decoder.layers.0.fc2.bias"),
        (
            "stack.layers.3.feed_forward_residual.norm.weight",
            "decoder.layers.3.final_layer_norm.weight",
        ),
        ("stack.exit.1.bias", "decoder.layer_norm.bias"),
        ("embeddings.source.weight", "shared.weight"),
    ):
        assert torch.equal(own[f"core.{ours}"], original[f"model.{theirs}"]), ours
    spec = model.core.spec
    assert (spec.num_layers, spec.target_layer, spec.adaptation_dim, spec.norm) == (4, 2, 32, "pre")
    found = facts(out)
    d, inner, rows = SIZES["d_model"], SIZES["decoder_ffn_dim"], len(dictionary)
    attention, norm = 4 * (d * d + d), 2 * d
    network = 2 * d * inner + d + inner
    assert found["taken"] == rows * d + 4 * (attention + network + 2 * norm) + norm
    assert found["new"] == {"stack.entry": norm + network, "stack.exit": network}
    assert found["dropped"]["cross-attention"] == 4 * (attention + norm)
    assert found["parameters"] == found["taken"] + sum(found["new"].values())
    for word in ("taken:", "dropped:", "new:", "rows:", "written:"):
        assert word in said


def _tensors(path: Path):
    from safetensors.torch import load_file

    return load_file(path / "model.safetensors")


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
                code = NLLB_CODES[language]
                row = tokenizer.convert_tokens_to_ids(code)
                assert dictionary.index(f"__{code}__") == row
            else:
                row = tokenizer.lang_token_to_id[f"__{language}__"]
                assert dictionary.index(f"__{language}__") == row
            assert row != dictionary.unk()
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
    assert "does not say its tags' rows" in convert(silent, tmp_path / "out", family="nllb")
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
        name.removeprefix("model."): one for name, one in _tensors(folder(family)).items()
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
    (out / "dict.txt").write_text("".join(f"{one} 1\n" for one in entries), encoding="utf-8")
    (out / "spm.model").write_bytes(segmentation())
    return out / "model.pt", "--dict", out / "dict.txt", "--spm", out / "spm.model"


@pytest.mark.parametrize(
    ("family", "has_tags"), [("m2m100", True), ("m2m100", False), ("nllb", False)]
)
def test_both_formats_of_a_model_give_the_same_rows(family, has_tags, tmp_path):
    """They disagree in what they call the rows that are neither piece nor tag."""
    original, *files = as_fairseq_has_it(family, tmp_path, has_tags)
    said = convert(original, tmp_path / "one", *files, family=family)
    convert(folder(family), tmp_path / "other", family=family)
    (one, names), (other, expected) = loaded(tmp_path / "one"), loaded(tmp_path / "other")
    assert len(names) == len(expected)
    unnamed = range(len(names)) if family == "m2m100" else range(len(names) - 3)
    assert [names[row] for row in unnamed] == [expected[row] for row in unnamed]
    if family == "nllb":
        assert [names[row] for row in (-3, -2, -1)] == [*DATA_SOURCES]
        assert [expected[row] for row in (-3, -2, -1)] == [f"madeupword000{n}" for n in range(3)]
    assert ("are the tags that" in said) != has_tags
    assert facts(tmp_path / "one")["languages"] == facts(tmp_path / "other")["languages"]
    ours, theirs = one.state_dict(), other.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())


@pytest.mark.parametrize("ending", ["safetensors", "bin"])
def test_weights_in_parts(ending, tmp_path):
    from safetensors.torch import save_file

    whole = _tensors(folder("m2m100"))
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
    one, two = (loaded(tmp_path / name)[0].state_dict() for name in ("one", "two"))
    assert all(torch.equal(value, two[key]) for key, value in one.items())


def test_half_precision_becomes_single(tmp_path):
    half = copied("m2m100", tmp_path / "half")
    (half / "model.safetensors").unlink()
    stored = {key: value.half() for key, value in _tensors(folder("m2m100")).items()}
    torch.save(stored, half / "pytorch_model.bin")
    convert(half, tmp_path / "out", "--layers", "1")
    made = safe_load(str(tmp_path / "out" / "model.pt"), map_location="cpu")["model"]
    table = made["core.embeddings.source.weight"]
    assert table.dtype == torch.float32
    assert torch.equal(table, stored["model.shared.weight"].float())


def copied(family: str, to: Path) -> Path:
    return Path(shutil.copytree(folder(family), to))


def test_languages_by_names_of_ones_own(tmp_path):
    out = tmp_path / "out"
    names = ",".join(f"{ours}={theirs}" for ours, theirs in NLLB_CODES.items())
    convert(folder("nllb"), out, "--languages", names, family="nllb")
    _, dictionary = loaded(out)
    convert(folder("nllb"), tmp_path / "all", family="nllb")
    _, own = loaded(tmp_path / "all")
    for ours, theirs in NLLB_CODES.items():
        assert dictionary.index(f"__{ours}__") == own.index(f"__{theirs}__")
    assert facts(out)["languages"] == list(NLLB_CODES)


def test_which_layers_is_a_choice(tmp_path):
    out = tmp_path / "baseline"
    chosen = ("--layers", "2", "--encoder", "decoder:1,4", "--decoder", "decoder:3-4")
    convert(folder("m2m100"), out, *chosen, to="tdo_encoder_decoder")
    own = safe_load(str(out / "model.pt"), map_location="cpu")["model"]
    original = _tensors(folder("m2m100"))
    name = "feed_forward.inner.weight"
    for side, numbers in (("encoder", (0, 3)), ("decoder", (2, 3))):
        for ours, theirs in enumerate(numbers):
            found = own[f"core.stack.{side}_layers.{ours}.{name}"]
            assert torch.equal(found, original[f"model.decoder.layers.{theirs}.fc1.weight"])
    assert "encoder.layer_norm" not in facts(out)["dropped"]
    words = ("--layers", "2", "--encoder", "decoder")  # its first ones
    convert(folder("m2m100"), tmp_path / "first", *words, to="tdo_encoder_decoder")
    stacks = facts(tmp_path / "first")["stacks"]
    assert stacks == {"encoder_layers": "decoder:1,2", "decoder_layers": "decoder:1,2"}
    convert(folder("m2m100"), tmp_path / "stack", "--layers", "1", "--stack", "encoder:3,2")
    own = safe_load(str(tmp_path / "stack" / "model.pt"), map_location="cpu")["model"]
    found = own[f"core.stack.layers.0.{name}"]
    assert torch.equal(found, original["model.encoder.layers.2.fc1.weight"])


def test_new_languages_come_behind_all_rows(tmp_path):
    text = tmp_path / "text"
    text.write_text("\n".join(["bat bi hiru lau bost sei zazpi"] * 5), encoding="utf-8")
    added = ("--new-languages", "eus", "--like", "es", "--extend-vocabulary", text)
    convert(folder("m2m100"), tmp_path / "old")
    said = convert(folder("m2m100"), tmp_path / "new", *added, "--new-pieces", "40")
    old_model, old = loaded(tmp_path / "old")
    model, dictionary = loaded(tmp_path / "new")
    assert dictionary.symbols[: len(old)] == old.symbols
    assert dictionary.symbols[len(old)] == "__eus__" and len(dictionary) > len(old) + 1
    assert "1 tags and" in said
    table, before = (one.core.embeddings.source.weight for one in (model, old_model))
    assert torch.equal(table[: len(old)], before)
    assert torch.equal(table[len(old)], before[old.index("__es__")])
    import sentencepiece

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
    known = [before[old.index(part)] for part in parts if part in old.indices]
    torch.testing.assert_close(table[row], torch.stack(known).mean(0), rtol=0, atol=1e-6)
    # what the old model knew is cut as before
    assert extended.encode("three four", out_type=str) == plain.encode("three four", out_type=str)


def test_bad_requests_are_one_line(refused, tmp_path):
    m2m, out = folder("m2m100"), tmp_path / "out"
    line = refused
    assert "up to 4, as many as the decoder has, or `--layers` be less" in line(
        m2m, out, "--layers", "3"
    )
    assert "`--layers` must be at most 1000" in line(m2m, out, "--layers", str(10**9))
    assert "`--seed` must be from 0 to" in line(m2m, out, "--seed", str(10**20))
    assert "`--stack` must be encoder or decoder" in line(m2m, out, "--stack", "1-4")
    assert "`--stack` must be encoder or decoder" in line(m2m, out, "--stack", "decoder:4-1")
    assert "`--stack` must name 4 layers" in line(m2m, out, "--stack", "decoder:1-3")
    assert "up to 4" in line(m2m, out, "--stack", "decoder:2-5")
    assert "`--stack` must be left out" in line(
        m2m, out, "--stack", "decoder:1-4", to="tdo_encoder_decoder"
    )
    assert "`--decoder` must name layers of the decoder" in line(
        m2m, out, "--layers", "3", "--decoder", "encoder:1-3", to="tdo_encoder_decoder"
    )
    assert "none called xx" in line(m2m, out, "--languages", "en,xx")
    assert "no tags of nllb" in line(m2m, out, family="nllb")
    assert "at least two" in line(m2m, out, "--languages", "en")
    assert "`--new-languages` must be new" in line(m2m, out, "--new-languages", "de")
    assert "must come with `--new-languages`" in line(m2m, out, "--like", "de")
    assert "must be a file or folder that exists" in line(tmp_path / "none", out)
    assert "`--dict` must be given" in line(fairseq_checkpoint(), out)
    assert "`--dict` must be left out" in line(m2m, out, *own_files())
    for words in (("--adaptation-dim", "8"), ("--target-layer", "1")):
        for arch in ("tdo_prefix_decoder_only", "tdo_encoder_decoder"):
            assert f"`{words[0]}` must be left out" in line(m2m, out, *words, to=arch)
    assert "name of another; de is one" in line(m2m, out, "--languages", "de=en,fr")
    assert "letters, digits and underscores" in line(m2m, out, "--languages", "e-n=en,fr")
    assert "letters, digits and underscores" in line(m2m, out, "--new-languages", "e s")
    new = ("--new-languages", "eus")
    assert "`--new-pieces` must come with `--new-l" in line(m2m, out, "--new-pieces", "9")
    assert "`--new-pieces` must come with `--ext" in line(m2m, out, *new, "--new-pieces", "9")
    text = tmp_path / "text"
    extend = (*new, "--extend-vocabulary", text)
    assert "`--extend-vocabulary` must name files" in line(m2m, out, *extend)
    text.touch()
    assert "`--new-pieces` must suit the text" in line(m2m, out, *extend)
    dictionary = tmp_path / "dictionary"
    dictionary.write_text("one 1\ntwo\t-1.5\n")
    own = fairseq_checkpoint()
    assert "line 2 of" in line(own, out, "--dict", dictionary, "--spm", spm_file())
    other = tmp_path / "other.model"
    other.write_bytes(segmentation())
    assert "`--spm` must cut text into entries" in line(own, out, *own_files()[:2], "--spm", other)


def test_other_models_are_refused(refused, tmp_path):
    out = tmp_path / "out"
    config = folder("m2m100") / "config.json"
    for changes, said in (
        ({"activation_function": "gelu"}, "activation_function is relu"),
        ({"model_type": "marian"}, "model_type is m2m_100"),
        ({"d_model": "16"}, "whole number above 0 as d_model"),
        ({"max_position_embeddings": None}, "above 0 as max_position_embeddings; it is None"),
        ({"decoder_layers": 5}, "must have decoder.layers.4.self_attn.q_proj.weight"),
        ({"decoder_layers": 3}, "it has decoder.layers.3."),
        ({"encoder_ffn_dim": 12}, "of shape [12, 16]; it has [24, 16]"),
    ):
        other = copied("m2m100", tmp_path / "other")
        (other / "config.json").write_text(
            json.dumps({**json.loads(config.read_text()), **changes})
        )
        assert said in refused(other, out)
        shutil.rmtree(other)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("model.safetensors", "cut", "model.safetensors must be whole"),
        ("model.safetensors.index.json", "{", "model.safetensors.index.json must be readable"),
        ("model.safetensors.index.json", "{}", "model.safetensors.index.json must be readable"),
        ("sentencepiece.bpe.model", "no", "must be a SentencePiece model"),
        ("config.json", "[1]", "config.json must be readable"),
        ("vocab.json", "[1]", "must hold a tokenizer of m2m100"),
        ("tokenizer_config.json", "{", "must hold a tokenizer of m2m100"),
        ("vocab.json", None, "must hold vocab.json"),
        ("model.safetensors", None, "must hold model.safetensors or pytorch_model.bin"),
    ],
)
def test_damaged_folders_are_one_line(name, content, said, refused, tmp_path):
    other = copied("m2m100", tmp_path / "other")
    if content is None:
        (other / name).unlink()
    else:
        (other / name).write_text(content)
    assert said in refused(other, tmp_path / "out")


def test_a_pickle_that_holds_no_parameters_is_one_line(refused, tmp_path):
    other = copied("m2m100", tmp_path / "other")
    (other / "model.safetensors").unlink()
    for stored in ([1], {"model.shared.weight": [1.0]}):
        torch.save(stored, other / "pytorch_model.bin")
        assert "must hold parameters by name" in refused(other, tmp_path / "out")


def test_the_flags_of_training_are_said(tmp_path):
    """What the checkpoint needs is printed and recorded; nothing is typed by hand."""
    said = convert(folder("m2m100"), tmp_path / "out", "--layers", "1", "--target-layer", "1")
    flags = facts(tmp_path / "out")["flags"]
    assert " ".join(flags) in said
    given = dict(zip(flags[::2], flags[1::2], strict=True))
    assert (given["--tdo-layers"], given["--tdo-target-layer"]) == ("2", "1")
    assert (given["--arch"], given["--tdo-model-dim"]) == ("tdo_transformer", "16")


def test_a_folder_is_replaced_only_when_asked(refused, tmp_path):
    out = tmp_path / "out"
    convert(folder("m2m100"), out, "--seed", "1")
    before = (out / "model.pt").read_bytes()
    assert "`--force`" in refused(folder("m2m100"), out, "--seed", "2")
    assert (out / "model.pt").read_bytes() == before
    convert(folder("m2m100"), out, "--seed", "2", "--force")
    assert (out / "model.pt").read_bytes() != before
    own = tmp_path / "mine"
    own.mkdir()
    (own / "thesis").write_text("years")
    assert "`--out` must be new" in refused(folder("m2m100"), own, "--force")


def test_an_earlier_conversion_outlives_one_that_fails(tmp_path, monkeypatch):
    """Also where the last step fails, and no folder beside it is touched."""
    out, beside = tmp_path / "out", tmp_path / "out.partial"
    beside.mkdir()
    (beside / "thesis").write_text("years")
    convert(folder("m2m100"), out)
    before = (out / "model.pt").read_bytes()
    rename = Path.rename

    def failing(self, target):
        if self.name == "new":
            raise OSError(5, "Input/output error", str(target))
        return rename(self, target)

    def ended(self, target):
        if self.name == "new":
            os.kill(os.getpid(), signal.SIGTERM)
        return rename(self, target)

    given = ["--from", "m2m100", "--to", "tdo_transformer", "--out", out, "--force"]
    words = ["convert", *map(str, (folder("m2m100"), *given))]
    with kept_logging():
        monkeypatch.setattr(Path, "rename", failing)
        assert main(words) == 2
        monkeypatch.setattr(Path, "rename", ended)
        with pytest.raises(SystemExit) as end:
            main(words)
    assert end.value.code == 128 + signal.SIGTERM
    assert (out / "model.pt").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.partial"]
    assert (beside / "thesis").read_text() == "years"
