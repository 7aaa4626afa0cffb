"""Tiny random models in the formats of the real ones, and a watch on the network."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

SENTENCES = [
    "the white dog reads a long book about the sea",
    "das weiße Pferd trinkt kaltes Wasser aus dem Fluss",
    "la maison blanche est près de la mer et du vent",
    "zwei Hunde lesen zusammen ein altes Buch am Meer",
    "the horse drinks cold water near the white house",
]
SMALL = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}


def _save(model_class: type, folder: Path, seed: int, **settings: int) -> None:
    import torch

    torch.manual_seed(seed)
    model = model_class(model_class.config_class(**SMALL, **settings))
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() == 2:  # far from the usual start, so that scores differ
                weights.normal_(std=1.0 if "word_embeddings" in name else 0.1)
    model.save_pretrained(folder)


@pytest.fixture(scope="session")
def xlm_roberta(tmp_path_factory):
    """`xlm_roberta(layers, seed)`: the folder of such a model with a SentencePiece tokenizer."""

    def build(layers: int = 3, seed: int = 1) -> Path:
        import sentencepiece
        from transformers import XLMRobertaModel, XLMRobertaTokenizer

        folder = tmp_path_factory.mktemp("xlm-roberta")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(SENTENCES * 5),
            model_prefix=str(folder / "sentencepiece.bpe"),
            **{"vocab_size": 120, "hard_vocab_limit": False, "minloglevel": 2},
        )
        tokenizer = XLMRobertaTokenizer(str(folder / "sentencepiece.bpe.model"))
        tokenizer.save_pretrained(folder)
        settings = {"num_hidden_layers": layers, "vocab_size": len(tokenizer), "pad_token_id": 1}
        _save(XLMRobertaModel, folder, seed, **settings, max_position_embeddings=514)
        return folder

    return build


@pytest.fixture(scope="session")
def bert(tmp_path_factory):
    """`bert(layers, seed)`: the folder of such a model, whose tokenizer names no longest input."""

    def build(layers: int = 3, seed: int = 1) -> Path:
        from transformers import BertModel, BertTokenizer

        folder = tmp_path_factory.mktemp("bert")
        words = sorted({word for line in SENTENCES for word in line.split()})
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
        (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
        tokenizer = BertTokenizer(str(folder / "vocab.txt"), do_lower_case=False)
        tokenizer.save_pretrained(folder)
        _save(BertModel, folder, seed, num_hidden_layers=layers, vocab_size=len(tokenizer))
        return folder

    return build


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty cache of the Hugging Face Hub; `hub(name, folder)` puts a model into it."""
    root = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(root))

    def put(name: str, folder: Path) -> Path:
        place = root / f"models--{name.replace('/', '--')}"
        (place / "refs").mkdir(parents=True)
        (place / "refs" / "main").write_text("0123456789abcdef")
        return Path(shutil.copytree(folder, place / "snapshots" / "0123456789abcdef"))

    return put


@pytest.fixture
def requests(monkeypatch):
    """Every attempt to reach the network, which fails; libraries may hide that from the caller."""
    seen: list[object] = []

    def refuse(*arguments: object, **more: object) -> None:
        seen.append(arguments)
        raise OSError("no network in tests")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    # whatever the user's environment says
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("transformers.utils.hub._is_offline_mode", False)
    return seen
