"""langdetect, the OPUS-100 paper's detector (section 5), made deterministic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.codes import canonical
from tdo_plugin.metrics.language_id.protocol import UNDETECTABLE, each_once

SEED = 0


class LangDetect:
    """The package langdetect with its 55 profiles; Chinese in both scripts is `zh`.

    langdetect draws n-grams at random. Here, each sentence starts from the same seed, so that the
    result does not depend on previous sentences, and profiles are read in the order of their names
    instead of the file system's.
    """

    def __init__(self) -> None:
        """Read the profiles.

        Raises:
            UserError: the package is not installed.
        """
        try:
            from langdetect import LangDetectException
            from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory
        except ImportError:
            raise UserError(
                "`--lid langdetect` requires the package langdetect (pip install langdetect); "
                "it is not installed"
            ) from None
        profiles = sorted(path for path in Path(PROFILES_DIRECTORY).iterdir() if path.is_file())
        self._factory = DetectorFactory()
        self._factory.load_json_profile([path.read_text(encoding="utf-8") for path in profiles])
        self._factory.set_seed(SEED)
        self._nothing_found = LangDetectException
        self._known = frozenset(map(canonical, self._factory.get_lang_list()))
        self.signature = f"langdetect:{version('langdetect')}|seed:{SEED}"

    def __reduce__(self) -> tuple[type[LangDetect], tuple[()]]:
        """Other processes read the profiles themselves, which is faster than pickling."""
        return LangDetect, ()

    def label(self, language: str) -> str | None:
        """The language's canonical code: `no` for `nb`, `zh` for `zh_CN`."""
        code = canonical(language)
        return code if code in self._known else None

    def identify(self, sentences: Sequence[str]) -> list[str]:
        """The most likely language of each sentence, in some milliseconds each.

        UNDETECTABLE for a sentence without letters, or if langdetect finds no language.
        """
        return each_once(self._one, sentences)

    def probabilities(self, sentence: str) -> dict[str, float]:
        """The probability of each code, if it is above langdetect's threshold of 0.1."""
        detector = self._factory.create()
        detector.append(sentence)
        sums: defaultdict[str, float] = defaultdict(float)
        try:
            for language in detector.get_probabilities():
                sums[canonical(language.lang)] += language.prob
        except self._nothing_found:
            pass
        return dict(sums)

    def _one(self, sentence: str) -> str:
        return next(iter(self.probabilities(sentence)), UNDETECTABLE)
