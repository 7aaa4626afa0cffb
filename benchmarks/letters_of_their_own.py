"""Make a text folder whose languages share no letters or digits, and thus no subword pieces.

    python benchmarks/letters_of_their_own.py TEXT OUT

TEXT is a folder of `tdo corpus` with languages in the Latin alphabet. OUT gets its files with the
letters and digits of each language mapped to a separate range of code points; spaces and
punctuation are kept. Sentences are otherwise unchanged, so a model's loss in quality on OUT shows
the benefit of words, names, numbers and pieces that languages share. With the same number of pieces
in total, each language has fewer of them, and sentences have more pieces: use a larger --vocab-size
of `tdo preprocess`.
"""

import argparse
import shutil
from pathlib import Path

FIRST = 0xAC00  # Hangul syllables: letters without case, of which there are 11,172
RANGE = 0x250  # of code points: the Latin alphabet up to its extended-B block


def moved(text: str, number: int) -> str:
    """The text with the letters of language ``number``, counted from 0."""
    return "".join(
        chr(FIRST + number * RANGE + ord(symbol)) if symbol.isalnum() else symbol for symbol in text
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    if not arguments.text.is_dir():
        parser.error(f"TEXT must be a folder; {arguments.text} is not")
    if arguments.out.exists():
        parser.error(f"OUT must not exist; {arguments.out} does")
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in sorted(arguments.text.iterdir())
        if path.is_file() and path.suffix != ".json"
    }
    languages = sorted({path.suffix for path in texts})
    for path, text in texts.items():
        if any(symbol.isalnum() and ord(symbol) >= RANGE for symbol in text):
            parser.error(f"TEXT must be Latin, up to U+{RANGE - 1:04X}; {path} has other letters")
    arguments.out.mkdir(parents=True)
    for path, text in texts.items():
        moved_text = moved(text, languages.index(path.suffix))
        (arguments.out / path.name).write_text(moved_text, encoding="utf-8")
    for path in arguments.text.glob("*.json"):
        shutil.copy(path, arguments.out)


if __name__ == "__main__":
    main()
