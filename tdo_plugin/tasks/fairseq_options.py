"""Checks the command lines of fairseq's four commands before they start.

fairseq gives its commands the options of everything it can do. Refused are options that have no
effect here (:mod:`.fairseq_refusals`), numbers out of range, and invalid combinations.
"""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tdo_compat.settings import SettingError, literal
from tdo_plugin.errors import UserError
from tdo_plugin.tasks.fairseq_refusals import DECODING, on_cpu, refusals
from tdo_plugin.tasks.option_ranges import out_of_range
from tdo_plugin.tasks.tracking_options import missing_trackers

# back-ends of data parallel training that have been tested
BACKENDS = ("c10d", "pytorch_ddp", "legacy_ddp", "no_c10d", "fully_sharded")


def command_of(parser: ArgumentParser) -> str:
    """The fairseq command that a parser belongs to, by options that only this command has."""
    options = {action.dest for action in parser._actions}
    for command, option in (
        ("interactive", "input"),
        ("eval-lm", "context_window"),
        ("generate", "nbest"),
        ("train", "max_update"),
    ):
        if option in options:
            return command
    return "validate"


def check_command_line(parser: ArgumentParser, args: Namespace, words: Sequence[str]) -> None:
    """Refuse options that would be ignored, or cause a traceback.

    Args:
        parser: of one of fairseq's four commands, with all options.
        args: the parsed options.
        words: the command line; only options that it sets to other than defaults are checked.

    Raises:
        UserError: lists all problems, each with its reason.
    """
    command = command_of(parser)
    actions = {action.dest: action for action in _given(parser, words)}
    wrong = [
        *_refused(command, actions, args),
        *_numbers(actions, args),
        *_together(command, args),
    ]
    if wrong:
        raise UserError("; ".join(dict.fromkeys(wrong)))


def _given(parser: ArgumentParser, words: Sequence[str]) -> Iterator[Action]:
    flags = {word.partition("=")[0] for word in words if word.startswith("-")}
    short = {word[:2] for word in words if word[:1] == "-" and word[1:2] != "-"}  # such as -sen
    for action in parser._actions:
        if (flags | short).intersection(action.option_strings):
            yield action


def _refused(command: str, actions: dict[str, Action], args: Namespace) -> Iterator[str]:
    rows = refusals(command)
    for option, action in actions.items():
        value = getattr(args, option, action.default)
        if value == action.default:
            continue
        for row in rows.get(option, ()):
            if row.applies is None or row.applies(args):
                when = f" {row.when}" if row.when else ""
                yield (
                    f"{flag_of(action)} must not be set{when}: {row.reason}; "
                    f"it is {'on' if value is True else value}"
                )


def flag_of(action: Action) -> str:
    """The name of an option for messages."""
    return f"`{next(name for name in action.option_strings if name.startswith('--'))}`"


def _numbers(actions: dict[str, Action], args: Namespace) -> Iterator[str]:
    for option, action in actions.items():
        yield from out_of_range(option, flag_of(action), getattr(args, option, None))


def _together(command: str, args: Namespace) -> Iterator[str]:
    """Invalid combinations that fairseq asserts, or ignores."""
    precisions = [f"`--{name}`" for name in ("fp16", "bf16", "amp") if getattr(args, name, False)]
    if len(precisions) > 1:
        yield f"only one precision must be chosen; {' and '.join(precisions)} are set"
    backend = getattr(args, "ddp_backend", BACKENDS[0])
    if command == "train" and backend not in BACKENDS:
        yield (
            f"`--ddp-backend` must be one of {', '.join(BACKENDS)}, since training is data "
            f"parallel only; it is {backend}"
        )
    several = getattr(args, "distributed_world_size", 1) > 1
    if command == "train" and several and on_cpu(args) and backend in ("c10d", "pytorch_ddp"):
        yield (
            "`--ddp-backend` must be legacy_ddp or fully_sharded with `--cpu`, where workers "
            f"communicate through gloo; it is {backend}"
        )
    if command == "train":
        yield from missing_trackers(args)
        yield from _lists(args)
    else:
        yield from _model_overrides(args)
    if command == "validate" and not (args.max_tokens or args.batch_size):
        yield "`--max-tokens` or `--batch-size` must be set; neither is"
    if command in DECODING:
        yield from _search(args)
    if command == "generate":
        yield from _part(args)
        if args.lm_path is not None and (arch := _not_a_language_model(args.lm_path)):
            yield f"`--lm-path` must be a language model; {args.lm_path} is of {arch}"
    if command == "interactive" and (args.batch_size or 0) > max(1, args.buffer_size):
        yield (
            f"`--batch-size` must be at most `--buffer-size`, {max(1, args.buffer_size)}; it is "
            f"{args.batch_size}"
        )


