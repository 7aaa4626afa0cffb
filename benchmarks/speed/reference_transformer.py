"""``--arch reference_transformer --reference-ops streams,norms``: see ``reference_ops.py``."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial

from fairseq.models import register_model, register_model_architecture

from speed.reference_ops import OPS, ReferenceBuilder
from tdo_plugin.errors import UserError
from tdo_plugin.models.presets import PRESETS, fill
from tdo_plugin.models.tdo_transformer import TdoTransformer
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.spec import ModelSpec

MODEL_NAME = "reference_transformer"


@register_model(MODEL_NAME)
class ReferenceTransformer(TdoTransformer):
    """Every model of :class:`TdoTransformer`, with the same options and parameters."""

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:
        """Declare the model's options, and the operations in textbook form."""
        super().add_args(parser)
        listed = "; ".join(f"{name} ({what})" for name, what in OPS.items())
        parser.add_argument(
            "--reference-ops",
            default="",
            metavar="A,B",
            help=f"use the textbook form of these operations, or all: {listed}",
        )

    @classmethod
    def builder_of(cls, args: Namespace) -> Callable[[ModelSpec, int], Builder]:
        """As :meth:`TdoTransformer.builder_of`; raises UserError for an unknown operation."""
        text = args.reference_ops
        ops = tuple(OPS) if text == "all" else tuple(filter(None, text.split(",")))
        for op in ops:
            if op not in OPS:
                raise UserError(f"`--reference-ops` must be among {', '.join(OPS)}; it has {op}")
        return partial(ReferenceBuilder, ops=ops)


@register_model_architecture(MODEL_NAME, MODEL_NAME)
def _architecture(args: Namespace) -> None:
    fill(args, PRESETS["tdo_transformer"])
