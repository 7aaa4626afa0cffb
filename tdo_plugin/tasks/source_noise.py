"""Source noise as a step hook (Gao et al., 2022, section 3.1.2, after Devlin et al., 2019).

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
    "rate": (0.15, "source tokens that are selected"),
    "mask": (0.8, "selected tokens that become <mask>"),
    "random": (0.1, "selected tokens that become a random token; the rest stay unchanged"),
}
SALT = 0x6E6F697365  # makes these draws independent of other draws for the same batch


def add_noise_options(parser: ArgumentParser) -> None:
    """Declare the ``--source-noise...`` options."""
    add = parser.add_argument
    add(
        "--source-noise",
        choices=["none", "bert"],
        default="none",
        help="add noise to sources in training; bert: replace some tokens by <mask>, which is "
        "added at the end of the dictionary, or by random tokens; when a trained model is used or "
        "fine-tuned, the checkpoint provides the symbol (default: none)",
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
    """Whether there is no source noise; older checkpoints lack the option."""
    return getattr(args, "source_noise", "none") == "none"


def check_noise_options(args: Namespace) -> None:
    """Refuse shares out of range, and noise that would have no effect.

    Raises:
        UserError: a value is invalid.
    """
    values = {name: getattr(args, f"source_noise_{name}", SHARES[name][0]) for name in SHARES}
    if no_noise(args):
        for name, (default, _) in SHARES.items():
            if values[name] != default:
                raise UserError(
                    f"`--source-noise-{name}` must not be set if `--source-noise` is none; it "
                    f"is {values[name]}"
                )
        return
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise UserError(f"`--source-noise-{name}` must be from 0 to 1; it is {value}")
    disturbed = values["mask"] + values["random"]
    if disturbed > 1 + 1e-9:
        raise UserError(
            "`--source-noise-mask` and `--source-noise-random` must sum to at most 1; their sum "
            f"is {disturbed:g}"
        )
    if not values["rate"] or not disturbed:
        name = "rate" if not values["rate"] else "mask"
        raise UserError(
            f"`--source-noise-{name}` must be above 0, or --source-noise none: it would have no "
            "effect; it is 0.0"
        )


def add_mask_symbol(dictionaries: Sequence[Dictionary]) -> None:
    """Append the mask symbol to dictionaries; other ids stay unchanged.

    Raises:
        UserError: a dictionary already has it.
    """
    for dictionary in {id(loaded): loaded for loaded in dictionaries}.values():
        if MASK in dictionary:
            raise UserError(
                f"`--source-noise` must be none if the dictionary already has {MASK}, as with "
                "--lang-tok-style mbart; it is bert"
            )
        dictionary.add_symbol(MASK)


class SourceNoise:
    """Adds noise to the source of every batch; the batch also keeps the clean source.

    Tags and end symbols are never changed. The draws are a function of seed, update and the batch's
    sentences, so that they differ between epochs and no state is kept.

    Args:
        task: its source dictionary has the mask symbol.
    """

    def __init__(self, task: Any) -> None:
        args, dictionary = task.args, task.source_dictionary
        self._seed = args.seed
        self._rate = args.source_noise_rate
        self._shares = args.source_noise_mask, args.source_noise_random
        self._mask = dictionary.index(MASK)
        words = torch.ones(len(dictionary), dtype=torch.bool)
        # fillers that pad the vocabulary to a multiple of 8 are not words
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
        """The batch with noise on its source."""
        fed = sample["net_input"]
        clean = fed["src_tokens"]
        noised, counts = self.disturbed(clean, [SALT, *key_of(sample, self._seed, update)])
        batch = {**sample, "net_input": {**fed, "src_tokens": noised}, CLEAN_SOURCE: clean}
        return [batch], counts

    def disturbed(self, clean: Tensor, key: Sequence[int]) -> tuple[Tensor, dict[str, float]]:
        """A source (B, S) with noise, and the numbers of eligible, selected and masked tokens."""
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
        return noised.to(clean.device, non_blocking=True), logs

    def log(self, logging_outputs: Sequence[dict[str, Any]]) -> None:
        """Log the shares of source tokens that were selected and that were masked."""
        able, picked, masked = (
            sum(log[f"noise_{name}"] for log in logging_outputs)
            for name in ("able", "picked", "masked")
        )
        for entry, value in (("noise_picked", picked), ("noise_masked", masked)):
            metrics.log_scalar(entry, value / max(able, 1), able, round=4)
