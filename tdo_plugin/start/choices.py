"""Choose model, vocabulary, batch and updates for a corpus and a machine, with reasons."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from tdo_plugin.costs import training_bytes, training_hours
from tdo_plugin.launch.training_config import Config
from tdo_plugin.runtime.durations import duration
from tdo_plugin.runtime.memory import GIB
from tdo_plugin.start.machine_facts import MachineFacts
from tdo_plugin.start.recognised_text import Pair

PASSES = 30  # over the training text, time permitting; as in own-data.toml
FEW_PASSES = 10  # with fewer passes than this the model still improves fast
FEWEST_UPDATES = 100
LARGEST_UPDATES = 10**6
LEAST_TOKENS = 1_024  # minimum batch: the longest sentence has 1,000 tokens plus tags
ROOM = 0.8  # share of a machine's memory that trainings may take

# Systems: an encoder-decoder, and a two-stage model (TDO) with InstruCL.
ENCODER_DECODER, TWO_STAGE = "encoder-decoder", "tdo-instrucl"
SYSTEMS = (ENCODER_DECODER, TWO_STAGE)


@dataclass(frozen=True)
class ModelSize:
    """A size of a system: layers per stage (or encoder and decoder), tokens per update."""

    layers: int
    dim: int
    ffn: int
    heads: int
    lr: float
    warmup: int
    tokens: int


SIZES = {  # tiny is from multi30k.toml, base from own-data.toml; the others are ours
    "tiny": ModelSize(3, 128, 512, 4, 0.003, 400, 4_000),
    "small": ModelSize(4, 256, 1024, 4, 0.001, 2000, 8_000),
    "base": ModelSize(6, 512, 2048, 8, 0.0005, 4000, 32_000),
    "big": ModelSize(6, 1024, 4096, 16, 0.0005, 4000, 64_000),
}
SMALL_FROM, BASE_FROM, BIG_FROM = 20_000, 300_000, 10_000_000  # sentence pairs, on a GPU
BIG_MEMORY = 40  # GiB of GPU memory
# minimum number of sentence pairs -> vocabulary size; multi30k.toml uses 8,000 for 87,000 pairs
VOCABULARIES = {0: 2_000, 10_000: 4_000, 50_000: 8_000, 500_000: 16_000, 5_000_000: 32_000}
HOURS = {"CPU": 1.0, "GPU": 8.0}  # training time of each system


@dataclass(frozen=True)
class Corpus:
    """Statistics of the corpus that the choices depend on.

    Attributes:
        pairs: trained language pair -> number of sentence pairs.
        languages: language codes in alphabetical order.
        pieces: estimated average number of subword pieces per sentence.
        alphabet: number of different characters.
    """

    pairs: Mapping[Pair, int]
    languages: tuple[str, ...]
    pieces: float
    alphabet: int

    @property
    def sentences(self) -> int:
        """Number of sentence pairs of all trained language pairs."""
        return sum(self.pairs.values())

    @property
    def epoch(self) -> float:
        """Number of tokens of all trained directions, including end-of-sentence tokens."""
        return 2 * self.sentences * (self.pieces + 1)

    def zero_shot(self) -> list[Pair]:
        """Return the language pairs without training text."""
        trained = {frozenset(pair) for pair in self.pairs}
        return [pair for pair in combinations(self.languages, 2) if frozenset(pair) not in trained]


@dataclass(frozen=True)
class Asked:
    """Values set by the user; 0 or empty if not set."""

    systems: tuple[str, ...] = ()
    size: str = ""
    vocab_size: int = 0
    updates: int = 0
    hours: float = 0.0
    eval_sentences: int = 0


@dataclass(frozen=True)
class Choices:
    """Systems and their settings; `reasons` describes and explains each choice by name."""

    systems: tuple[str, ...]
    recommended: str
    size: ModelSize
    vocab_size: int
    max_tokens: int
    update_freq: int
    updates: int
    warmup: int
    dropout: float
    last: int
    machine: MachineFacts
    eval_sentences: int
    reasons: Mapping[str, str]

    @property
    def every(self) -> int:
        """Number of updates between checkpoints, each with a validation."""
        return max(min(self.updates, 100), self.updates // 15)


def choose(corpus: Corpus, machine: MachineFacts, asked: Asked) -> Choices:
    """Choose all settings that the user has not set."""
    reasons: dict[str, str] = {}
    systems, recommended = _systems(corpus, asked, reasons)
    size = _size(corpus, machine, asked, reasons)
    vocab_size = _vocabulary(corpus, asked, reasons)
    machine = _as_many_as_fit(corpus, machine, systems, size, vocab_size)
    max_tokens, update_freq = _batch(corpus, machine, systems, size, vocab_size, reasons)
    tokens = max_tokens * update_freq * max(1, machine.gpus)
    seconds = seconds_of_update(corpus, machine, recommended, size, vocab_size, tokens)
    updates = _updates(corpus, machine, asked, tokens, seconds, reasons)
    passes = updates * tokens / corpus.epoch
    few = passes < FEW_PASSES
    dropout, last = (0.1, 1) if few else (0.3 if corpus.sentences < BASE_FROM else 0.1, 5)
    reasons["regularisation"] = (
        f"dropout {dropout}, {'the last checkpoint' if few else 'the average of the last five'} is "
        f"tested: each sentence is seen {passes:.2g} times"
    )
    warmup = max(1, min(size.warmup, updates // 4))
    return Choices(
        systems=systems, recommended=recommended, size=size, vocab_size=vocab_size,
        max_tokens=max_tokens, update_freq=update_freq, updates=updates, warmup=warmup,
        dropout=dropout, last=last, machine=machine,
        eval_sentences=asked.eval_sentences, reasons=reasons,
    )  # fmt: skip


def _systems(corpus: Corpus, asked: Asked, reasons: dict[str, str]) -> tuple[tuple[str, ...], str]:
    """The systems to train, and the one to use."""
    zero_shot = corpus.zero_shot()
    systems = tuple(name for name in SYSTEMS if name in asked.systems)
    how = "set by `--systems`" if systems else "a usual model beside one for untrained pairs"
    if not (systems or zero_shot):
        how = "one, as no pair lacks training text (`--systems` trains others)"
    systems = systems or (SYSTEMS if zero_shot else (ENCODER_DECODER,))
    usual = TWO_STAGE if zero_shot else ENCODER_DECODER
    recommended = usual if usual in systems else systems[0]
    if zero_shot:
        directions = ", ".join("-".join(pair) for pair in zero_shot)
        why = (
            f"{directions} have no training text: on Multi30k the two-stage model had 19.6 BLEU on "
            "such directions, an encoder-decoder 0.5; on trained directions it was about 2 BLEU "
            "below the encoder-decoder"
        )
    else:
        why = (
            "every direction has training text: there an encoder-decoder was about 2 BLEU above a "
            "two-stage model on Multi30k"
        )
    reasons["systems"] = f"{' and '.join(systems)}: {how}"
    reasons["recommended"] = f"{recommended}: {why}"
    others = tuple(name for name in systems if name != recommended)
    return (*others, recommended), recommended  # a report compares with the first, shows the last


def _size(
    corpus: Corpus, machine: MachineFacts, asked: Asked, reasons: dict[str, str]
) -> ModelSize:
    count = f"{corpus.sentences:,} sentence pairs"
    if asked.size:
        name, why = asked.size, "set by `--size`"
    elif not machine.gpus:
        name, why = "tiny", "larger models take days without a GPU"
    elif corpus.sentences < SMALL_FROM:
        name, why = "tiny", f"larger ones learn {count} by heart"
    elif corpus.sentences < BASE_FROM:
        name, why = "small", f"larger ones learn {count} by heart"
    elif corpus.sentences < BIG_FROM or machine.memory < BIG_MEMORY:
        name, why = "base", f"the usual size of a Transformer, enough for {count}"
    else:
        name, why = "big", f"{count} fill it, and the GPU has room"
    size = SIZES[name]
    reasons["model"] = (
        f"{name} ({size.layers} + {size.layers} layers, d = {size.dim}, FFN {size.ffn}, "
        f"{size.heads} heads): {why}"
    )
    return size


def _vocabulary(corpus: Corpus, asked: Asked, reasons: dict[str, str]) -> int:
    if asked.vocab_size:
        reasons["vocabulary"] = f"{asked.vocab_size:,} pieces: set by `--vocab-size`"
        return asked.vocab_size
    usual = max(size for least, size in VOCABULARIES.items() if corpus.sentences >= least)
    least = -(-3 * corpus.alphabet // 2 // 1000) * 1000  # Chinese has thousands of characters
    why = f"usual for {corpus.sentences:,} sentence pairs"
    if least > usual:
        why = f"the text has {corpus.alphabet:,} different characters"
    size = max(usual, least)
    reasons["vocabulary"] = f"{size:,} pieces, all languages together: {why}"
    return size


def _as_many_as_fit(
    corpus: Corpus,
    machine: MachineFacts,
    systems: Sequence[str],
    size: ModelSize,
    vocab_size: int,
) -> MachineFacts:
    """The machine, with one training at a time if two do not fit even with the smallest batches."""
    machine = replace(machine, together=min(machine.together, len(systems)))
    need = training_memory(corpus, systems, size, vocab_size, LEAST_TOKENS)
    fits = machine.gpus or machine.together * need <= ROOM * machine.memory
    return machine if fits else replace(machine, together=1)


def _batch(
    corpus: Corpus,
    machine: MachineFacts,
    systems: Sequence[str],
    size: ModelSize,
    vocab_size: int,
    reasons: dict[str, str],
) -> tuple[int, int]:
    """Return tokens per batch on one device (max-tokens) and batches per update (update-freq)."""
    few = max(LEAST_TOKENS, round(corpus.epoch / 50, -2))
    tokens = int(min(size.tokens, few))
    if machine.gpus:
        room = int(machine.memory * 500 * 512 / size.dim)
    else:
        room = tokens
        share = ROOM * machine.memory / machine.together
        while (
            room > LEAST_TOKENS and training_memory(corpus, systems, size, vocab_size, room) > share
        ):
            room //= 2
    update_freq = -(-tokens // max(LEAST_TOKENS, room) // max(1, machine.gpus))
    max_tokens = max(LEAST_TOKENS, -(-tokens // update_freq // max(1, machine.gpus)))
    whys = {
        size.tokens: "usual for this size",
        LEAST_TOKENS: "the text is small, and the longest sentence must fit",
    }
    why = whys.get(tokens, "1/50 of the text, which is small")
    memory = (
        f", accumulated over {update_freq} batches that fit into memory" if update_freq > 1 else ""
    )
    reasons["batch"] = f"{tokens:,} tokens an update: {why}{memory}"
    if not machine.gpus:
        need = training_memory(corpus, systems, size, vocab_size, max_tokens)
        reasons["memory"] = _memory(need, machine)
    return max_tokens, update_freq


def _memory(need: float, machine: MachineFacts) -> str:
    text = f"about {need:.1f} GiB for each training, {machine.together} at a time: an estimate"
    if need > machine.memory:
        text += f", more than the {machine.memory:.1f} GiB of this machine; choose a smaller "
        text += "--size or --vocab-size"
    return text


def _updates(
    corpus: Corpus,
    machine: MachineFacts,
    asked: Asked,
    tokens: int,
    seconds: float,
    reasons: dict[str, str],
) -> int:
    hours = asked.hours or HOURS["GPU" if machine.gpus else "CPU"]
    whole = int(PASSES * corpus.epoch / tokens)
    affordable = int(hours * 3600 / seconds)
    updates = asked.updates or rounded(
        min(max(FEWEST_UPDATES, min(whole, affordable)), LARGEST_UPDATES)
    )
    took = f"about {duration(updates * seconds)} for each system (an estimate)"
    if asked.updates:
        why = "set by `--updates`"
    elif whole <= affordable:
        why = f"{PASSES} passes over the text"
    else:
        least = f"the minimum, though it exceeds `--hours` {hours:g}"
        usual = "set by `--hours`" if asked.hours else "the default of `--hours`"
        said = f"{hours:g} h, {usual}" if affordable >= FEWEST_UPDATES else least
        why = (
            f"{said}; {PASSES} passes over the text would be {rounded(whole):,} "
            f"updates, about {duration(whole * seconds)}"
        )
    reasons["updates"] = f"{updates:,}, {took}: {why}"
    return updates


def seconds_of_update(
    corpus: Corpus,
    machine: MachineFacts,
    system: str,
    size: ModelSize,
    vocab_size: int,
    tokens: int,
) -> float:
    """Estimate the seconds per update of a system from FLOPs and machine speed."""
    config, assumed = _training(corpus, system, size, vocab_size, tokens)
    return training_hours.estimate("start", config, assumed).flops / machine.speed


def training_memory(
    corpus: Corpus, systems: Sequence[str], size: ModelSize, vocab_size: int, max_tokens: int
) -> float:
    """Estimate the GiB that the largest training holds on a CPU, with all its processes."""
    largest = max(
        training_bytes.tensor_bytes(*_training(corpus, system, size, vocab_size, max_tokens))
        for system in systems
    )
    return training_bytes.process_bytes(largest) / GIB


def _training(
    corpus: Corpus, system: str, size: ModelSize, vocab_size: int, tokens: int
) -> tuple[Config, argparse.Namespace]:
    """A training of one update of a system, and assumptions about its data."""
    flags: dict[str, object] = {
        "--tdo-model-dim": size.dim, "--tdo-ffn-dim": size.ffn, "--tdo-heads": size.heads,
        "--tdo-share-embeddings": "all", "--max-tokens": tokens, "--max-update": 1,
    }  # fmt: skip
    if system == TWO_STAGE:
        flags |= {
            "--arch": "tdo_transformer", "--tdo-layers": 2 * size.layers,
            "--tdo-target-layer": size.layers, "--tdo-adaptation-dim": 0,
            "--loss-terms": "instrucl,lexical",
        }  # fmt: skip
    else:
        flags |= {
            "--arch": "tdo_encoder_decoder", "--tdo-encoder-layers": size.layers,
            "--tdo-decoder-layers": size.layers,
        }  # fmt: skip
    length = max(2, round(corpus.pieces) + 2)
    assumed = argparse.Namespace(
        vocab_size=vocab_size, num_languages=len(corpus.languages), num_pairs=len(corpus.pairs),
        source_length=length, target_length=length,
    )  # fmt: skip
    config = Config({flag: [str(value)] for flag, value in flags.items()})
    return config, training_hours.assumptions(assumed)


def rounded(updates: int) -> int:
    """Round to two significant digits."""
    return int(round(updates, 2 - len(str(updates)))) if updates > 99 else updates
