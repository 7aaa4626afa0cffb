"""The stock `fairseq-preprocess` over every pair, in one process instead of hundreds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from tdo_plugin.data.textfolder import Pair, TextFolder
from tdo_plugin.errors import UserError


def commands(
    folder: TextFolder, out: Path, workers: int, zero_shot_valids: Collection[Pair] = ()
) -> list[list[str]]:
    """The `fairseq-preprocess` command of every pair, without the program's name.

    Training pairs come with their training, validation and test sets, all other pairs with their
    test set and, where they are among `zero_shot_valids`, their validation set. fairseq reads a
    pair both ways, so each stands once. Both dictionaries are given and `--joined-dictionary` is
    not: with it fairseq refuses a folder that has dictionaries already.
    """
    pieces = out / "pieces"
    tests = {frozenset(pair): (pair, prefix) for pair, prefix in folder.test_pairs()}
    result = []
    for pair in folder.pairs:
        name = f"{pair[0]}-{pair[1]}"
        inputs = ["--trainpref", str(pieces / f"train.{name}")]
        inputs += ["--validpref", str(pieces / f"valid.{name}")]
        test = tests.pop(frozenset(pair), None)
        if test and (test[0] == pair or test[1] == "test"):
            inputs += ["--testpref", str(pieces / test[1])]
        elif test:  # the test set names the pair the other way round
            tests[frozenset(pair)] = test
        result.append(_command(pair, inputs, out, workers))
    others: dict[Pair, list[str]] = {}
    for pair, prefix in tests.values():
        others[pair] = ["--testpref", str(pieces / prefix)]
    for pair in zero_shot_valids:
        others.setdefault(pair, []).extend(
            ["--validpref", str(pieces / f"valid.{pair[0]}-{pair[1]}")]
        )
    return result + [_command(pair, inputs, out, workers) for pair, inputs in others.items()]


def _command(pair: tuple[str, str], inputs: list[str], out: Path, workers: int) -> list[str]:
    dictionary = str(out / "dict.txt")
    return [
        *("--source-lang", pair[0], "--target-lang", pair[1], *inputs),
        *("--srcdict", dictionary, "--tgtdict", dictionary),
        *("--destdir", str(out), "--workers", str(workers)),
    ]


def run(arguments: Sequence[Sequence[str]], before: Callable[[Sequence[str]], None]) -> None:
    """Run fairseq's own `main` on each list of arguments; `before` is called with it first.

    Raises:
        UserError: fairseq is missing or refuses.
    """
    try:
        from fairseq import options
        from fairseq_cli import preprocess
    except ImportError as error:
        raise UserError(
            f"`fairseq` must be installed (see `tdo doctor`); it is not ({error})"
        ) from None
    log = logging.getLogger("fairseq_cli.preprocess")
    log.setLevel(logging.WARNING)
    for words in arguments:
        before(words)
        try:
            preprocess.main(options.get_preprocessing_parser().parse_args(list(words)))
        except (OSError, AssertionError) as error:
            raise UserError(f"`fairseq-preprocess` must succeed; it says: {error}") from None
        finally:
            for handler in [h for h in log.handlers if isinstance(h, logging.FileHandler)]:
                log.removeHandler(handler)
                handler.close()
    for words in arguments[:1]:
        (Path(words[words.index("--destdir") + 1]) / "preprocess.log").unlink(missing_ok=True)
