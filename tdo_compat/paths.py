"""Checks paths of fairseq's options before a command starts.

fairseq trains from scratch if ``--restore-file`` has a typo, and raises tracebacks for typos in
most other paths. ``--path``, ``--user-dir`` and the data folder are not included, since errors in
them are reported where they are read.
"""

import os
from typing import Any

# fairseq's option -> what happens without it, as part of the message
PATHS = {
    "restore_file": "without it, a training resumes from checkpoint_last.pt of `--save-dir`",
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
MOST = 200  # maximum characters of a path in a message


class MissingPathError(FileNotFoundError):
    """An option names a missing file."""

    one_line = True


def check_paths(args: Any) -> None:
    """Check that the files in a command's options exist.

    Args:
        args: parsed options.

    Raises:
        MissingPathError: an option names a missing file.
    """
    for name, hint in PATHS.items():
        path = getattr(args, name, None)
        if not isinstance(path, str) or not path or path in MAY_BE_MISSING or "://" in path:
            continue
        if not os.path.exists(path):
            shown = ascii(path)[1:-1][:MOST]
            raise MissingPathError(
                f"`--{name.replace('_', '-')}` must be an existing file; {shown} does not exist"
                + (f" ({hint})" if hint else "")
            )
