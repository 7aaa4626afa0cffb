"""A model with a name: what it can translate, and its answers as JSON objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import Hypothesis
from tdo_plugin.metrics.language_id import UNDETECTABLE, Identifier
from tdo_plugin.metrics.textform import plain_lines
from tdo_plugin.serve.explained_translation import explain_translation
from tdo_plugin.serve.explanation_json import DIGITS, MOST_WEIGHTS, explanation_json
from tdo_plugin.serve.sentence_split import joined_by_line, sentences_by_line

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.translator import Translator

ALL = "all"
AUTO = "auto"  # a source that is to be detected
LIKELY = 0.1  # least probability of a detected source, as a share of the most likely language's
EXAMPLES = 100  # validation lines of a language among which its example is chosen


@dataclass(frozen=True)
class ServedModel:
    """A loaded model.

    Attributes:
        name: in requests and on the page.
        translator: of a single checkpoint.
        trained: the directions that it was trained on.
        detector: identifies the languages of sources and translations; None: they are not detected.
    """

    name: str
    translator: Translator
    trained: frozenset[str]
    detector: Identifier | None

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages, which are both sources and targets."""
        return self.translator.languages

    @property
    def zero_shot(self) -> bool:
        """Whether untrained directions can be translated; adapters are those of trained pairs."""
        return not self.translator.models[0].core.spec.num_pairs

    @cached_property
    def examples(self) -> dict[str, str]:
        """A rather short validation sentence of each language that has some."""
        read = partial(plain_lines, self.translator.data, "valid", limit=EXAMPLES)
        found = {name: sorted(filter(None, read(name)), key=len) for name in self.languages}
        return {name: lines[len(lines) // 4] for name, lines in found.items() if lines}

    def description(self) -> dict[str, Any]:
        """The model for a list of models."""
        spec = self.translator.models[0].core.spec
        two_stage = spec.topology == "decoder-only" and spec.target_layer > 0
        return {
            "name": self.name,
            "languages": list(self.languages),
            "directions": sorted(self.trained),
            "kind": "two-stage" if two_stage else spec.topology,
            "layers": self.translator.models[0].core.stack.source_layers,
            "target_layer": spec.target_layer if two_stage else None,
            "zero_shot": self.zero_shot,
            "beam": self.translator.options.beam,
            "length_penalty": self.translator.options.length_penalty,
            "detector": None if self.detector is None else self.detector.signature,
        }

    def check(self, source: str, targets: Sequence[str] | str) -> None:
        """Check the languages of a request, as far as this is possible without its text.

        Raises:
            UserError: see `check_source`; or an unknown target, or one twice.
        """
        self.check_source(source)
        if targets != ALL and len(targets) > len(self.languages):
            raise UserError(
                f"`targets` must name each language once; {len(targets)} are more than "
                f"{self.name}'s {len(self.languages)}"
            )
        for language in () if targets == ALL else targets:
            self.check_language("targets", language)
            if list(targets).count(language) > 1:
                raise UserError(f"`targets` must name each language once; {language} occurs twice")

    def check_source(self, source: str) -> None:
        """Check a source, which may be `auto`.

        Raises:
            UserError: an unknown language, or no detector for `auto`.
        """
        if source != AUTO:
            self.check_language("source", source)
        elif self.detector is None:
            raise UserError(
                f"`source` must be a language where there is no language detector; it is {AUTO}"
            )

    def source_of(self, text: str) -> str:
        """The most likely of the model's languages for a text, by the detector.

        For a short text, a language that the model does not have is often slightly more likely.

        Raises:
            UserError: another language is far more likely, or there is no evidence.
        """
        self.check_source(AUTO)
        assert self.detector is not None
        label = self.detector.label
        refusal = f"`text` must be in one of {self._own_languages}, or `source` be named; "
        letters = [letter for letter in text.lower() if letter.isalpha()]
        if 2 * sum(letter in self._vocabulary for letter in letters) < len(letters):
            raise UserError(f"{refusal}most of its letters are unknown to the model")
        probabilities = self.detector.probabilities(" ".join(text.split()))
        found = max(probabilities, key=lambda code: probabilities[code], default=UNDETECTABLE)
        shares = {code: probabilities.get(label(code) or "", 0.0) for code in self.languages}
        best = max(shares, key=lambda code: shares[code])
        if probabilities and shares[best] >= LIKELY * probabilities[found]:
            return best
        if found == UNDETECTABLE:
            raise UserError(
                f"`source` must be a language where that of `text` cannot be detected; it is {AUTO}"
            )
        raise UserError(f"{refusal}it is detected as {found}")

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        """The characters of the source's pieces, in lower case."""
        first, second = self.languages[0], self.languages[-1]
        dictionary = self.translator.task_of(f"{first}-{second}").source_dictionary
        return frozenset("".join(dictionary.symbols).lower())

    @property
    def _own_languages(self) -> str:
        return f"{self.name}'s languages, {', '.join(self.languages)}"

    def targets_of(self, source: str) -> list[str]:
        """All languages that a source can be translated into.

        A model with adapters for pairs translates only its trained directions.
        """
        others = [language for language in self.languages if language != source]
        if self.zero_shot:
            return others
        return [language for language in others if not self.is_zero_shot(source, language)]

    def check_language(self, field: str, language: str) -> None:
        """Raise UserError if the model does not know a language."""
        if language not in self.languages:
            raise UserError(f"`{field}` must be of {self._own_languages}; it is {language}")

    def translate(
        self,
        text: str,
        source: str,
        targets: Sequence[str] | str,
        beam: int | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> dict[str, Any]:
        """Translate text, sentence by sentence, into several languages with one search.

        Args:
            text: of any number of lines.
            source: its language, or `auto`.
            targets: languages, or `all` others that are possible.
            beam: beam size; None: the model's.
            progress: called after each batch; may raise an exception to end the search.

        Raises:
            UserError: a sentence is too long, or a language is unknown or not detected.
        """
        began = time.monotonic()
        self.check(source, targets)
        source = self.source_of(text) if source == AUTO else source
        targets = self.targets_of(source) if targets == ALL else targets
        translator = self._with_beam(beam)
        by_line = sentences_by_line(text)
        sentences = [sentence for line in by_line for sentence in line]
        if not targets:
            raise UserError(f"`targets` must have a language; nothing is translated from {source}")
        self._check_lengths(f"{source}-{targets[0]}", sentences)
        hypotheses = translator.translate_into(source, targets, sentences, progress)
        translations = [
            {
                "target": target,
                "zero_shot": self.is_zero_shot(source, target),
                **self._translation(target, by_line, hypotheses[target]),
            }
            for target in targets
        ]
        seconds = round(time.monotonic() - began, DIGITS)
        return {
            **{"model": self.name, "source": source, "translations": translations},
            **{"beam": translator.options.beam, "seconds": seconds},
        }

    def _translation(
        self, target: str, by_line: Sequence[Sequence[str]], hypotheses: Sequence[Hypothesis]
    ) -> dict[str, Any]:
        """A text's translation, given its sentences in lines and a hypothesis for each."""
        texts = iter(hypothesis.text for hypothesis in hypotheses)
        whole = joined_by_line([[next(texts) for _ in line] for line in by_line])
        sentences = [sentence for line in by_line for sentence in line]
        mean = sum(hypothesis.score for hypothesis in hypotheses) / max(1, len(hypotheses))
        return {
            "text": whole,
            **self.detected(target, whole),
            "score": round(mean, DIGITS),
            "sentences": [
                {
                    "source": sentence,
                    "text": hypothesis.text,
                    "pieces": hypothesis.pieces.split(),
                    "score": round(hypothesis.score, DIGITS),
                }
                for sentence, hypothesis in zip(sentences, hypotheses, strict=True)
            ],
        }

    def explain(
        self,
        text: str,
        source: str,
        target: str,
        beam: int | None = None,
        most_weights: int = MOST_WEIGHTS,
        progress: Callable[[int], None] = lambda _: None,
    ) -> dict[str, Any]:
        """Translate and explain one sentence; see `explain_translation`.

        Args:
            text: one sentence.
            source: its language, or `auto`.
            target: the language to translate into.
            beam: beam size; None: the model's.
            most_weights: see `explanation_json`.
            progress: called after the search; may raise an exception to end the rest.

        Raises:
            UserError: the sentence is empty or too long, or a language is unknown or not detected.
        """
        began = time.monotonic()
        self.check_source(source)
        self.check_language("target", target)
        line = " ".join(text.split())
        source = self.source_of(line) if source == AUTO else source
        explained = explain_translation(self._with_beam(beam), f"{source}-{target}", line, progress)
        answer = explanation_json(explained, most_weights)
        return {
            **{"model": self.name, "source": source, "target": target, "text": line},
            **self.detected(target, explained.hypothesis.text),
            "zero_shot": self.is_zero_shot(source, target),
            **answer,
            "seconds": round(time.monotonic() - began, DIGITS),
        }

    def is_zero_shot(self, source: str, target: str) -> bool:
        """Whether the model was not trained on a direction."""
        return f"{source}-{target}" not in self.trained

    def detected(self, target: str, text: str) -> dict[str, Any]:
        """The detected language of a translation, and whether it is another than the target.

        Both are None where they are unknown: without a detector, for text without letters, and for
        languages that the detector does not know.
        """
        if self.detector is None:
            return {"detected": None, "off_target": None}
        (found,) = self.detector.identify([" ".join(text.split())])
        if found == UNDETECTABLE:
            return {"detected": None, "off_target": None}
        label = self.detector.label(target)
        return {"detected": found, "off_target": None if label is None else found != label}

    def _with_beam(self, beam: int | None) -> Translator:
        if beam is None or beam == self.translator.options.beam:
            return self.translator
        return self.translator.with_beam(beam)

    def _check_lengths(self, direction: str, sentences: Sequence[str]) -> None:
        for size in self.translator.too_long(direction, sentences).values():
            raise UserError(
                f"`text` must have sentences of at most {self.translator.limit(direction)} tokens; "
                f"one has {size}"
            )
