"""fairseq's options that this package's tasks cannot honour, or that nothing reads.

fairseq gives its commands all options of all that it can do; those that are read by nothing that a
command reaches would be ignored in silence. One table names them, with the reason for each;
docs/fairseq-options.md is made of it, and a test walks through all options of the four parsers.
"""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from tdo_compat.settings import SettingError, literal
from tdo_plugin.errors import UserError

DECODING = ("generate", "interactive")
NOT_TRAINING = (*DECODING, "validate")
ALL = ("train", *NOT_TRAINING)


@dataclass(frozen=True)
class Refusal:
    """Options that commands refuse unless they are left at their defaults.

    Attributes:
        options: by the names that they have in fairseq's settings.
        commands: `train`, `generate`, `interactive`, `validate`.
        reason: why, and what to give instead.
        applies: whether these settings make it so; always, unless it is given.
        when: what `applies` asks for, for readers.
    """

    options: tuple[str, ...]
    commands: tuple[str, ...]
    reason: str
    applies: Callable[[Namespace], bool] | None = None
    when: str = ""


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _on_cpu(args: Namespace) -> bool:
    return bool(getattr(args, "cpu", False))


def _flat_on_cpu(args: Namespace) -> bool:
    return _on_cpu(args) and not (args.fp16_no_flatten_grads or args.memory_efficient_fp16)


