"""The models of table 2, by the published configurations that they come from, without weights."""

import re
import shlex

import pytest
import torch
from support.configs import ROOT

from tdo_plugin.cli import build_parser
from tdo_plugin.launch.training_config import read_config
from tdo_plugin.models.config import spec_from_args
from tdo_plugin.modules.builder import Builder
from tdo_plugin.pretrained.design import Design
from tdo_plugin.pretrained.original import Sizes

# as their publishers describe them: layers a side, width, heads, inner sizes, positions; rows
ORIGINALS = {
    "m2m-418m": (Sizes(12, 12, 1024, 16, 4096, 4096, 1024), 128_112),
    "nllb-600m": (Sizes(12, 12, 1024, 16, 4096, 4096, 1024), 256_206),
    "m2m-1.2b": (Sizes(24, 24, 1024, 16, 8192, 8192, 1024), 128_112),
}
# Qu et al., appendix H, in millions
PRINTED = {
    "m2m-418m": {"encoder-decoder": 307, "decoder-only": 282, "tdo": 282, "tdo-adaptation": 299},
    "nllb-600m": {"encoder-decoder": 439, "decoder-only": 413, "tdo": 413, "tdo-adaptation": 430},
    "m2m-1.2b": {"encoder-decoder": 685, "decoder-only": 635, "tdo": 635, "tdo-adaptation": 668},
}
ROWS = [(model, row) for model, rows in PRINTED.items() for row in rows]
CONFIGS = sorted((ROOT / "configs" / "ted19-tuned").rglob("*.conf"))


def made_by(path):
    """The conversion that a config names in its second line."""
    command = re.fullmatch(r"# Made by: (tdo convert .+)", path.read_text().splitlines()[1])
    args = build_parser().parse_args([*shlex.split(command[1])[1:], "--out", "OUT"])
    assert args.family == ("nllb" if "nllb" in path.parent.name else "m2m100")
    return Design(
        args.to, args.layers, args.target_layer, args.adaptation_dim, {}, ("en", "de"), args.seed
    )


def spec_of_conversion(path):
    sizes, _ = ORIGINALS[path.parent.name]
    design = made_by(path)
    return spec_from_args(design.arguments(sizes, design.layers(sizes)))


@pytest.mark.parametrize(("model", "row"), ROWS)
def test_parameters_are_counted_as_in_the_paper(model, row):
    spec = spec_of_conversion(ROOT / "configs" / "ted19-tuned" / model / f"{row}.conf")
    rows = ORIGINALS[model][1]
    with torch.device("meta"):
        built = Builder(spec, 1).build(rows, rows)
    millions = sum(parameter.numel() for parameter in built.parameters()) / 1e6
    assert millions == pytest.approx(PRINTED[model][row], abs=1)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_config_trains_what_its_conversion_makes(path):
    """All but what is a matter of training: dropout and frozen embeddings."""
    from fairseq import options

    words = ["data", "--langs", "en,de", "--lang-pairs", "en-de", *read_config(path).words()]
    args = options.parse_args_and_arch(options.get_training_parser(), input_args=words)
    trained, converted = (
        vars(spec).copy() for spec in (spec_from_args(args), spec_of_conversion(path))
    )
    free = ("dropout", "attention_dropout", "freeze_embeddings")
    assert (trained.pop("freeze_embeddings"), converted.pop("freeze_embeddings")) == (True, False)
    assert {key: value for key, value in trained.items() if key not in free} == {
        key: value for key, value in converted.items() if key not in free
    }
