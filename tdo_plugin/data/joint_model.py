"""One joint SentencePiece model over the training text: settings and training."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from io import BytesIO
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_plugin.data.sampling import sample
from tdo_plugin.data.textfolder import TextFolder
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import replaced, sha256, write_text

if TYPE_CHECKING:
    pass
from tdo_plugin.data.segmentation import CHUNK, MARK, text_lines, vocabulary_lines

META_PIECES = 3  # SentencePiece's <unk>, <s>, </s>
THREADS = 2  # of SentencePiece's training; scores depend slightly on their number
UNICODE = 0x110000  # number of code points
# SentencePiece's BPE by default never merges across scripts, letters with digits, or beyond 16
# characters; that of Sennrich et al. (2016) merges anything within a word (512 is SentencePiece's
# maximum length)
UNRESTRICTED = {
    "split_by_unicode_script": False,
    "split_by_number": False,
    "max_sentencepiece_length": 512,
}


@dataclass(frozen=True)
class SegmentationSettings:
    """How the model is trained; defaults are SentencePiece's, except for the coverage.

    The size is a number of pieces or, for BPE, a number of merge operations as Sennrich et al.
    (2016) count them. In that case the vocabulary consists of a piece for each operation, the
    alphabet (see `Alphabet`), and SentencePiece's three special pieces.

    Raises:
        UserError: both sizes are set, or neither; or operations with another model than BPE.
    """

    vocab_size: int = 0  # pieces, including SentencePiece's three; 0: set by `bpe_operations`
    model_type: str = "unigram"
    character_coverage: float = 1.0
    normalization: str = "nmt_nfkc"
    sentences: int = 0  # maximum number, drawn at random; 0: all
    hub_pairs: tuple[str, ...] = ()  # use the shared language from these pairs only; (): all
    seed: int = 1
    temperature: float = 1.0  # of the languages' shares, see `sampling.quotas`; 1: unchanged
    bounded: bool = True  # draw fewer sentences to limit memory, see `most_sentences`
    bpe_operations: int = 0  # merges; 0: set by `vocab_size`

    def __post_init__(self) -> None:
        if bool(self.vocab_size) == bool(self.bpe_operations):
            raise UserError(
                "exactly one of `--vocab-size` and `--bpe-operations` must be set; they are "
                f"{self.vocab_size} and {self.bpe_operations}"
            )
        if self.bpe_operations and self.model_type != "bpe":
            raise UserError(
                "`--model-type` must be bpe if the size is in BPE operations (`--vocab-size` "
                f"replaces them); it is {self.model_type}"
            )

    def stored(self) -> dict[str, Any]:
        """For records of folders; without unused BPE operations, as in older records."""
        settings = asdict(self)
        if not self.bpe_operations:
            del settings["bpe_operations"]
        return settings


@dataclass(frozen=True)
class Alphabet:
    """The initial symbols of BPE by operations.

    In the code of Sennrich et al. a character at the end of a word and the same character inside
    words are two symbols, which cost no operation. SentencePiece marks word starts and merges the
    mark with the character; these merges are not counted as operations either. So their alphabet
    has characters with and without end of word, this one initial characters and all characters.
    Apart from the mark, the sizes are equal only if as many characters end words as begin them and
    no character occurs only at the end.

    Attributes:
        characters: of the text, including the mark.
        initials: characters that begin words.
    """

    characters: int
    initials: int

    @property
    def symbols(self) -> int:
        """The number of all symbols."""
        return self.characters + self.initials


def training_sides(
    folder: TextFolder, hub_pairs: Sequence[str] = (), digest: Callable[[Path], str] = sha256
) -> list[Path]:
    """The training files for the joint model, without files of equal content.

    Args:
        folder: the corpus.
        hub_pairs: the language that all pairs share is taken only from its pairs with these
            languages, so that it does not outweigh the others (the TDO paper's TED-19 takes
            English from en-ar alone).
        digest: of a file's content.
    """
    unknown = [language for language in hub_pairs if language not in folder.languages]
    if unknown:
        raise UserError(
            f"`--hub-pairs` must name languages of the corpus; {unknown[0]} is not one of them"
        )
    shared = set(folder.languages).intersection(*folder.pairs) if hub_pairs else set()
    seen: set[str] = set()
    sides = []
    for pair in folder.pairs:
        for language in pair:
            partner = pair[1] if language == pair[0] else pair[0]
            if language in shared and partner not in hub_pairs:
                continue
            path = folder.side("train", pair, language)
            if (content := digest(path)) not in seen:
                seen.add(content)
                sides.append(path)
    return sides


def train_model(
    sides: Sequence[Path], prefix: Path, settings: SegmentationSettings, lowercase: bool = False
) -> Alphabet | None:
    """Train `prefix`.model and `prefix`.vocab; both are written atomically.

    A corpus too small for the vocabulary size or the operations gets fewer (`hard_vocab_limit` is
    off).

    Returns:
        The initial alphabet of BPE operations; None if the size is a number of pieces.

    Raises:
        UserError: SentencePiece refuses the settings or the text.
    """
    import sentencepiece

    def text() -> Iterator[str]:
        read = partial(text_lines, lowercase=lowercase)
        if settings.temperature == 1 and not settings.sentences:
            return filter(None, chain.from_iterable(map(read, sides)))
        # SentencePiece itself would draw different sentences each time, whatever the seed
        return sample(sides, read, settings.sentences, settings.temperature, settings.seed)

    alphabet = None
    kind: dict[str, Any] = {"model_type": settings.model_type, "vocab_size": settings.vocab_size}
    if settings.bpe_operations:
        alphabet = _alphabet(text, settings)
        size = alphabet.symbols + settings.bpe_operations + META_PIECES
        kind = {"model_type": "bpe", "vocab_size": size, **UNRESTRICTED}
    trained = _trained(text(), settings, **kind)
    model = sentencepiece.SentencePieceProcessor(model_proto=trained)
    write_text(prefix.with_name(f"{prefix.name}.vocab"), vocabulary_lines(model))
    with replaced(prefix.with_name(f"{prefix.name}.model")) as unfinished:
        unfinished.write_bytes(trained)
    return alphabet


def _alphabet(text: Callable[[], Iterator[str]], settings: SegmentationSettings) -> Alphabet:
    """Counted by SentencePiece itself, so that it agrees with the merges."""
    import sentencepiece

    # not `use_all_vocab`, which includes characters that are not covered
    trained = _trained(text(), settings, model_type="char", vocab_size=META_PIECES + UNICODE)
    model = sentencepiece.SentencePieceProcessor(model_proto=trained)
    characters = {model.id_to_piece(index) for index in range(META_PIECES, model.get_piece_size())}
    initials: set[str] = set()
    lines = text()
    while chunk := list(islice(lines, CHUNK)):
        for pieces in model.encode(chunk, out_type=str, num_threads=1):
            initials.update(piece for mark, piece in pairwise(pieces) if mark == MARK)
    return Alphabet(len(characters), len(initials & characters - {MARK}))


def _trained(text: Iterator[str], settings: SegmentationSettings, **kind: Any) -> bytes:
    """A SentencePiece model; `kind` sets its type and size."""
    import sentencepiece

    failed: list[UserError] = []
    trained = BytesIO()  # a model written to a file would contain the file's name
    try:
        # OpenMP would wait for the threads that this one had before a fork; a new thread has none
        with ThreadPoolExecutor(1) as thread:
            thread.submit(
                sentencepiece.SentencePieceTrainer.train,
                sentence_iterator=_watched(text, failed),
                model_writer=trained,
                character_coverage=settings.character_coverage,
                normalization_rule_name=settings.normalization,
                hard_vocab_limit=False,
                num_threads=THREADS,
                minloglevel=2,
                **kind,
            ).result()
    except (RuntimeError, OSError, ValueError) as error:
        raise failed[0] if failed else UserError(_reason(error, settings)) from None
    return trained.getvalue()


def _watched(lines: Iterable[str], failed: list[UserError]) -> Iterator[str]:
    """Record the error that ends `lines`, which SentencePiece would replace by another."""
    try:
        yield from lines
    except UserError as error:
        failed.append(error)
        raise


def _reason(error: Exception, settings: SegmentationSettings) -> str:
    text = " ".join(str(error).split())
    if limit := re.search(r"value <= (\d+)", text):
        most, requested = limit[1], settings.vocab_size
        return f"`--vocab-size` must be at most {most} for this text; it is {requested}"
    size = "--bpe-operations" if settings.bpe_operations else "--vocab-size"
    return f"`{size}` must suit the text; SentencePiece says: {text}"
