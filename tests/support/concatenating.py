"""The concatenating baseline of ``benchmarks/speed`` beside a model of the package."""

import importlib
from argparse import Namespace
from dataclasses import fields
from pathlib import Path

from fairseq.criterions import CRITERION_DATACLASS_REGISTRY, CRITERION_REGISTRY
from fairseq.data import Dictionary
from support.parity_cases import PAD, VOCABULARY

from tdo_plugin.models.tdo_transformer import SourceStream, TargetStream, TdoTransformer

PLACE = Path(__file__).resolve().parents[2] / "benchmarks" / "speed" / "__init__.py"
DICTIONARY = Dictionary()
for _number in range(VOCABULARY - len(DICTIONARY)):
    DICTIONARY.add_symbol(f"w{_number}")


def speed():
    """The package that ``--user-dir benchmarks/speed`` imports, registered once."""
    return importlib.import_module("speed")


def two_stream(core, dictionary=DICTIONARY):
    """fairseq's face of a core."""
    return TdoTransformer(SourceStream(dictionary, core), TargetStream(dictionary, core)).eval()


def concatenating(model):
    """The baseline on the very parameters of a model."""
    twin = speed().concatenating.ConcatenatingTransformer(model.encoder, model.decoder)
    return twin.train(model.training)


def criterion(name, **options):
    """A registered criterion with its defaults, for sentences that begin with a tag."""
    speed()
    defaults = {field.name: field.default for field in fields(CRITERION_DATACLASS_REGISTRY[name])}
    options = Namespace(**{**defaults, "sentence_avg": False, "label_smoothing": 0.1, **options})
    dictionaries = {"source_dictionary": DICTIONARY, "target_dictionary": DICTIONARY}
    task = Namespace(**dictionaries, args=Namespace(encoder_langtok="tgt"))
    return CRITERION_REGISTRY[name].build_criterion(options, task)


def sample(batch):
    """fairseq's sample of (source, previous output, target)."""
    source, previous, target = batch
    fed = {"src_tokens": source, "src_lengths": source.ne(PAD).sum(1)}
    fed["prev_output_tokens"] = previous
    return {"net_input": fed, "target": target, "ntokens": int(target.ne(PAD).sum())}
