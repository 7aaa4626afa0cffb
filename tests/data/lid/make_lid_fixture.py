"""Makes the two tiny fastText models beside it, which the tests read with fasttext-predict.

fasttext-predict cannot train, so this needs an environment of its own with a package that can, and
Python 3.11 at most. (fasttext 0.9.3 and fasttext-numpy2-wheel 0.9.2, built by today's compilers,
stop with "Encountered NaN" or train differently each time.)

    python3.11 -m venv /somewhere/trainer
    /somewhere/trainer/bin/pip install fasttext-wheel==0.9.2 "numpy<2"
    PYTHONPATH=. /somewhere/trainer/bin/python tests/data/lid/make_lid_fixture.py

The text is of the embedded corpus' grammar, 400 sentences a language. `tiny.bin` has labels as
lid.176 has them (`__label__de`); `tiny-flores.ftz`, which is compressed, as NLLB, GlotLID and
OpenLID have them (`__label__deu_Latn`). One thread and a fixed seed give the same files each time.
"""

import tempfile
from pathlib import Path

import fasttext

from tdo_plugin.data.grammar import linearize, meaning_at

LABELS = {
    "de": "deu_Latn",
    "en": "eng_Latn",
    "es": "spa_Latn",
    "fr": "fra_Latn",
    "ja": "jpn_Jpan",
    "ru": "rus_Cyrl",
    "tr": "tur_Latn",
}
SENTENCES = 400


def main() -> None:
    folder = Path(__file__).parent
    short = {language: language for language in LABELS}
    for name, labels in (("tiny.bin", short), ("tiny-flores.ftz", LABELS)):
        with tempfile.TemporaryDirectory() as scratch:
            text = Path(scratch) / "text"
            with text.open("w", encoding="utf-8") as stream:
                for number in range(SENTENCES):
                    meaning = meaning_at(number, seed=1)
                    for language, label in labels.items():
                        stream.write(f"__label__{label} {linearize(meaning, language)}\n")
            model = fasttext.train_supervised(
                str(text),
                dim=8,
                bucket=2000,
                minn=1,
                maxn=3,
                minCount=20,
                epoch=30,
                lr=0.2,
                thread=1,
                seed=1,
                verbose=0,
            )
            if name.endswith(".ftz"):
                model.quantize(str(text), retrain=False)
            model.save_model(str(folder / name))


if __name__ == "__main__":
    main()
