"""Sources disturbed as a step hook (Gao et al., 2022, section 3.1.2, after Devlin et al., 2019).

Shapes: B sentences, S source.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary
from fairseq.logging import metrics
from torch import Tensor

from tdo_plugin.errors import UserError
from tdo_plugin.models.batch_keys import CLEAN_SOURCE
from tdo_plugin.models.languages import tag_ids
from tdo_plugin.tasks.step_hooks import Sample, key_of

MASK = "<mask>"
SHARES = {
    "rate": (0.15, "the source's tokens that are picked"),
    "mask": (0.8, "those that become <mask>"),
    "random": (0.1, "those that become a random token; the rest stay as they are"),
}
SALT = 0x6E6F697365  # so that other draws of the same batch are others


def add_noise_options(parser: ArgumentParser) -> None:
    """Declare the ``--source-noise...`` options."""
    add = parser.add_argument
    add(
        "--source-noise",
        choices=["none", "bert"],
        default="none",
        help="disturb sources in training: bert puts for some tokens the symbol <mask>, which the "
        "dictionary gets behind all others, or random ones; a model that is used, or trained on, "
        "has it from its checkpoint (default: none)",
    )
    for name, (default, what) in SHARES.items():
        add(
            f"--source-noise-{name}",
            type=float,
            default=default,
            metavar="SHARE",
            help=f"share of {what} (default: {default})",
        )


def no_noise(args: Namespace) -> bool:
    """Whether sources stay as they are; older checkpoints do not say it."""
    return getattr(args, "source_noise", "none") == "none"


def check_noise_options(args: Namespace) -> None:
    """Refuse shares out of range, and noise that is asked for and disturbs nothing.

    Raises:
        UserError: such a value.
    """
    values = {name: getattr(args, f"source_noise_{name}", SHARES[name][0]) for name in SHARES}
    if no_noise(args):
        for name, (default, _) in SHARES.items():
            if values[name] != default:
                raise UserError(
                    f"`--source-noise-{name}` must be left out where `--source-noise` is none; it "
                    f"is {values[name]}"
                )
        return
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise UserError(f"`--source-noise-{name}` must be from 0 to 1; it is {value}")
    disturbed = values["mask"] + values["random"]
    if disturbed > 1 + 1e-9:
        raise UserError(
            "`--source-noise-mask` and `--source-noise-random` must be at most 1 together; they "
            f"are {disturbed:g}"
        )
    if not values["rate"] or not disturbed:
        name = "rate" if not values["rate"] else "mask"
        raise UserError(
            f"`--source-noise-{name}` must be above 0, or --source-noise none: nothing would be "
            "disturbed; it is 0.0"
        )


def add_mask_symbol(dictionaries: Sequence[Dictionary]) -> None:
    """The symbol for masked tokens behind all others, whose ids stay.

    Raises:
        UserError: a dictionary has it already.
    """
    for dictionary in {id(loaded): loaded for loaded in dictionaries}.values():
        if MASK in dictionary:
            raise UserError(
                f"`--source-noise` must be none with a dictionary that has {MASK} already, as "
                "--lang-tok-style mbart adds it; it is bert"
            )
        dictionary.add_symbol(MASK)


class SourceNoise:
    """Disturbs the source of every batch, which keeps the undisturbed one beside it.

    Tags and end symbols are never disturbed. What is drawn is a function of seed, update and the
    batch's sentences, so that it differs from epoch to epoch and nothing is kept in between.

    Args:
        task: whose source dictionary has the mask symbol.
    """

    def __init__(self, task: Any) -> None:
        args, dictionary = task.args, task.source_dictionary
        self._seed = args.seed
        self._rate = args.source_noise_rate
        self._shares = args.source_noise_mask, args.source_noise_random
        self._mask = dictionary.index(MASK)
        words = torch.ones(len(dictionary), dtype=torch.bool)
        # the padding that makes a vocabulary a multiple of 8 stands for no word
        filler = (symbol for symbol in dictionary.symbols if symbol.startswith("madeupword"))
        left_out = [dictionary.bos(), dictionary.pad(), dictionary.eos(), self._mask]
        left_out += [*tag_ids(task), *map(dictionary.index, filler)]
        words[left_out] = False
        self._disturbed = words.clone()
        words[dictionary.unk()] = False
        self._random = words.nonzero()[:, 0]

    def batches(
        self, sample: Sample, model: Any, update: int
    ) -> tuple[list[Sample], dict[str, float]]:
        """The batch with its source disturbed."""
        fed = sample["net_input"]
        clean = fed["src_tokens"]
        noised, counts = self.disturbed(clean, [SALT, *key_of(sample, self._seed, update)])
        batch = {**sample, "net_input": {**fed, "src_tokens": noised}, CLEAN_SOURCE: clean}
        return [batch], counts

    def disturbed(self, clean: Tensor, key: Sequence[int]) -> tuple[Tensor, dict[str, float]]:
        """A source (B, S) disturbed, and how many tokens could be, were picked and masked."""
        random = np.random.default_rng([number % 2**32 for number in key])
        tokens = clean.cpu()
        picked, kind = (torch.from_numpy(random.random(tokens.shape)) for _ in range(2))
        drawn = torch.from_numpy(random.integers(0, len(self._random), tokens.shape))
        able = self._disturbed[tokens]
        picks = able & (picked < self._rate)
        mask, random_share = self._shares
        masks = picks & (kind < mask)
        replaced = picks & (kind >= mask) & (kind < mask + random_share)
        noised = tokens.masked_fill(masks, self._mask)
        noised = torch.where(replaced, self._random[drawn], noised)
        counts = {"able": able, "picked": picks, "masked": masks}
        logs = {f"noise_{name}": float(flags.sum()) for name, flags in counts.items()}
        return noised.to(clean.device), logs

    def log(self, logging_outputs: Sequence[dict[str, Any]]) -> None:
        """Shares of the source's tokens that were picked, and that were masked."""
        able, picked, masked = (
            sum(log[f"noise_{name}"] for log in logging_outputs)
            for name in ("able", "picked", "masked")
        )
        for entry, value in (("noise_picked", picked), ("noise_masked", masked)):
            metrics.log_scalar(entry, value / max(able, 1), able, round=4)
