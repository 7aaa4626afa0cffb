"""The compared systems, as options of fairseq-train.

All have the same depth and width, one matrix for all embeddings, and the TDO paper's optimiser
(appendix H), which `stock` steps as fairseq does without this package. `concatenating` has the same
parameters as `two-stream`, and decodes with them in their training layout. None has adaptation
modules, as the stock model has no equivalent.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from speed.plan import CONCATENATING, ENCODER_DECODER, INT8, OURS, STOCK, Setting
from tdo_plugin.experiments.named_configs import named_config

VALIDATION = ("--eval-", "--best-checkpoint-metric", "--maximize-best-checkpoint-metric")
STOCK_TASK = ("--task", "translation_multi_simple_epoch")


def words(system: str, setting: Setting) -> list[str]:
    """The options specific to a system: task, model and criterion, or a config's flags."""
    if "/" in system and not system.startswith("--"):
        return _of_config(system)
    parts = _SYSTEMS[system](setting) if system in _SYSTEMS else _varied(system, setting)
    return [str(word) for word in parts]


def _of_config(name: str) -> list[str]:
    """A config's flags without validation, for which there is no text here."""
    config = named_config(name).config
    for flag in list(config.flags):
        if flag.startswith(VALIDATION):
            del config.flags[flag]
    return config.words()


def shared_words(directions: Sequence[tuple[str, str]], folder: Path) -> list[str]:
    """The common options: data and optimiser.

    Args:
        directions: the directions of the data.
        folder: the folder with `dict.txt`, also used for fairseq's output.
    """
    languages = dict.fromkeys(chain.from_iterable(directions))
    return [
        *(str(folder), "--fixed-dictionary", str(folder / "dict.txt"), "--save-dir", str(folder)),
        *("--langs", ",".join(languages), "--lang-pairs", ",".join(map("-".join, directions))),
        *("--encoder-langtok", "tgt", "--seed", "1", "--lr", "0.0005", "--warmup-updates", "4000"),
        *("--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--lr-scheduler", "inverse_sqrt"),
        *("--label-smoothing", "0.1", "--dropout", "0.1"),
    ]


def _two_stage(setting: Setting) -> tuple[object, ...]:
    return (
        *("--tdo-layers", setting.depth, "--tdo-target-layer", setting.depth // 2),
        *("--tdo-model-dim", setting.model_dim, "--tdo-ffn-dim", setting.ffn_dim),
        *("--tdo-heads", setting.heads, "--tdo-adaptation-dim", 0),
    )


def _two_stream(setting: Setting) -> tuple[object, ...]:
    terms = "instrucl" if setting.instrucl else ""
    return (
        *("--task", "tdo_translation", "--arch", "tdo_transformer", *_two_stage(setting)),
        *("--criterion", "label_smoothed_cross_entropy_terms", f"--loss-terms={terms}"),
    )


def _varied(options: str, setting: Setting) -> tuple[object, ...]:
    arch = ("--arch", "reference_transformer") if "--reference-ops" in options else ()
    return (*_two_stream(setting), *arch, *options.split())


def _concatenating(setting: Setting) -> tuple[object, ...]:
    return (
        *(*STOCK_TASK, "--arch", "concatenating_transformer", *_two_stage(setting)),
        *("--criterion", "plain_cross_entropy"),
        *(["--plain-instrucl"] if setting.instrucl else []),
    )


def _stock(setting: Setting) -> tuple[object, ...]:
    def side(name: str) -> tuple[object, ...]:
        return (
            *(f"--{name}-layers", setting.depth // 2, f"--{name}-embed-dim", setting.model_dim),
            *(f"--{name}-ffn-embed-dim", setting.ffn_dim),
            *(f"--{name}-attention-heads", setting.heads),
        )

    return (
        *(*STOCK_TASK, "--arch", "transformer", "--share-all-embeddings"),
        *side("encoder"),
        *side("decoder"),
        *("--criterion", "label_smoothed_cross_entropy", "--use-old-adam"),
    )


def _encoder_decoder(setting: Setting) -> tuple[object, ...]:
    half = setting.depth // 2
    return (
        *("--task", "tdo_translation", "--arch", "tdo_encoder_decoder"),
        *("--tdo-encoder-layers", half, "--tdo-decoder-layers", half),
        *("--tdo-model-dim", setting.model_dim, "--tdo-ffn-dim", setting.ffn_dim),
        *("--tdo-heads", setting.heads, "--criterion", "label_smoothed_cross_entropy_terms"),
    )


_SYSTEMS = {
    OURS: _two_stream,
    CONCATENATING: _concatenating,
    STOCK: _stock,
    ENCODER_DECODER: _encoder_decoder,
    INT8: _encoder_decoder,
}