SHARED_DATA = "workers share the data alone (data parallel): no model is cut, sharded or averaged"
REFUSALS = (
    # --- how several workers train ---
    Refusal(
        _names(
            "pipeline_model_parallel pipeline_balance pipeline_devices pipeline_chunks "
            "pipeline_encoder_balance pipeline_encoder_devices pipeline_decoder_balance "
            "pipeline_decoder_devices pipeline_checkpoint model_parallel_size zero_sharding "
            "use_sharded_state cpu_offload fp32_reduce_scatter no_reshard_after_forward "
            "not_fsdp_flatten_parameters slowmo_momentum slowmo_base_algorithm localsgd_frequency "
            "distributed_num_procs"
        ),
        ALL,
        SHARED_DATA,
    ),
    Refusal(("use_bmuf",), ("train",), SHARED_DATA),
    Refusal(("tpu",), ALL, "there is no support for TPUs"),
    Refusal(
        ("fp16",),
        ("train",),
        "fairseq makes one flat gradient in half precision on GPUs alone; "
        "`--fp16-no-flatten-grads` computes in half precision on a CPU, too",
        lambda args: (
            _on_cpu(args) and not (args.fp16_no_flatten_grads or args.memory_efficient_fp16)
        ),
        "with `--cpu` and without `--fp16-no-flatten-grads`",
    ),
    Refusal(("amp",), ("train",), "fairseq's autocast is for GPUs", _on_cpu, "with `--cpu`"),
    Refusal(("profile",), ("train",), "fairseq profiles GPUs alone", _on_cpu, "with `--cpu`"),
    # --- what would be read nowhere ---
    Refusal(
        _names(
            "fast_stat_sync reset_logging suppress_crashes required_seq_len_multiple pad eos unk"
        ),
        ALL,
        "nothing reads it",
    ),
    Refusal(
        ("quantization_config_path",), ALL, "fairseq cannot quantize the layers of these models"
    ),
    Refusal(
        ("use_plasma_view", "plasma_path"), ALL, "only fairseq's language models keep data there"
    ),
    Refusal(("load_alignments",), ALL, "no loss of this package reads alignments"),
    Refusal(
        ("grouped_shuffling", "update_epoch_batch_itr", "update_ordered_indices_seed"),
        ALL,
        "fairseq's multilingual task makes its batches without it",
    ),
    Refusal(
        ("data_buffer_size", "skip_remainder_batch"),
        ("train",),
        "fairseq's multilingual task makes its batches without it",
        lambda args: args.sampling_method != "RoundRobin",
        "unless `--sampling-method` is RoundRobin",
    ),
    Refusal(
        ("data_buffer_size",),
        NOT_TRAINING,
        "fairseq's multilingual task makes its batches without it",
    ),
    Refusal(
        ("num_shards", "shard_id"),
        ("train", "interactive", "validate"),
        "only fairseq-generate takes a part of its set; trainings divide theirs by themselves",
    ),
    Refusal(
        ("gen_subset",), ("train", "interactive", "validate"), "only fairseq-generate reads it"
    ),
    Refusal(("source_lang", "target_lang"), ("train",), "`--lang-pairs` names what is trained"),
    Refusal(
        ("bpe", "tokenizer", "scoring", "keep_inference_langtok", "checkpoint_shard_count"),
        ("train",),
        "it belongs to generation",
    ),
    # --- generation ---
    Refusal(
        ("constraints",), DECODING, "fairseq's multilingual task has no search with constraints"
    ),
    Refusal(
        ("replace_unk", "print_alignment"),
        DECODING,
        "these models keep no attention weights, by which words would be aligned",
    ),
    Refusal(
        _names(
            "print_step retain_iter_history decoding_format iter_decode_eos_penalty "
            "iter_decode_max_iter iter_decode_force_max_iter iter_decode_with_beam "
            "iter_decode_with_external_reranker"
        ),
        DECODING,
        "it belongs to models that refine a whole sentence, step by step",
    ),
    Refusal(
        ("no_early_stop", "no_beamable_mm", "eos_token"), DECODING, "nothing in the search reads it"
    ),
    Refusal(
        ("sacrebleu",), DECODING, "nothing reads it; `--scoring sacrebleu` has SacreBLEU's scores"
    ),
    Refusal(
        _names("lm_path lm_weight prefix_size score_reference scoring results_path quiet"),
        ("interactive",),
        "fairseq-interactive does not read it; fairseq-generate does",
    ),
    Refusal(
        ("free_tag",),
        ("train", "validate"),
        "only the searches of fairseq-generate and fairseq-interactive read it",
    ),
    # --- what is the checkpoint's ---
    Refusal(
        ("optimizer", "lr_scheduler", "criterion", "warmup_updates", "force_anneal", "lr_shrink"),
        NOT_TRAINING,
        "the checkpoint was trained by its own",
    ),
    Refusal(
        _names(
            "amp amp_batch_retries amp_init_scale amp_scale_window fp16_init_scale "
            "fp16_scale_window fp16_scale_tolerance fp16_no_flatten_grads min_loss_scale "
            "threshold_loss_scale memory_efficient_fp16 memory_efficient_bf16 "
            "on_cpu_convert_precision empty_cache_freq profile aim_repo aim_run_hash "
            "wandb_project azureml_logging tensorboard_logdir log_file ddp_backend ddp_comm_hook "
            "bucket_cap_mb broadcast_buffers find_unused_parameters gradient_as_bucket_view "
            "fix_batches_to_gpus heartbeat_timeout nprocs_per_node train_subset "
            "combine_valid_subsets ignore_unused_valid_subsets disable_validation "
            "validate_interval validate_interval_updates validate_after_updates "
            "fixed_validation_seed batch_size_valid max_tokens_valid max_valid_steps curriculum "
            "sampling_method sampling_temperature sampling_weights sampling_weights_from_file "
            "virtual_epoch_size virtual_data_size extra_data extra_lang_pairs upsample_primary"
        ),
        NOT_TRAINING,
        "only fairseq-train reads it",
    ),
    Refusal(("valid_subset",), DECODING, "`--gen-subset` names the set that is decoded"),
    Refusal(("all_gather_list_size",), DECODING, "only fairseq-train and fairseq-validate read it"),
    Refusal(
        _names(
            "save_dir restore_file continue_once finetune_from_model reset_dataloader "
            "reset_lr_scheduler reset_meters reset_optimizer optimizer_overrides save_interval "
            "save_interval_updates keep_interval_updates keep_interval_updates_pattern "
            "keep_last_epochs keep_best_checkpoints no_save no_epoch_checkpoints "
            "no_last_checkpoints no_save_optimizer_state best_checkpoint_metric "
            "maximize_best_checkpoint_metric patience load_checkpoint_on_all_dp_ranks "
            "write_checkpoints_asynchronously"
        ),
        DECODING,
        "only fairseq-train writes checkpoints; `--path` names the one that is read",
    ),
    Refusal(
        ("bf16",),
        ("validate",),
        "fairseq-validate computes in single precision, or with `--fp16` in half",
    ),
    Refusal(
        ("quiet", "results_path", "post_process", "scoring", "bpe", "tokenizer"),
        ("validate",),
        "fairseq-validate prints no text",
    ),
)
# back-ends of data parallel training that were run
BACKENDS = ("c10d", "pytorch_ddp", "legacy_ddp", "no_c10d")
# the least that numbers may be
LEAST = {
    **dict.fromkeys(_names("beam nbest max_tokens batch_size max_tokens_valid"), 1),
    **dict.fromkeys(_names("batch_size_valid log_interval required_batch_size_multiple"), 1),
    **dict.fromkeys(_names("save_interval validate_interval"), 1),
    **dict.fromkeys(_names("num_workers min_len prefix_size no_repeat_ngram_size seed"), 0),
    **dict.fromkeys(_names("save_interval_updates validate_interval_updates max_update"), 0),
    **dict.fromkeys(_names("max_epoch validate_after_updates empty_cache_freq curriculum"), 0),
}
LARGEST = 2**63 - 1
LARGEST_SEED = 2**32 - 1  # numpy's
POSITIVE = ("temperature",)


