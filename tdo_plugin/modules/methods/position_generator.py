"""The adversarial generator of TPDM (Chen et al., 2023, sections 3.3 and 4.3.2).

Shapes: B sentences, S source, D model width.
"""

from dataclasses import replace

from torch import Tensor, nn

from tdo_plugin.modules.builder import SOURCE, Builder
from tdo_plugin.modules.layer import JointLayer
from tdo_plugin.modules.linear import Linear
from tdo_plugin.modules.masks import SourceMask
from tdo_plugin.modules.segment_tokens import LastQueries
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.token_context import NO_CONTEXT


class PositionGenerator(nn.Module):
    """G: predicts positional embeddings from the semantic embeddings of a sentence.

    Has no position information: equal embeddings give equal predictions.

    Args:
        layer: an encoder layer.
        projection: applied to the layer's output.
    """

    def __init__(self, layer: JointLayer, projection: Linear) -> None:
        super().__init__()
        self.layer = layer
        self.projection = projection

    @classmethod
    def of(cls, spec: ModelSpec) -> "PositionGenerator":
        """A generator of the size of a source layer, shared by all languages, without dropout."""
        plain = replace(
            spec.same_for_all(), dropout=0.0, attention_dropout=0.0, activation_dropout=0.0
        )
        builder = Builder(plain, padding_idx=0)
        alone = spec.tpdm_layer <= spec.entry_layer
        inner = spec.stage1_ffn_dim if alone else spec.stage2_ffn_dim
        return cls(builder.joint_layer(0, inner, SOURCE), builder.square())

    def forward(self, semantic: Tensor, padding: Tensor) -> Tensor:
        """h (B, S, D) to G(h) of the same shape; every token sees its whole sentence.

        Args:
            semantic: h.
            padding: boolean (B, S), true at padding, on either side.
        """
        visible = SourceMask(padding, padded=True, causal=False).whole
        kv = self.layer.project_kv(semantic)
        output = self.layer.forward_queries(LastQueries(semantic, kv, visible, NO_CONTEXT))
        projected: Tensor = self.projection(output)
        return projected
