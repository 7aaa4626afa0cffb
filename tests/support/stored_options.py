"""Checkpoints that hold the options of a training, and no model."""

from argparse import Namespace
from pathlib import Path

PAIRS = "en-de,de-en,en-fr,fr-en,en-es,es-en"
LIMITS = {"max_source_positions": 40, "max_target_positions": 50}


def saved(path: Path, task: str = "tdo_translation", **settings: object) -> str:
    """A checkpoint of a training with these options."""
    import torch

    usual = {
        **{"task": task, "lang_pairs": PAIRS.split(","), "langs": ["en", "de", "fr", "es"]},
        **{"lang_tok_style": "multilingual", **LIMITS},
    }
    cfg = {"task": Namespace(**{**usual, **settings}), "model": {"_name": "tdo_transformer"}}
    torch.save({"model": {}, "cfg": cfg}, path)
    return str(path)
