"""The classes of an exported folder, as this package's own modules."""

import pytest
import torch
from sentencepiece import SentencePieceProcessor
from support.parity_cases import PAD, TWO_STAGE
from support.remote_code import EOS, LANGUAGES, SYMBOLS, batch, core_of, opened
from transformers import DataCollatorForSeq2Seq

from tdo_plugin.export.remote_code.cache_tdo import TdoCache
from tdo_plugin.export.remote_code.configuration_tdo import TdoConfig
from tdo_plugin.export.remote_code.folder import configuration, parameters
from tdo_plugin.export.remote_code.generation_tdo import ForcedToken, languages
from tdo_plugin.export.remote_code.modeling_tdo import TdoForConditionalGeneration
from tdo_plugin.export.remote_code.tokenization_tdo import TdoTokenizer
from tdo_plugin.export.tokenizer_files import build_tokenizer

AWARE = {**TWO_STAGE, "laln": "both", "num_languages": 3}
TAG = {code: SYMBOLS.index(f"__{code}__") for code in LANGUAGES}


def model_of(source_tag="tgt", target_tag=None, **case):
    model = opened(core_of(**case), source_tag, target_tag)
    settings = configuration(model, torch.float64)
    made = TdoForConditionalGeneration(TdoConfig(**settings)).double().eval()
    made.load_state_dict(parameters(model, torch.float64))
    made.restore_tables()
    return made


def ids_of(given):
    return {name: given[name] for name in ("src_lang_id", "tgt_lang_id")}


