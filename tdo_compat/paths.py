"""Paths of fairseq's options that must be there before anything begins.

fairseq trains from nothing where ``--restore-file`` has a typing mistake, and ends in a traceback
where most others have one. ``--path``, ``--user-dir`` and the data folder are not here: what is
wrong with them is told where they are read.
"""

import os
from typing import Any

# fairseq's option -> what it does where it is left out, as part of the message
PATHS = {
    "restore_file": "without it, a training goes on from checkpoint_last.pt of `--save-dir`",
    "finetune_from_model": "",
    "continue_once": "",
    "lang_dict": "",
    "source_dict": "",
    "target_dict": "",
    "fixed_dictionary": "",
    "sampling_weights_from_file": "",
    "bpe_codes": "",
    "sentencepiece_model": "",
    "gpt2_encoder_json": "",
    "gpt2_vocab_bpe": "",
    "bpe_vocab_file": "",
    "bpe_merges": "",
    "bpe_vocab": "",
    "encoder_embed_path": "",
    "decoder_embed_path": "",
    "lm_path": "",
    "kenlm_model": "",
    "lexicon": "",
    "input": "",
}
MAY_BE_MISSING = ("checkpoint_last.pt", "-")  # defaults: of --restore-file, and standard input
MOST = 200  # characters of a path that are shown


class MissingPathError(FileNotFoundError):
    """An option names a file that is not there."""

    one_line = True


def check_paths(args: Any) -> None:
    """Hold the options of a command against the files that are there.

    Args:
        args: parsed options.

    Raises:
        MissingPathError: one names a file that is not there.
    """
    for name, hint in PATHS.items():
        path = getattr(args, name, None)
        if not isinstance(path, str) or not path or path in MAY_BE_MISSING or "://" in path:
            continue
        if not os.path.exists(path):
            shown = ascii(path)[1:-1][:MOST]
            raise MissingPathError(
                f"`--{name.replace('_', '-')}` must be a file that is there; {shown} is not"
                + (f" ({hint})" if hint else "")
            )
