"""The pre-trained encoder-decoder's parameter for each parameter of a model.

Layers are numbered from 1, as in the papers.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from tdo_plugin.errors import UserError
from tdo_plugin.pretrained.original import SIDES, Sizes

LAYER = re.compile(r"stack\.(?P<stack>\w*layers)\.(?P<number>\d+)\.(?P<part>.+)")
END = re.compile(r"stack\.(?P<end>bridge|output_block)\.\d+\.(?P<kind>weight|bias)")
EMBEDDINGS = "embeddings.source.weight"
MOST_LAYERS = 1000  # so that a wrong range is refused before it is expanded
# parts of a layer: this package's name and fairseq's
PARTS = {
    "attention.query": "self_attn.q_proj",
    "attention.key": "self_attn.k_proj",
    "attention.value": "self_attn.v_proj",
    "attention.out": "self_attn.out_proj",
    "attention_residual.norm": "self_attn_layer_norm",
    "cross_attention.query": "encoder_attn.q_proj",
    "cross_attention.key": "encoder_attn.k_proj",
    "cross_attention.value": "encoder_attn.v_proj",
    "cross_attention.out": "encoder_attn.out_proj",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "feed_forward_residual.norm": "final_layer_norm",
}


@dataclass(frozen=True)
class Layers:
    """Layers of one side of the original, in the order in which a stack uses them.

    Attributes:
        side: `encoder` or `decoder`.
        numbers: from 1; empty: the first ones, as many as the stack has.
    """

    side: str
    numbers: Sequence[int]

    @classmethod
    def parse(cls, text: str, option: str) -> "Layers":
        """Parse `decoder:1-6,8`, or `decoder`.

        Raises:
            UserError: the text has another form.
        """
        if text in SIDES:
            return cls(text, ())
        side, _, listed = text.partition(":")
        numbers: list[int] = []
        for span in listed.split(","):
            match = re.fullmatch(r"([1-9]\d*)(?:-([1-9]\d*))?", span.strip(), re.ASCII)
            if match is None or side not in SIDES or int(match[1]) > int(match[2] or match[1]):
                raise UserError(
                    f"`{option}` must be encoder or decoder, or layers of either, from 1, such as "
                    f"decoder:1-6,8; it is {text}"
                )
            last = int(match[2] or match[1])
            if last > MOST_LAYERS:
                raise UserError(f"`{option}` must name layers up to {MOST_LAYERS}; it is {text}")
            numbers += range(int(match[1]), last + 1)
        return cls(side, tuple(numbers))

    @classmethod
    def first(cls, side: str, count: int) -> "Layers":
        """The first ``count`` of a side."""
        return cls(side, tuple(range(1, count + 1)))

    def __str__(self) -> str:
        return f"{self.side}:{','.join(map(str, self.numbers))}"

    def check(self, sizes: Sizes, count: int, option: str) -> None:
        """Raise UserError if there are not ``count`` layers, or the original lacks one."""
        if len(self.numbers) != count:
            raise UserError(
                f"`{option}` must name {count} layers, as many as the stack has; it names "
                f"{len(self.numbers)}"
            )
        if max(self.numbers) > sizes.layers(self.side):
            raise UserError(
                f"`{option}` must name layers up to {sizes.layers(self.side)}, the number in the "
                f"{self.side}, or `--layers` must be less; it is {self}"
            )


def origins(
    parameters: Mapping[str, Tensor], stacks: Mapping[str, Layers]
) -> dict[str, str | None]:
    """The original's parameter for each parameter, by the model's name.

    Args:
        parameters: a model's parameters and buffers.
        stacks: the original's layers in each stack: `layers`, or `encoder_layers` and
            `decoder_layers`.

    Returns:
        The original's names; None for new parameters.
    """
    return {name: _origin(name, stacks) for name in parameters}


def _origin(name: str, stacks: Mapping[str, Layers]) -> str | None:
    if name == EMBEDDINGS:
        return "embeddings"
    if match := LAYER.fullmatch(name):
        part, _, kind = match["part"].rpartition(".")
        taken = stacks[match["stack"]]
        number = taken.numbers[int(match["number"])] - 1
        return f"{taken.side}.layers.{number}.{PARTS[part]}.{kind}" if part in PARTS else None
    if match := END.fullmatch(name):
        # the source leaves an encoder through its last norm; decoder layers have none for it
        if match["end"] == "output_block":
            return f"decoder.layer_norm.{match['kind']}"
        if "encoder_layers" in stacks:
            return f"encoder.layer_norm.{match['kind']}"
    return None
