"""The models of table 2, by the published configurations that they come from, without weights."""

from pathlib import Path

import pytest
import torch
from support.configs import FIND, named

from tdo_plugin.cli import build_parser
from tdo_plugin.experiments.library import setting_of
from tdo_plugin.experiments.plan import Inputs, Plan, References
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
SYSTEMS = ("encoder-decoder", "prefix-decoder-only", "tdo", "tdo+adaptation")
PRINTED = {
    "m2m-418m": dict(zip(SYSTEMS, (307, 282, 282, 299), strict=True)),
    "nllb-600m": dict(zip(SYSTEMS, (439, 413, 413, 430), strict=True)),
    "m2m-1.2b": dict(zip(SYSTEMS, (685, 635, 635, 668), strict=True)),
}
ROWS = [(model, row) for model, rows in PRINTED.items() for row in rows]
INSTRUCL = [(model, f"{row}+instrucl") for model in PRINTED for row in ("tdo", "tdo+adaptation")]


def design_of(model, row):
    """The conversion that a system begins with."""
    inputs = Inputs({"originals": Path("originals")})
    plan = Plan(setting_of(FIND("tdo"), "full", {}), Path("run"), inputs)
    scope = plan.system(f"{model}/{row}").scope
    step, _ = plan.made("converted", References(plan, [], f"{model}/{row}"), scope)
    (command,) = plan.graph[step].commands
    args = build_parser().parse_args(list(command))
    assert args.family == ("nllb" if "nllb" in model else "m2m100")
    assert args.original == Path("originals") / model
    return Design(
        args.to, args.layers, args.target_layer, args.adaptation_dim, {}, ("en", "de"), args.seed
    )


def spec_of_conversion(model, row):
    sizes, _ = ORIGINALS[model]
    design = design_of(model, row)
    return spec_from_args(design.arguments(sizes, design.layers(sizes)))


@pytest.mark.parametrize(("model", "row"), ROWS)
def test_parameters_are_counted_as_in_the_paper(model, row):
    spec = spec_of_conversion(model, row)
    rows = ORIGINALS[model][1]
    with torch.device("meta"):
        built = Builder(spec, 1).build(rows, rows)
    millions = sum(parameter.numel() for parameter in built.parameters()) / 1e6
    assert millions == pytest.approx(PRINTED[model][row], abs=1)


@pytest.mark.parametrize(("model", "row"), ROWS + INSTRUCL)
def test_a_system_trains_what_its_conversion_makes(model, row):
    """All but what is a matter of training: dropout and frozen embeddings."""
    from fairseq import options

    words = ["data", "--langs", "en,de", "--lang-pairs", "en-de"]
    words += named(f"tdo/{model}/{row}").words()
    args = options.parse_args_and_arch(options.get_training_parser(), input_args=words)
    trained, converted = vars(spec_from_args(args)), vars(spec_of_conversion(model, row))
    assert (trained["freeze_embeddings"], converted["freeze_embeddings"]) == (True, False)
    free = ("dropout", "attention_dropout", "freeze_embeddings")
    assert {**trained, **dict.fromkeys(free)} == {**converted, **dict.fromkeys(free)}
