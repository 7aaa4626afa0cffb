"""Small random models in the formats of M2M-100 and NLLB, made by the real classes."""

import functools
import io
import json
import shutil
from pathlib import Path

import torch
from support.built_models import in_double_precision, moved
from support.commands import printed
from support.data import NUMBERS, TAG, TASK, TRAIN, databin, temporary, train
from support.made import made_once

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
PAD = SPECIALS.index("<pad>")
NLLB_CODES = {"en": "eng_Latn", "de": "deu_Latn", "fr": "fra_Latn", "es": "spa_Latn"}
SIZES = {
    "d_model": 16,
    "encoder_layers": 3,
    "decoder_layers": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 32,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
}
PRE_NORM = ("--encoder-normalize-before", "--decoder-normalize-before")
FAIRSEQ_MODEL = (
    *("--arch", "transformer", *PRE_NORM, "--share-all-embeddings"),
    *("--encoder-embed-dim", "16", "--encoder-ffn-embed-dim", "24", "--encoder-layers", "2"),
    *("--decoder-embed-dim", "16", "--decoder-ffn-embed-dim", "32", "--decoder-layers", "4"),
    *("--encoder-attention-heads", "2", "--decoder-attention-heads", "2"),
)


@functools.cache
def segmentation() -> bytes:
    """A SentencePiece model of the numbers' words, which are cut into several pieces."""
    import sentencepiece

    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(NUMBERS.values()),
        model_writer=trained,
        vocab_size=60,
        model_type="bpe",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return trained.getvalue()


def pieces() -> list[str]:
    """Those of the model that are no special symbols."""
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_proto=segmentation())
    return [model.id_to_piece(number) for number in range(3, model.get_piece_size())]


@made_once
def folder(out: Path, family: str, **changes) -> None:
    """A folder in Hugging Face's format; ``changes`` are of its configuration."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    rows = _tokenizer(out, family)
    config = M2M100Config(**{"vocab_size": rows, **SIZES, **changes})
    torch.manual_seed(4)
    model = moved(M2M100ForConditionalGeneration(config), 0.2)
    _like_the_end(model, 2)  # so that searches end at different lengths
    model.save_pretrained(out)


def _like_the_end(model, times: int) -> None:
    with torch.no_grad():
        end = model.model.shared.weight[2]
        model.model.decoder.layer_norm.bias.add_(times * end / end.norm())


def _tokenizer(out: Path, family: str) -> int:
    """Write the tokenizer's files, and say how many rows its model has."""
    (out / "sentencepiece.bpe.model").write_bytes(segmentation())
    first = len(SPECIALS) + len(pieces())  # row behind the pieces
    if family == "nllb":
        return _nllb_tokenizer(out, first) + 2
    from transformers import M2M100Tokenizer

    vocabulary = {symbol: row for row, symbol in enumerate((*SPECIALS, *pieces()))}
    (out / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    path = out / "sentencepiece.bpe.model"
    M2M100Tokenizer(str(out / "vocab.json"), str(path)).save_pretrained(out)
    return first + 100 + 8


def _nllb_tokenizer(out: Path, first: int) -> int:
    """Say the rows as the published folders do: tags behind the pieces, the mask last.

    A tokenizer that the library makes anew has others, and from version 5 on none of the tags.
    """
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

    added = (*FAIRSEQ_LANGUAGE_CODES, "<mask>")
    numbered = [*enumerate(SPECIALS), *enumerate(added, first)]
    plain = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    rows = {str(row): {"content": name, "special": True, **plain} for row, name in numbered}
    rows[str(first + len(added) - 1)] |= {"lstrip": True, "normalized": True}
    config = {
        "added_tokens_decoder": rows,
        "additional_special_tokens": FAIRSEQ_LANGUAGE_CODES,
        **dict(zip(("bos_token", "pad_token", "eos_token", "unk_token"), SPECIALS, strict=True)),
        **{"cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"},
        **{"src_lang": "eng_Latn", "tokenizer_class": "NllbTokenizer", "legacy_behaviour": False},
    }
    (out / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return first + len(added)


def original_model(family: str, path: Path | None = None):
    """The model of a folder, :func:`folder` by default, and its tokenizer, in double precision."""
    from transformers import M2M100ForConditionalGeneration, M2M100Tokenizer, NllbTokenizer

    kind = {"m2m100": M2M100Tokenizer, "nllb": NllbTokenizer}[family]
    path = path or folder(family)
    model = M2M100ForConditionalGeneration.from_pretrained(path).double().eval()
    for side in (model.model.encoder, model.model.decoder):
        # they are made in single precision, whatever the model's
        side.embed_positions.weights = sinusoids(*side.embed_positions.weights.shape)
    return model, kind.from_pretrained(path)


def sinusoids(positions: int, dim: int) -> torch.Tensor:
    """Positions (positions, dim) of the Transformer's formula; that of padding, 1, is zero."""
    half = dim // 2
    steps = torch.arange(half, dtype=torch.float64) / (half - 1)
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * 10000.0**-steps
    encodings = torch.cat([angles.sin(), angles.cos()], 1)
    encodings[1] = 0
    return encodings


def convert(original, out, *words, family="m2m100", to="tdo_transformer") -> str:
    """What `tdo convert` prints, in this process."""
    return printed("convert", original, "--from", family, "--to", to, "--out", out, *words)


def facts(out: Path) -> dict:
    """What a conversion says of itself."""
    return json.loads((out / "conversion.json").read_text())


def loaded(out: Path):
    """The converted model in double precision, and its dictionary, as fairseq reads them."""
    from fairseq import checkpoint_utils
    from fairseq.data import Dictionary

    from tdo_plugin.models.tdo_transformer import TdoTransformer
    from tdo_plugin.tasks.tdo_translation import TdoTranslationTask

    state = checkpoint_utils.load_checkpoint_to_cpu(str(out / "model.pt"))
    dictionary = Dictionary.load(str(out / "dict.txt"))
    args = state["cfg"]["model"]
    task = TdoTranslationTask(args, args.langs, dict.fromkeys(args.langs, dictionary), True)
    task.load_state_dict(state["task_state"])
    with in_double_precision():  # the sinusoids too
        model = task.build_model(args)
    assert isinstance(model, TdoTransformer)
    model.load_state_dict(state["model"], strict=True)
    return model.double().eval(), dictionary


def copied(family: str, to: Path) -> Path:
    """A folder to damage."""
    return Path(shutil.copytree(folder(family), to))


def that_ends_sooner(family: str, to: Path) -> Path:
    """A folder whose model likes the end symbol more, so that few sentences reach a limit."""
    from transformers import M2M100ForConditionalGeneration

    path = copied(family, to)
    model = M2M100ForConditionalGeneration.from_pretrained(path)
    _like_the_end(model, 1)
    model.save_pretrained(path)
    return path


def fairseq_checkpoint() -> Path:
    """A transformer that fairseq itself trained for three updates."""
    return _fairseq_model() / "checkpoint_last.pt"


@made_once
def _fairseq_model(out: Path) -> None:
    flags = ("--task", "translation_multi_simple_epoch", *TASK, *TAG, *TRAIN, *FAIRSEQ_MODEL)
    more = ("--criterion", "cross_entropy", "--max-update", "3", "--disable-validation")
    train(out, *flags, *more)


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
    """The options that such a checkpoint needs."""
    return "--dict", databin() / "dict.en.txt", "--spm", spm_file()
