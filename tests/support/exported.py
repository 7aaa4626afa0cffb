"""Small trained models as `tdo export` writes them."""

from pathlib import Path

from support.commands import printed
from support.data import ENCODER_DECODER
from support.made import made_once
from support.prepared import trained

PLAIN = (*ENCODER_DECODER, "--tdo-adaptation-dim", "0", "--tdo-norm", "pre")
BOTH_TAGS = (*PLAIN, "--encoder-langtok", "src", "--decoder-langtok")
# text on which tokenizers disagree easily
AWKWARD = [
    *("", "  ", " A  man   walks. ", "naïve café Ångström e\u0301te\u0301", "1,000.5 %"),
    *("日本語のテキスト", "привет мир", "١٢٣ ٤٥", "👩‍👩‍👧 emoji 🎉🎉", "ﬁne ½ ™ \uff21\uff22"),
    *("__de__ hello", "a __en__", "<s> a </s> <pad> <unk>", "</s></s>", "▁▁ a▁b", "madeupword0000"),
    *("A\tman", "a\x85b", "\x85", "é\x85é", "a\xa0b", "\u200bzero", "x\u2028y", "\ufeffbom"),
    *("นี่คือ", "한국어", "u\u0308\u0304", "\uff25\u0306", "\ufefb\u064b", "❤️‍🔥"),
]


def export(checkpoint: Path, out: Path, *words: object, to: str = "hf") -> str:
    """What `tdo export` prints, in this process."""
    return printed("export", checkpoint, "--out", out, "--to", to, *words)


@made_once
def exported(out: Path, to: str, flags: tuple[str, ...]) -> None:
    """The folder of a model that was trained with these flags."""
    export(trained(*flags), out, to=to)
