"""Checks the command lines of fairseq's four commands before they start.

fairseq gives its commands the options of everything it can do. Refused are options that have no
effect here (:mod:`.fairseq_refusals`), numbers out of range, and invalid combinations.
"""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from tdo_compat.settings import SettingError, literal
from tdo_plugin.errors import UserError
from tdo_plugin.tasks.fairseq_refusals import DECODING, on_cpu, refusals
from tdo_plugin.tasks.tracking_options import missing_trackers

# back-ends of data parallel training that have been tested
BACKENDS = ("c10d", "pytorch_ddp", "legacy_ddp", "no_c10d", "fully_sharded")
# minimum values
LEAST = {
    **dict.fromkeys(["beam", "nbest", "max_tokens", "batch_size", "max_tokens_valid"], 1),
    **dict.fromkeys(["batch_size_valid", "log_interval", "required_batch_size_multiple"], 1),
    **dict.fromkeys(["save_interval", "validate_interval"], 1),
    **dict.fromkeys(["num_workers", "min_len", "prefix_size", "no_repeat_ngram_size", "seed"], 0),
    **dict.fromkeys(["save_interval_updates", "validate_interval_updates", "max_update"], 0),
    **dict.fromkeys(["max_epoch", "validate_after_updates", "empty_cache_freq", "curriculum"], 0),
}
LARGEST = 2**63 - 1
LARGEST_SEED = 2**32 - 1  # numpy's limit
POSITIVE = ("temperature",)


def command_of(parser: ArgumentParser) -> str:
    """The fairseq command that a parser belongs to, by options that only this command has."""
    options = {action.dest for action in parser._actions}
    for command, option in (
        ("interactive", "input"),
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
        value = getattr(args, option, None)
        for number in value if isinstance(value, list | tuple) else [value]:
            if isinstance(number, bool) or not isinstance(number, int | float):
                continue
            least = LEAST.get(option)
            if least is not None and number < least:
                yield f"{flag_of(action)} must be at least {least}; it is {number}"
            most = LARGEST_SEED if option == "seed" else LARGEST
            if isinstance(number, int) and abs(number) > most:
                yield f"{flag_of(action)} must be at most {most}; it is {number}"
            if number != number:
                yield f"{flag_of(action)} must be a number; it is {number}"
            elif option in POSITIVE and number <= 0:
                yield f"{flag_of(action)} must be above 0; it is {number}"


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
    else:
        yield from _model_overrides(args)
    if command == "validate" and not (args.max_tokens or args.batch_size):
        yield "`--max-tokens` or `--batch-size` must be set; neither is"
    if command in DECODING:
        yield from _search(args)
    if command == "generate":
        yield from _part(args)
    if command == "interactive" and (args.batch_size or 0) > max(1, args.buffer_size):
        yield (
            f"`--batch-size` must be at most `--buffer-size`, {max(1, args.buffer_size)}; it is "
            f"{args.batch_size}"
        )


def _model_overrides(args: Namespace) -> Iterator[str]:
    text = getattr(args, "model_overrides", None)
    try:
        right = isinstance(literal(text or "{}"), dict)
    except SettingError:
        right = False
    if not right:
        yield (f"`--model-overrides` must be a Python dict such as {{'dropout': 0}}; it is {text}")


def _search(args: Namespace) -> Iterator[str]:
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
