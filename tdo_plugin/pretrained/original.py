"""A pre-trained encoder-decoder, independent of its file format.

Shapes: V entries of the dictionary, D model width.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import count, islice
from pathlib import Path

from torch import Tensor

from tdo_plugin.errors import UserError
from tdo_plugin.pretrained.exported_text import ExportedText

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")  # the first entries of every fairseq dictionary
FILLER = "madeupword{:04d}"  # fairseq's name of padding rows
SIDES = ("encoder", "decoder")
PROJECTED = ("q_proj", "k_proj", "v_proj", "out_proj")
# as in the training of M2M-100 and NLLB: each side begins with its own tag
TAG_FLAGS = (("--encoder-langtok", "src"), ("--decoder-langtok", ""))


@dataclass(frozen=True)
class Sizes:
    """The architecture, as read from a checkpoint."""

    encoder_layers: int
    decoder_layers: int
    model_dim: int
    num_heads: int
    encoder_ffn_dim: int
    decoder_ffn_dim: int
    max_positions: int

    def layers(self, side: str) -> int:
        """The number of layers of `encoder` or `decoder`."""
        return self.encoder_layers if side == "encoder" else self.decoder_layers

    def ffn_dim(self, side: str) -> int:
        """The inner FFN size of `encoder` or `decoder`."""
        return self.encoder_ffn_dim if side == "encoder" else self.decoder_ffn_dim

    def parameters(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Names and shapes of all parameters except the embeddings."""
        width = self.model_dim
        for side in SIDES:
            inner = self.ffn_dim(side)
            attentions = ("self_attn", "encoder_attn") if side == "decoder" else ("self_attn",)
            matrices = {
                f"{attention}.{part}": (width, width)
                for attention in attentions
                for part in PROJECTED
            }
            matrices.update(fc1=(inner, width), fc2=(width, inner))
            norms = [*(f"{attention}_layer_norm" for attention in attentions), "final_layer_norm"]
            for number in range(self.layers(side)):
                layer = f"{side}.layers.{number}"
                for part, shape in matrices.items():
                    yield f"{layer}.{part}.weight", shape
                    yield f"{layer}.{part}.bias", shape[:1]
                for norm in norms:
                    yield f"{layer}.{norm}.weight", (width,)
                    yield f"{layer}.{norm}.bias", (width,)
            yield f"{side}.layer_norm.weight", (width,)
            yield f"{side}.layer_norm.bias", (width,)


@dataclass(frozen=True)
class Original:
    """A pre-trained model.

    Attributes:
        path: of its files.
        sizes: its architecture.
        symbols: names of the rows (V) of its embeddings, beginning with the four special symbols.
        tags: the row of each language's tag, by language, in the order of rows.
        parameters: by fairseq's names, which begin with `encoder.` and `decoder.`; the embeddings
            (V, D) once, as `embeddings`.
        segmentation: the content of its SentencePiece model file.
        remarks: notes on its rows, for the user.
        tag_flags: options of its training, with values, that say which tags sources and targets
            begin with.
        exported: the text of a model that this package trained; None for other models.
    """

    path: Path
    sizes: Sizes
    symbols: Sequence[str]
    tags: Mapping[str, int]
    parameters: Mapping[str, Tensor]
    segmentation: bytes
    remarks: Sequence[str] = ()
    tag_flags: Sequence[tuple[str, str]] = TAG_FLAGS
    exported: ExportedText | None = None

    def __post_init__(self) -> None:
        expected = dict(self.sizes.parameters())
        for name, shape in expected.items():
            stored = self.parameters.get(name)
            if stored is None or stored.shape != shape:
                raise UserError(
                    f"{self.path} must have {name} of shape {list(shape)}; it has "
                    + ("none" if stored is None else str(list(stored.shape)))
                )
        if strange := [name for name in self.parameters if name not in {"embeddings", *expected}]:
            raise UserError(
                f"{self.path} must be a dense M2M-100 or NLLB of the size that it records; it also "
                f"has {strange[0]}"
            )
        rows = len(self.parameters["embeddings"])
        if tuple(self.symbols[: len(SPECIALS)]) != SPECIALS:
            raise UserError(
                f"{self.path} must have {' '.join(SPECIALS)} as its first entries; it has "
                + " ".join(self.symbols[: len(SPECIALS)])
            )
        if len(self.symbols) != rows:
            raise UserError(
                f"{self.path} must have as many embeddings as entries in its dictionary; it has "
                f"{rows} and {len(self.symbols)}"
            )
        if len({*self.symbols}) < rows:
            twice = Counter(self.symbols).most_common(1)[0][0]
            raise UserError(f"{self.path} must name each entry once; {twice} occurs twice")

    def named(self, names: Mapping[str, str]) -> "Original":
        """The same model with some languages renamed.

        Args:
            names: new names, by the original's names.

        Raises:
            UserError: the model does not have a language, or a name is taken.
        """
        if unknown := [language for language in names if language not in self.tags]:
            raise UserError(
                f"`--langs` must name languages of {self.path}; it has none named "
                f"{unknown[0]} ({_alike(unknown[0], self.tags)})"
            )
        tags = {names.get(language, language): row for language, row in self.tags.items()}
        if len(tags) < len(self.tags):
            taken = next(new for old, new in names.items() if new != old and new in self.tags)
            raise UserError(
                f"`--langs` must not rename a language to another's name; {taken} is taken"
            )
        symbols = list(self.symbols)
        for language, row in tags.items():
            symbols[row] = tag(language)
        return replace(self, symbols=symbols, tags=tags)


def tag(language: str) -> str:
    """A language's tag in fairseq's multilingual tasks."""
    return f"__{language}__"


def fill_up(symbols: list[str], rows: int) -> list[int]:
    """Append fairseq's names of padding rows up to ``rows`` symbols.

    Returns:
        The numbers of these rows.
    """
    taken = {*symbols}
    added = list(range(len(symbols), rows))
    free = (name for number in count() if (name := FILLER.format(number)) not in taken)
    symbols.extend(islice(free, len(added)))
    return added


def _alike(name: str, tags: Mapping[str, int]) -> str:
    close = get_close_matches(name, tags, cutoff=0.4) or list(tags)[:5]
    return "its languages are " + ", ".join(close) + (", ..." if len(tags) > 5 else "")
