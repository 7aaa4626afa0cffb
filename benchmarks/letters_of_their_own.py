"""A text folder whose languages share no letter and no digit, so no two share a piece of words.

    python benchmarks/letters_of_their_own.py TEXT OUT

TEXT is a folder of `tdo corpus`, of languages in the Latin alphabet. OUT gets its files with the
letters and digits of each language moved to a range of code points of its own; spaces and
punctuation stay. Meanings and words are unchanged: what a model loses on OUT, it had from words,
names, numbers and pieces that languages share. With as many pieces in all, each language has fewer,
and sentences are longer in pieces: give `tdo preprocess` a larger --vocab-size.
"""

import argparse
import shutil
from pathlib import Path

FIRST = 0xAC00  # Hangul syllables: letters without case, of which there are 11,172
RANGE = 0x250  # of code points: the Latin alphabet up to its extended-B block


def moved(text: str, number: int) -> str:
    """The text in the letters of language ``number``, counted from 0."""
    return "".join(
        chr(FIRST + number * RANGE + ord(symbol)) if symbol.isalnum() else symbol for symbol in text
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    if not arguments.text.is_dir():
        parser.error(f"TEXT must be a folder; {arguments.text} is not one")
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