def command_of(parser: ArgumentParser) -> str:
    """Which of fairseq's four commands a parser is of, by the options that it alone has."""
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
    """Refuse what would be ignored, or end in a traceback.

    Args:
        parser: of one of fairseq's four commands, with all options.
        args: what it has read.
        words: the command line. What is given there and is not the default counts.

    Raises:
        UserError: all that is wrong, each with its reason.
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


def refusals(command: str) -> dict[str, list[Refusal]]:
    """The rows of a command's options, by their names in fairseq's settings."""
    rows: dict[str, list[Refusal]] = {}
    for row in REFUSALS:
        for option in row.options if command in row.commands else ():
            rows.setdefault(option, []).append(row)
    return rows


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
                    f"{flag_of(action)} must be left out{when}: {row.reason}; "
                    f"it is {'on' if value is True else value}"
                )


def flag_of(action: Action) -> str:
    """An option as messages name it."""
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
    """What fairseq asserts, or leaves to whoever reads the settings."""
    precisions = [f"`--{name}`" for name in ("fp16", "bf16", "amp") if getattr(args, name, False)]
    if len(precisions) > 1:
        yield f"one precision must be chosen; {' and '.join(precisions)} are several"
    backend = getattr(args, "ddp_backend", BACKENDS[0])
    if command == "train" and backend not in BACKENDS:
        yield (
            f"`--ddp-backend` must be one of {', '.join(BACKENDS)}, since workers share the data "
            f"alone (data parallel); it is {backend}"
        )
    several = getattr(args, "distributed_world_size", 1) > 1
    if command == "train" and several and _on_cpu(args) and backend in ("c10d", "pytorch_ddp"):
        yield (
            "`--ddp-backend` must be legacy_ddp with `--cpu`, where workers talk through gloo; it "
            f"is {backend}"
        )
    if command != "train":
        yield from _model_overrides(args)
    if command == "validate" and not (args.max_tokens or args.batch_size):
        yield "`--max-tokens` or `--batch-size` must be given; neither is"
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
        yield (
            f"`--model-overrides` must be a dict of Python, such as {{'dropout': 0}}; it is {text}"
        )


def _search(args: Namespace) -> Iterator[str]:
    if args.free_tag and args.score_reference:
        yield "`--free-tag` must be left out with `--score-reference`, which searches for nothing"
    if args.nbest > args.beam:
        yield f"`--nbest` must be at most `--beam`, {args.beam}; it is {args.nbest}"
    elif args.sampling and args.nbest != args.beam:
        yield f"`--nbest` must be `--beam`, {args.beam}, with `--sampling`; it is {args.nbest}"
    for option in ("sampling_topk", "sampling_topp"):
        value = getattr(args, option)
        if value >= 0 and not args.sampling:
            name = option.replace("_", "-")
            yield f"`--{name}` must come with `--sampling`; it is {value} without"
    ways = {
        "--sampling": args.sampling,
        "--diverse-beam-groups": args.diverse_beam_groups > 0,
        "--match-source-len": args.match_source_len,
        "--diversity-rate": args.diversity_rate > 0,
    }
    chosen = [f"`{flag}`" for flag, on in ways.items() if on]
    if len(chosen) > 1:
        yield f"one way to search must be chosen; {' and '.join(chosen)} are several"
    if args.diverse_beam_groups > 0 and args.beam % args.diverse_beam_groups:
        yield (
            f"`--diverse-beam-groups` must divide `--beam`, {args.beam}; it is "
            f"{args.diverse_beam_groups}"
        )


def _part(args: Namespace) -> Iterator[str]:
    if args.num_shards < 1:
        yield f"`--num-shards` must be at least 1; it is {args.num_shards}"
    elif not 0 <= args.shard_id < args.num_shards:
        last = args.num_shards - 1
        yield f"`--shard-id` must be from 0 to {last}, by `--num-shards`; it is {args.shard_id}"
    if args.num_shards > 1 and args.distributed_world_size > 1:
        yield (
            "`--num-shards` must be left out with `--distributed-world-size`, which divides the "
            f"set by itself; it is {args.num_shards}"
        )


def table(rows: Collection[Refusal] = REFUSALS) -> list[str]:
    """The rows of docs/fairseq-options.md, as Markdown."""
    lines = ["| options | of fairseq- | why |", "|---|---|---|"]
    for row in rows:
        options = ", ".join(f"`--{option.replace('_', '-')}`" for option in row.options)
        when = f" ({row.when})" if row.when else ""
        lines.append(f"| {options}{when} | {', '.join(row.commands)} | {row.reason} |")
    return lines
