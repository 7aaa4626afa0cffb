"""The target of a conversion: an architecture, and the original's layers in each stack."""

import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.names import check_languages
from tdo_plugin.pretrained.original import TAG_FLAGS, Sizes
from tdo_plugin.pretrained.parameter_origins import MOST_LAYERS, Layers

ENCODER_DECODER, TWO_STAGE = "tdo_encoder_decoder", "tdo_transformer"
# the option for the layers of a stack
STACKS = {"layers": "--stack", "encoder_layers": "--encoder", "decoder_layers": "--decoder"}


@dataclass(frozen=True)
class Design:
    """The model that the original is converted to.

    Attributes:
        arch: `tdo_transformer`, a prefix or causal decoder-only model, or `tdo_encoder_decoder`.
        half: N: layers of encoder and of decoder, or half the layers of a decoder-only model;
            None: as in the original.
        target_layer: M of a two-stage model; None: N.
        adaptation_dim: inner size of its adaptation modules; None: the FFN's.
        stacks: the original's layers for each stack, if not the first ones: `layers` of a
            decoder-only model, `encoder_layers` and `decoder_layers`.
        languages: of the original, to be used by the checkpoint's task; at least two.
        seed: of the new parameters' initialisation.
        tag_flags: those of the original, for an encoder-decoder.
    """

    arch: str
    half: int | None
    target_layer: int | None
    adaptation_dim: int | None
    stacks: Mapping[str, Layers]
    languages: Sequence[str]
    seed: int
    tag_flags: Sequence[tuple[str, str]] = TAG_FLAGS

    def __post_init__(self) -> None:
        if self.half is not None and self.half > MOST_LAYERS:
            raise UserError(f"`--layers` must be at most {MOST_LAYERS}; it is {self.half}")
        if len(self.languages) < 2:
            raise UserError(
                f"`--langs` must name at least two languages; it names {len(self.languages)}"
            )
        check_languages(self.languages, "`--langs` and `--new-langs`")
        if self.arch == TWO_STAGE:
            return
        two_stage_only = {
            "--target-layer": self.target_layer,
            "--adaptation-dim": self.adaptation_dim,
        }
        for option, value in two_stage_only.items():
            if value is not None:
                raise UserError(
                    f"`{option}` must not be set with `--to {self.arch}`, which does not have two "
                    f"stages; it is {value}"
                )

    def layers(self, sizes: Sizes) -> dict[str, Layers]:
        """The original's layers for each stack.

        Raises:
            UserError: layers do not exist, or their number differs from the stack's.
        """
        if self.arch == ENCODER_DECODER:
            by_stack = {
                f"{side}_layers": Layers.first(side, self.half or sizes.layers(side))
                for side in ("encoder", "decoder")
            }
        else:
            half = self.half or sizes.decoder_layers // 2
            if not half:
                raise UserError(
                    f"`CHECKPOINT` must have two decoder layers for `--to {self.arch}`; it has one"
                )
            by_stack = {"layers": Layers.first("decoder", 2 * half)}
        if foreign := [STACKS[name] for name in self.stacks if name not in by_stack]:
            raise UserError(f"`{foreign[0]}` must not be set with `--to {self.arch}`; it is set")
        for name, usual in by_stack.items():
            chosen = self.stacks.get(name, usual)
            if not chosen.numbers:
                chosen = Layers.first(chosen.side, len(usual.numbers))
            chosen.check(sizes, len(usual.numbers), STACKS[name])
            by_stack[name] = chosen
        if "decoder_layers" in by_stack and by_stack["decoder_layers"].side != "decoder":
            raise UserError(
                "`--decoder` must name layers of the decoder, which have cross-attention; it is "
                f"{by_stack['decoder_layers']}"
            )
        return by_stack

    def flags(self, sizes: Sizes, stacks: Mapping[str, Layers]) -> list[str]:
        """Options of `fairseq-train` for training the converted checkpoint."""
        common = {
            "--arch": self.arch,
            "--tdo-norm": "pre",
            "--tdo-model-dim": sizes.model_dim,
            "--tdo-heads": sizes.num_heads,
            "--max-source-positions": sizes.max_positions,
            "--max-target-positions": sizes.max_positions,
        }
        flags = {**common, **self._own_flags(sizes, stacks)}
        return [word for pair in flags.items() for word in map(str, pair) if word]

    def arguments(self, sizes: Sizes, stacks: Mapping[str, Layers]) -> Namespace:
        """The options of model and task, as `fairseq-train` would parse them."""
        from fairseq import options

        usual = ("data", "--task", "tdo_translation", "--optimizer", "adam")
        # a folder without checkpoints, so that no training seems to be resumed
        words = [*usual, "--save-dir", os.devnull, *self.flags(sizes, stacks)]
        args: Namespace = options.parse_args_and_arch(
            options.get_training_parser(), input_args=words
        )
        args.langs = list(self.languages)
        args.lang_pairs = [f"{a}-{b}" for a, b in permutations(self.languages, 2)]
        return args

    def _own_flags(self, sizes: Sizes, stacks: Mapping[str, Layers]) -> dict[str, Any]:
        """Options of the architecture; a flag without a value has an empty value."""
        inner = {name: sizes.ffn_dim(layers.side) for name, layers in stacks.items()}
        numbers = {name: len(layers.numbers) for name, layers in stacks.items()}
        if self.arch == ENCODER_DECODER:
            return {
                "--tdo-encoder-layers": numbers["encoder_layers"],
                "--tdo-decoder-layers": numbers["decoder_layers"],
                "--tdo-stage1-ffn-dim": inner["encoder_layers"],
                "--tdo-ffn-dim": inner["decoder_layers"],
                **dict(self.tag_flags),
            }
        flags = {
            "--tdo-layers": numbers["layers"],
            "--tdo-ffn-dim": inner["layers"],
            "--encoder-langtok": "tgt",
        }
        if self.arch == TWO_STAGE:
            flags["--tdo-target-layer"] = _given(self.target_layer, numbers["layers"] // 2)
            flags["--tdo-adaptation-dim"] = _given(self.adaptation_dim, inner["layers"])
        return flags


def _given(value: int | None, default: int) -> int:
    return default if value is None else value
