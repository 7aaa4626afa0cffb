"""The rules that a specification must meet; each message names the flags to change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Literal, get_args, get_origin, get_type_hints

from tdo_plugin.modules.declared_options import options_of

if TYPE_CHECKING:
    from tdo_plugin.modules.spec import ModelSpec

DRAWN = ("standard", "depth-scaled", "depth-scaled-quarter")  # ways to draw; at most one applies


def problems(spec: ModelSpec, listed: Mapping[str, Collection[str]]) -> list[str]:
    """All problems of a specification, one message each.

    Args:
        spec: to be checked.
        listed: allowed names of the fields that hold several names, by field.
    """
    first = [*_choices(spec, listed), *_numbers(spec), *_layers(spec)]
    return first or [*_source_parts(spec), *_starts(spec)]


def _choices(spec: ModelSpec, listed: Mapping[str, Collection[str]]) -> list[str]:
    flag = spec.flag
    return [
        f"`{flag(name)}` must be one of {', '.join(get_args(kind))}; it is {value}"
        for name, kind in get_type_hints(type(spec)).items()
        if get_origin(kind) is Literal and (value := getattr(spec, name)) not in get_args(kind)
    ] + [
        f"`{flag(option)}` must be one or more of {', '.join(allowed)}; it has {name}"
        for option, allowed in listed.items()
        for name in getattr(spec, option)
        if name not in allowed
    ]


def _starts(spec: ModelSpec) -> list[str]:
    flag = spec.flag
    drawn = [name for name in spec.init if name in DRAWN]
    problems = []
    if len(drawn) > 1:
        problems.append(
            f"`{flag('init')}` must have at most one of {', '.join(DRAWN)}; it has "
            f"{' and '.join(drawn)}"
        )
    identities = [name for name in spec.init if name not in DRAWN]
    if not spec.init or len({*spec.init}) < len(spec.init):
        problems.append(f"`{flag('init')}` must have at least one name, and each name once")
    if "identity-all" in spec.init and len(identities) > 1:
        problems.append(
            f"`{flag('init')}` must not combine identity-all with other identities, which it "
            f"includes; it has {' and '.join(identities)}"
        )
    if "identity-stage1" in spec.init and spec.entry_layer == 0:
        problems.append(
            f"`{flag('init')}` must not have identity-stage1 if "
            f"`{flag('target_layer')}` is 0: there is no first stage"
        )
    if "identity-adaptation" in spec.init and spec.adaptation_dim == 0:
        problems.append(
            f"`{flag('init')}` must not have identity-adaptation if "
            f"`{flag('adaptation_dim')}` is 0: there is no adaptation module"
        )
    cut = {"identity-all": spec.source_layers, "identity-stage1": spec.entry_layer}
    if any(0 < spec.cut_residual <= cut.get(name, 0) for name in spec.init):
        problems.append(
            f"`{flag('cut_residual')}` must not be a layer that `{flag('init')}` initialises as "
            f"the identity: its output would be zero; it is {spec.cut_residual}"
        )
    return problems


def _numbers(spec: ModelSpec) -> list[str]:
    flag = spec.flag
    positive: Callable[[float], bool] = lambda value: value > 0  # noqa: E731
    probability: Callable[[float], bool] = lambda value: 0 <= value < 1  # noqa: E731
    rules = (
        (positive, "must be positive", ("model_dim", "num_heads", "stage1_ffn_dim",
         "stage2_ffn_dim", "max_source_positions", "max_target_positions")),
        (probability, "must be at least 0 and below 1",
         ("dropout", "attention_dropout", "activation_dropout")),
        (lambda value: value >= 0, "must not be negative",
         ("adaptation_dim", "adapter_dim", "masked_tags")),
    )  # fmt: skip
    problems = [
        f"`{flag(name)}` {must}; it is {getattr(spec, name)}"
        for holds, must, names in rules
        for name in names
        if not holds(getattr(spec, name))
    ]
    if spec.num_heads > 0 and spec.model_dim % spec.num_heads:
        problems.append(
            f"`{flag('model_dim')}` must be a multiple of `{flag('num_heads')}`"
            f" ({spec.num_heads}); it is {spec.model_dim}"
        )
    if spec.position_embedding == "none" and spec.positions == "continuous":
        problems.append(
            f"`{flag('positions')}` must not be set if `{flag('position_embedding')}` is "
            "none; it is continuous"
        )
    if spec.position_embedding == "rotary":
        problems += _rotary(spec)
    counts = {"languages": spec.num_languages, "pairs": spec.num_pairs}
    for needs, count in counts.items():
        names = {"languages": "--langs", "pairs": "--lang-pairs"}[needs]
        parts = [option.flag for option in options_of(spec).values() if option.needs == needs]
        if bool(spec.needing(needs)) != (count > 0):
            problems.append(
                f"`{names}` must name {needs} if one of {', '.join(parts)} is on (and the model "
                f"counts them only then); the count is {count}"
            )
    if spec.zero_shot_neurons != "union" and not spec.neuron_masks:
        problems.append(
            f"`{flag('zero_shot_neurons')}` must not be set without `{flag('neuron_masks')}`; "
            f"it is {spec.zero_shot_neurons}"
        )
    if spec.position_embedding == "sinusoidal" and spec.model_dim in (1, 2, 3):
        problems.append(
            f"`{flag('model_dim')}` must be at least 4 for sinusoidal positions; "
            f"it is {spec.model_dim}"
        )
    return problems


def _rotary(spec: ModelSpec) -> list[str]:
    flag = spec.flag
    problems = []
    if spec.topology == "encoder-decoder":
        problems.append(
            f"`{flag('position_embedding')}` must not be rotary if `{flag('topology')}` "
            "is encoder-decoder: cross-attention has no common order of positions"
        )
    if spec.num_heads > 0 and (spec.model_dim // spec.num_heads) % 2:
        problems.append(
            f"`{flag('model_dim')}` divided by `{flag('num_heads')}` must be even for rotary "
            f"positions; it is {spec.model_dim // spec.num_heads}"
        )
    return problems


def _source_parts(spec: ModelSpec) -> list[str]:
    flag = spec.flag
    problems = [
        f"`{flag(name)}` must be from 1 to {spec.read_layers}, the source layers of this "
        f"{spec.topology} model whose output the target reads, or 0 for none; it is "
        f"{getattr(spec, name)}"
        for name in ("cut_residual", "tpdm_layer")
        if not 0 <= getattr(spec, name) <= spec.read_layers
    ]
    if spec.tpdm_gate != "none" and spec.tpdm_layer == 0:
        problems.append(
            f"`{flag('tpdm_gate')}` must be none if `{flag('tpdm_layer')}` is 0; it is "
            f"{spec.tpdm_gate}"
        )
    return problems


def _layers(spec: ModelSpec) -> list[str]:
    flag = spec.flag
    required, foreign = ("num_layers", "target_layer"), ("encoder_layers", "decoder_layers")
    if spec.topology == "encoder-decoder":
        required, foreign = foreign, required
    problems = [
        f"`{flag(name)}` must not be set if `{flag('topology')}` is {spec.topology}; it "
        f"is {getattr(spec, name)}"
        for name in foreign
        if getattr(spec, name) != 0
    ]
    if spec.topology == "decoder-only" and spec.decoder_attention == "merged":
        problems.append(
            f"`{flag('decoder_attention')}` must be separate if `{flag('topology')}` is "
            "decoder-only: the target attends to source and target in one softmax, so there is "
            "nothing to merge; it is merged"
        )
    if spec.topology == "decoder-only" and spec.target_attention == "cross":
        problems.append(
            f"`{flag('target_attention')}` must be none or all if `{flag('topology')}` is "
            "decoder-only, which has no cross-attention; it is cross"
        )
    if spec.topology == "encoder-decoder" and spec.source_sees_start:
        problems.append(
            f"`{flag('source_sees_start')}` must be off if `{flag('topology')}` is "
            "encoder-decoder, where source and target share no layers; it is on"
        )
    if spec.topology == "encoder-decoder":
        return problems + [
            f"`{flag(name)}` must be positive; it is {getattr(spec, name)}"
            for name in required
            if getattr(spec, name) <= 0
        ]
    if spec.num_layers <= 0:
        return [
            *problems,
            f"`{flag('num_layers')}` must be positive; it is {spec.num_layers}",
        ]
    if not 0 <= spec.target_layer < spec.num_layers:
        problems.append(
            f"`{flag('target_layer')}` must be from 0 to {spec.num_layers - 1}, at least 1 less "
            f"than `{flag('num_layers')}`; it is {spec.target_layer}"
        )
    if spec.target_layer == 0 and spec.adaptation_dim > 0:
        problems.append(
            f"`{flag('adaptation_dim')}` must be 0 if `{flag('target_layer')}` is 0: no "
            f"stage ends before the target enters; it is {spec.adaptation_dim}"
        )
    if spec.target_layer == 0 and spec.lalt != "none":
        problems.append(
            f"`{flag('lalt')}` must be none if `{flag('target_layer')}` is 0: no stage "
            f"ends before the target enters; it is {spec.lalt}"
        )
    return problems