def tokenizer(source_tag="tgt", target_tag=None):
    model = opened(core_of(**TWO_STAGE), source_tag, target_tag)
    made = TdoTokenizer(
        tokenizer_object=build_tokenizer(model.segmentation, model.symbols),
        **{"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
        languages=list(LANGUAGES),
        language_tags=[model.tags[code] for code in LANGUAGES],
        source_tag=source_tag,
        target_tag=target_tag,
        split_special_tokens=True,
        model_input_names=["input_ids", "attention_mask", "src_lang_id", "tgt_lang_id"],
    )
    made.segmentation = SentencePieceProcessor(model_proto=model.segmentation)
    return made


def test_a_configuration_without_arguments_is_possible():
    """transformers compares with it when it saves one."""
    assert TdoConfig().to_diff_dict()["model_type"] == "tdo"
    config = TdoConfig(**configuration(opened(core_of(**AWARE)), torch.float64))
    assert config.spec == core_of(**AWARE).spec
    assert config.hidden_size == config.model_dim == 8
    assert TdoConfig.from_dict(config.to_dict()).spec == config.spec


def test_languages_are_read_from_tags_or_must_be_given():
    model, given = model_of(**AWARE), batch()
    told = model(given["source"], decoder_input_ids=given["target"], **ids_of(given)).logits
    read = model(given["source"], decoder_input_ids=given["target"]).logits
    torch.testing.assert_close(read, told, rtol=0, atol=0)
    other = model_of(source_tag="src", **AWARE)
    with pytest.raises(ValueError, match="`tgt_lang_id` must be the index of each sentence's"):
        other(given["source"], decoder_input_ids=given["target"])
    with pytest.raises(ValueError, match="`tgt_lang_id` must be"):
        languages(model.config, "tgt", None, given["source"][:, 1:])
    assert languages(model.config, "tgt", torch.tensor([[1], [2]]), None).tolist() == [1, 2]


def test_an_adapter_for_each_pair_or_an_error():
    model, given = model_of(**TWO_STAGE, adapter_dim=4), batch()
    ids = ids_of(given)
    assert model(given["source"], decoder_input_ids=given["target"], **ids).logits.isfinite().all()
    swapped = dict(zip(ids, reversed(ids.values()), strict=True))
    with pytest.raises(LookupError, match="en-de"):
        model(given["source"], decoder_input_ids=given["target"], **swapped)


def test_each_target_begins_with_its_tag():
    model, given = model_of(source_tag="src", target_tag="tgt", **AWARE), batch()
    words = {**ids_of(given), "max_new_tokens": 4}
    tags = [TAG[LANGUAGES[code]] for code in words["tgt_lang_id"].tolist()]
    for settings in (
        {},
        {"num_beams": 3},
        {"do_sample": True, "num_return_sequences": 2},
        {"num_beams": 2, "num_return_sequences": 2},
    ):
        output = model.generate(given["source"], **words, **settings)
        rows = len(output) // len(tags)
        assert output[:, 0].eq(EOS).all()
        assert output[:, 1].tolist() == [tag for tag in tags for _ in range(rows)]
    french = {"forced_bos_token_id": TAG["fr"], "num_beams": 2}
    assert model.generate(given["source"], **words, **french)[:, 1].eq(TAG["fr"]).all()
    with pytest.raises(ValueError, match="`tgt_lang_id` must be"):
        model.generate(given["source"], max_new_tokens=4)
    scores = torch.randn(4, 9)
    first = ForcedToken(torch.tensor([5, 7]), 1)
    forced = first(torch.zeros(4, 1), scores)
    assert forced.argmax(1).tolist() == [5, 5, 7, 7]
    assert forced[0, 5] == scores[0, 5]
    assert first(torch.zeros(4, 2), scores) is scores
    scores[:, 5] = -torch.inf
    assert first(torch.zeros(4, 1), scores)[0, 5] == 0


def test_forced_tokens_count():
    """As in fairseq; in transformers they would be free."""
    model, given = model_of(**TWO_STAGE), batch()
    settings = {"num_beams": 2, "max_new_tokens": 2, "min_new_tokens": 1, "length_penalty": 0.0}
    settings |= {"return_dict_in_generate": True, "output_scores": True}
    for forced in ({}, {"forced_bos_token_id": TAG["de"]}):
        output = model.generate(given["source"], **settings, **forced, forced_eos_token_id=EOS)
        assert output.sequences[:, 2].eq(EOS).all()
        assert not forced or output.sequences[:, 1].eq(TAG["de"]).all()
        logits = model(given["source"], decoder_input_ids=output.sequences[:, :2]).logits
        steps = logits.log_softmax(-1).gather(2, output.sequences[:, 1:, None])
        expected = steps.sum((1, 2)).to(output.sequences_scores)
        torch.testing.assert_close(output.sequences_scores, expected, rtol=0, atol=1e-5)


def test_attention_masks_hide_tokens():
    model, given = model_of(**TWO_STAGE), batch()
    source, target = given["source"], given["target"]
    hidden = torch.where(source.eq(PAD), 9, source)  # a token where padding was
    expected = model(source, decoder_input_ids=target).logits[target.ne(PAD)]
    actual = model(
        hidden,
        attention_mask=source.ne(PAD).long(),
        decoder_input_ids=torch.where(target.eq(PAD), 9, target),
        decoder_attention_mask=target.ne(PAD),
    ).logits[target.ne(PAD)]
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


def test_the_cache_has_the_names_of_both_versions():
    model, given = model_of(**TWO_STAGE), batch()
    encoded = model.get_encoder()(given["source"])
    first = model(encoder_outputs=encoded, decoder_input_ids=given["target"][:, :1], use_cache=True)
    cache = first.past_key_values
    assert isinstance(cache, TdoCache) and cache is first.cache
    assert cache.get_seq_length() == 1
    later = {"decoder_input_ids": given["target"][:, 1:2], "past_key_values": cache}
    second = model(encoder_outputs=encoded, **later)
    assert second.cache is cache and second.logits.size(1) == 1
    # outputs of source layers
    with_states = model.get_encoder()(given["source"], output_hidden_states=True)
    assert len(with_states.hidden_states) == 3
    assert encoded.hidden_states is None
    torch.testing.assert_close(encoded.last_hidden_state, with_states.hidden_states[1])


def test_what_is_impossible_is_said():
    model, source, target = model_of(**TWO_STAGE), batch()["source"], batch()["target"]
    as_dict = {"return_dict_in_generate": True}
    for settings, message in (
        ({**as_dict, "output_attentions": True}, "`output_attentions` must be off in `generate`"),
        ({**as_dict, "output_hidden_states": True}, "`output_hidden_states` must be off in"),
        ({"prompt_lookup_num_tokens": 3}, "`prompt_lookup_num_tokens` must be off"),
        ({"assistant_model": model}, "`assistant_model` must be left out"),
    ):
        with pytest.raises(ValueError, match=message):
            model.generate(source, **settings)
    with pytest.raises(ValueError, match=r"\(tgt_lang\) in every row.* row 0 has none"):
        model.generate(source[:, 1:])
    with pytest.raises(ValueError, match="`output_attentions` must be off"):
        model(source, decoder_input_ids=target, output_attentions=True)
    with pytest.raises(ValueError, match="`decoder_input_ids` or `labels` must be given"):
        model(source)
    with pytest.raises(NotImplementedError, match="the vocabulary is fixed"):
        model.resize_token_embeddings(50)


def test_weights_must_be_complete(tmp_path):
    model = model_of(**TWO_STAGE)
    state = model.state_dict()
    state.pop("core.stack.layers.0.attention.query.bias")
    model.save_pretrained(tmp_path, state_dict=state)
    with pytest.raises(ValueError, match="the weights must be complete; core"):
        TdoForConditionalGeneration.from_pretrained(tmp_path)


def test_each_sentence_has_its_tag():
    made = tokenizer(target_tag="tgt")
    texts = ["one two three", "vier"]
    rows = made(texts, src_lang="en", tgt_lang=["de", "fr"], text_target=texts, padding=True)
    plain = made(texts, add_special_tokens=False, src_lang="en", tgt_lang="de")["input_ids"]
    assert [row[0] for row in rows["input_ids"]] == [TAG["de"], TAG["fr"]]
    assert rows["input_ids"][0] == [TAG["de"], *plain[0], EOS] == rows["labels"][0]
    assert [token for token in rows["input_ids"][1] if token != PAD] == [TAG["fr"], *plain[1], EOS]
    assert rows["src_lang_id"] == [0, 0] and rows["tgt_lang_id"] == [1, 2]
    alone = made("one two three", src_lang="en", tgt_lang="de")
    assert alone["input_ids"] == rows["input_ids"][0] and alone["tgt_lang_id"] == 1
    tensors = made("one two three", src_lang="en", tgt_lang="de", return_tensors="pt")
    assert tensors["input_ids"].shape == (1, len(alone["input_ids"]))
    assert tensors["tgt_lang_id"].tolist() == [1]
    short = made(texts, src_lang="en", tgt_lang="de", truncation=True, max_length=4)["input_ids"]
    assert max(map(len, short)) == 4 and short[0] == [TAG["de"], *plain[0][:2], EOS]
    for longest in (0, 1):
        with pytest.raises(ValueError, match=r"`max_length` must be at least 2, .* it is"):
            made(texts, src_lang="en", tgt_lang="de", truncation=True, max_length=longest)
    whole = made(texts, src_lang="en", tgt_lang="de", truncation="do_not_truncate", max_length=2)
    assert whole["input_ids"][0] == rows["input_ids"][0]
    assert made.encode("one two three", src_lang="en", tgt_lang="de") == alone["input_ids"]
    target = made(text_target=texts, tgt_lang="fr")["input_ids"]
    assert [row[0] for row in target] == [TAG["fr"]] * 2
    assert made.decode(rows["input_ids"][0], skip_special_tokens=True) == "one two three"
    assert made.batch_decode([[EOS], []], skip_special_tokens=True) == ["", ""]
    ids = [EOS, TAG["de"], *plain[0], 3, TAG["fr"], EOS, PAD]  # as `tdo translate` shows them
    assert made.decode(ids, skip_special_tokens=True) == "one two three<unk>__fr__"
    assert (
        made("one\r\ntwo", tgt_lang="de")["input_ids"]
        == made("one two", tgt_lang="de")["input_ids"]
    )


def test_languages_can_be_set_once():
    made = tokenizer(source_tag="src")
    with pytest.raises(ValueError, match="`src_lang` and `tgt_lang` must be among the model's"):
        made("one")
    made.src_lang, made.tgt_lang = "en", "fr"
    assert made("one")["input_ids"][0] == TAG["en"]
    for wrong in ({"src_lang": "xx"}, {"src_lang": ["en"], "text": ["one", "two"]}):
        with pytest.raises(ValueError, match="`src_lang`"):
            made(**{"text": "one", **wrong})
    with pytest.raises(ValueError, match="`text_target` must have 1 sentences; it has 2"):
        made("one", text_target=["one", "two"])
    with pytest.raises(ValueError, match="`text` or `text_target` must be given"):
        made()


def test_fine_tuning_batches_of_transformers():
    model, made = model_of(source_tag="src", target_tag="tgt", **AWARE), tokenizer("src", "tgt")
    sentences = [("one", "eins zwei", "en", "de"), ("one two", "un", "en", "fr")]
    rows = [
        dict(made(text, text_target=target, src_lang=source, tgt_lang=code))
        for text, target, source, code in sentences
    ]
    collated = DataCollatorForSeq2Seq(made, model)(rows)
    assert collated["decoder_input_ids"][:, 0].eq(EOS).all()
    loss = model(**collated).loss
    parts = [model(**DataCollatorForSeq2Seq(made, model)([row])) for row in rows]
    tokens = [len(row["labels"]) for row in rows]
    expected = sum(part.loss * n for part, n in zip(parts, tokens, strict=True)) / sum(tokens)
    torch.testing.assert_close(loss, expected)