def _lists(args: Namespace) -> Iterator[str]:
    """Lists of the wrong length, and names in one twice."""
    for option, what in (("lr", "a number"), ("update_freq", "a number")):
        if getattr(args, option, None) in ([], ""):
            yield f"`--{option.replace('_', '-')}` must have {what}; it has none"
    for option in ("adam_betas", "adamax_betas", "lamb_betas"):
        try:
            betas = literal(str(getattr(args, option, None) or "(0, 0)"))
            right = len(betas) == 2 and all(isinstance(beta, int | float) for beta in betas)
        except (SettingError, TypeError):
            right = False
        if not right:
            flag = f"`--{option.replace('_', '-')}`"
            yield f"{flag} must be two numbers such as (0.9, 0.98); it is {getattr(args, option)}"
    for option in ("valid_subset", "lang_pairs"):
        value = getattr(args, option, None)
        names = (value if isinstance(value, str) else ",".join(value or ())).split(",")
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            flag = f"`--{option.replace('_', '-')}`"
            yield f"{flag} must have each name once; it has {twice[0]} twice"


def _model_overrides(args: Namespace) -> Iterator[str]:
    text = getattr(args, "model_overrides", None)
    try:
        right = isinstance(literal(text or "{}"), dict)
    except SettingError:
        right = False
    if not right:
        yield (f"`--model-overrides` must be a Python dict such as {{'dropout': 0}}; it is {text}")


def _search(args: Namespace) -> Iterator[str]:
    if args.source_lang is not None and args.source_lang == args.target_lang:
        yield (
            f"`--target-lang` must be another language than `--source-lang`; it is "
            f"{args.target_lang}"
        )
    if args.free_tag and args.score_reference:
        yield "`--free-tag` must not be set with `--score-reference`, which does not search"
    if args.nbest > args.beam:
        yield f"`--nbest` must be at most `--beam` ({args.beam}); it is {args.nbest}"
    elif args.sampling and args.nbest != args.beam:
        yield f"`--nbest` must equal `--beam` ({args.beam}) with `--sampling`; it is {args.nbest}"
    for option in ("sampling_topk", "sampling_topp"):
        value = getattr(args, option)
        if value >= 0 and not args.sampling:
            name = option.replace("_", "-")
            yield f"`--{name}` must be used with `--sampling`; it is {value} without it"
    ways = {
        "--sampling": args.sampling,
        "--diverse-beam-groups": args.diverse_beam_groups > 0,
        "--match-source-len": args.match_source_len,
        "--diversity-rate": args.diversity_rate > 0,
    }
    chosen = [f"`{flag}`" for flag, on in ways.items() if on]
    if len(chosen) > 1:
        yield f"only one way to search must be chosen; {' and '.join(chosen)} are set"
    if args.diverse_beam_groups > 0 and args.beam % args.diverse_beam_groups:
        yield (
            f"`--diverse-beam-groups` must divide `--beam` ({args.beam}); it is "
            f"{args.diverse_beam_groups}"
        )


def _not_a_language_model(path: str) -> str:
    """The architecture of a checkpoint, if it is known not to be a language model."""
    from fairseq.models import ARCH_MODEL_REGISTRY, FairseqLanguageModel

    from tdo_plugin.checkpoints import read

    state = read(Path(path), "--lm-path")
    model = (state.get("cfg") or {}).get("model") or state.get("args")
    options = vars(model) if isinstance(model, Namespace) else dict(model or {})
    arch = str(options.get("_name") or options.get("arch"))
    kind = ARCH_MODEL_REGISTRY.get(arch, FairseqLanguageModel)
    return "" if issubclass(kind, FairseqLanguageModel) else arch


def _part(args: Namespace) -> Iterator[str]:
    if args.num_shards < 1:
        yield f"`--num-shards` must be at least 1; it is {args.num_shards}"
    elif not 0 <= args.shard_id < args.num_shards:
        last = args.num_shards - 1
        yield f"`--shard-id` must be from 0 to {last} (`--num-shards` - 1); it is {args.shard_id}"
    if args.num_shards > 1 and args.distributed_world_size > 1:
        yield (
            "`--num-shards` must not be set with `--distributed-world-size`, which already divides "
            f"the set; it is {args.num_shards}"
        )
