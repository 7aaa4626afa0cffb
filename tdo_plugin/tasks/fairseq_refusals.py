"""A table of fairseq's options that this package's tasks do not support or that have no effect.

Options that a command never reads would otherwise be ignored silently. Each has a reason;
docs/reference/fairseq-options.md is generated from the table, and a test checks all options of the
four parsers.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass

DECODING = ("generate", "interactive")
NOT_TRAINING = (*DECODING, "validate")
ALL = ("train", *NOT_TRAINING)


@dataclass(frozen=True)
class Refusal:
    """Options that commands refuse unless they have their default values.

    Attributes:
        options: names in fairseq's settings.
        commands: `train`, `generate`, `interactive`, `validate`.
        reason: why, and what to use instead.
        applies: a condition on the settings; always true by default.
        when: the condition in words.
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


def _sharded(args: Namespace) -> bool:
    return bool(args.ddp_backend == "fully_sharded")


def _not_sharded(args: Namespace) -> bool:
    return not _sharded(args)


def _flat_on_cpu(args: Namespace) -> bool:
    return on_cpu(args) and not (args.fp16_no_flatten_grads or args.memory_efficient_fp16)


SHARED_DATA = "training is data parallel only (no model is partitioned or averaged)"
SHARDED = "with `--ddp-backend fully_sharded`"
REFUSALS = (
    # --- distributed training ---
    Refusal(
        _names(
            "pipeline_model_parallel pipeline_balance pipeline_devices pipeline_chunks "
            "pipeline_encoder_balance pipeline_encoder_devices pipeline_decoder_balance "
            "pipeline_decoder_devices pipeline_checkpoint model_parallel_size zero_sharding "
            "slowmo_momentum slowmo_base_algorithm localsgd_frequency distributed_num_procs"
        ),
        ALL,
        SHARED_DATA,
    ),
    Refusal(
        _names("use_sharded_state cpu_offload fp32_reduce_scatter not_fsdp_flatten_parameters"),
        ALL,
        "it is an option of fairscale's sharding; `--ddp-backend fully_sharded` is torch's, with "
        "whole checkpoints and gradients summed in single precision",
    ),
    Refusal(
        ("no_reshard_after_forward",),
        ("train",),
        "it keeps sharded weights gathered",
        _not_sharded,
        "without `--ddp-backend fully_sharded`",
    ),
    Refusal(("no_reshard_after_forward",), NOT_TRAINING, "only fairseq-train uses it"),
    Refusal(
        ("memory_efficient_fp16", "memory_efficient_bf16"),
        ("train",),
        "weights, divided over workers, are kept in single precision",
        _sharded,
        SHARDED,
    ),
    Refusal(("amp",), ("train",), "use `--fp16` or `--bf16`", _sharded, SHARDED),
    Refusal(
        ("store_ema",),
        ("train",),
        "fairseq averages whole models; `tdo average` averages checkpoints",
        _sharded,
        SHARDED,
    ),
    Refusal(("heartbeat_timeout",), ("train",), "it has no effect", _sharded, SHARDED),
    Refusal(("use_bmuf",), ("train",), SHARED_DATA),
    Refusal(("tpu",), ALL, "there is no support for TPUs"),
    Refusal(
        ("fp16",),
        ("train",),
        "fairseq flattens half-precision gradients only on GPUs; "
        "`--fp16-no-flatten-grads` allows half precision on a CPU",
        _flat_on_cpu,
        "with `--cpu` and without `--fp16-no-flatten-grads`",
    ),
    Refusal(("amp",), ("train",), "fairseq's autocast needs a GPU", on_cpu, "with `--cpu`"),
    Refusal(("profile",), ("train",), "fairseq profiles only GPUs", on_cpu, "with `--cpu`"),
    # --- options without effect ---
    Refusal(
        _names(
            "fast_stat_sync reset_logging suppress_crashes required_seq_len_multiple pad eos unk"
        ),
        ALL,
        "it has no effect",
    ),
    Refusal(
        ("quantization_config_path",), ALL, "fairseq cannot quantize the layers of these models"
    ),
    Refusal(("use_plasma_view", "plasma_path"), ALL, "only fairseq's language models use it"),
    Refusal(("load_alignments",), ALL, "no loss of this package uses alignments"),
    Refusal(
        ("grouped_shuffling", "update_epoch_batch_itr", "update_ordered_indices_seed"),
        ALL,
        "fairseq's multilingual task does not use it",
    ),
    Refusal(
        ("data_buffer_size", "skip_remainder_batch"),
        ("train",),
        "fairseq's multilingual task does not use it",
        lambda args: args.sampling_method != "RoundRobin",
        "unless `--sampling-method` is RoundRobin",
    ),
    Refusal(
        ("data_buffer_size",),
        NOT_TRAINING,
        "fairseq's multilingual task does not use it",
    ),
    Refusal(
        ("num_shards", "shard_id"),
        ("train", "interactive", "validate"),
        "only fairseq-generate can process a part of its set; training divides its data itself",
    ),
    Refusal(
        ("gen_subset",), ("train", "interactive", "validate"), "only fairseq-generate reads it"
    ),
    Refusal(("source_lang", "target_lang"), ("train",), "`--lang-pairs` sets the directions"),
    Refusal(
        ("bpe", "tokenizer", "scoring", "keep_inference_langtok", "checkpoint_shard_count"),
        ("train",),
        "it is an option of generation",
    ),
    # --- generation ---
    Refusal(("constraints",), DECODING, "fairseq's multilingual task has no constrained search"),
    Refusal(
        ("replace_unk", "print_alignment"),
        DECODING,
        "these models keep no attention weights, which alignments are computed from",
    ),
    Refusal(
        _names(
            "print_step retain_iter_history decoding_format iter_decode_eos_penalty "
            "iter_decode_max_iter iter_decode_force_max_iter iter_decode_with_beam "
            "iter_decode_with_external_reranker"
        ),
        DECODING,
        "it is for models that refine a whole sentence iteratively",
    ),
    Refusal(
        ("no_early_stop", "no_beamable_mm", "eos_token"), DECODING, "the search does not use it"
    ),
    Refusal(("sacrebleu",), DECODING, "it has no effect; `--scoring sacrebleu` uses SacreBLEU"),
    Refusal(
        _names("lm_path lm_weight prefix_size score_reference scoring results_path quiet"),
        ("interactive",),
        "fairseq-interactive does not use it; fairseq-generate does",
    ),
    Refusal(
        ("skip_invalid_size_inputs_valid_test",),
        ("interactive",),
        "it would leave out lines of the input without a word",
    ),
    Refusal(
        ("free_tag",),
        ("train", "validate"),
        "only the searches of fairseq-generate and fairseq-interactive use it",
    ),
    # --- set by the checkpoint ---
    Refusal(
        ("optimizer", "lr_scheduler", "criterion", "warmup_updates", "force_anneal", "lr_shrink"),
        NOT_TRAINING,
        "the checkpoint determines it",
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
        "only fairseq-train uses it",
    ),
    Refusal(("valid_subset",), DECODING, "`--gen-subset` sets the subset to decode"),
    Refusal(("all_gather_list_size",), DECODING, "only fairseq-train and fairseq-validate use it"),
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
        "only fairseq-train writes checkpoints; `--path` is the checkpoint to load",
    ),
    Refusal(
        ("bf16",),
        ("validate",),
        "fairseq-validate computes in single precision, or with `--fp16` in half precision",
    ),
    Refusal(
        ("quiet", "results_path", "post_process", "scoring", "bpe", "tokenizer"),
        ("validate",),
        "fairseq-validate prints no text",
    ),
)


def refusals(command: str) -> dict[str, list[Refusal]]:
    """The rows for each option of a command, by the option's name in fairseq's settings."""
    rows: dict[str, list[Refusal]] = {}
    for row in REFUSALS:
        for option in row.options if command in row.commands else ():
            rows.setdefault(option, []).append(row)
    return rows
