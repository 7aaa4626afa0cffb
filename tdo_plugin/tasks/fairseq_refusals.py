"""fairseq's options that this package's tasks cannot honour, or that nothing reads, as one table.

Those that are read by nothing that a command reaches would be ignored in silence. Each has its
reason; docs/reference/fairseq-options.md is made of it, and a test walks through all options of
the four parsers.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Collection
from dataclasses import dataclass

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


def on_cpu(args: Namespace) -> bool:
    return bool(getattr(args, "cpu", False))


def _flat_on_cpu(args: Namespace) -> bool:
    return on_cpu(args) and not (args.fp16_no_flatten_grads or args.memory_efficient_fp16)


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
        _flat_on_cpu,
        "with `--cpu` and without `--fp16-no-flatten-grads`",
    ),
    Refusal(("amp",), ("train",), "fairseq's autocast is for GPUs", on_cpu, "with `--cpu`"),
    Refusal(("profile",), ("train",), "fairseq profiles GPUs alone", on_cpu, "with `--cpu`"),
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
            "wandb_project trackio_project azureml_logging tensorboard_logdir log_file ddp_backend "
            "ddp_comm_hook "
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


def refusals(command: str) -> dict[str, list[Refusal]]:
    """The rows of a command's options, by their names in fairseq's settings."""
    rows: dict[str, list[Refusal]] = {}
    for row in REFUSALS:
        for option in row.options if command in row.commands else ():
            rows.setdefault(option, []).append(row)
    return rows


def table(rows: Collection[Refusal] = REFUSALS) -> list[str]:
    """The rows of docs/reference/fairseq-options.md, as Markdown."""
    lines = ["| options | of fairseq- | why |", "|---|---|---|"]
    for row in rows:
        options = ", ".join(f"`--{option.replace('_', '-')}`" for option in row.options)
        when = f" ({row.when})" if row.when else ""
        lines.append(f"| {options}{when} | {', '.join(row.commands)} | {row.reason} |")
    return lines
