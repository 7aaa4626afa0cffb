"""The ranges of fairseq's numeric options; fairseq itself checks hardly any of them.

A test asks for a range for each numeric option that fairseq's commands read here. The options of
this package are checked where they are declared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tdo_compat.settings import SettingError, literal

LARGEST = 2**63 - 1
LARGEST_SEED = 2**31 - 1  # numpy's limit is twice that; numbers of epochs are added


@dataclass(frozen=True)
class Range:
    """Values from `least` to `most`; an exclusive bound is not part of them. All are finite."""

    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    below: bool = False

    def __contains__(self, value: float) -> bool:
        if isinstance(value, float) and not math.isfinite(value):
            return False
        low = value > self.least if self.above else value >= self.least
        return low and (value < self.most if self.below else value <= self.most)

    def __str__(self) -> str:
        bounded_above = math.isfinite(self.most)
        if not math.isfinite(self.least):
            return "a finite number"
        if self.above:
            return f"above {self.least:g}" + (
                f" and {'below' if self.below else 'at most'} {self.most:g}" * bounded_above
            )
        if not bounded_above:
            return f"at least {self.least:g}"
        if self.below:
            return f"at least {self.least:g} and below {self.most:g}"
        return f"from {self.least:g} to {self.most:g}"


ANY = Range()
FROM_0, FROM_1, OR_OFF = Range(0), Range(1), Range(-1)
ABOVE_0 = Range(0, above=True)
SHARE = Range(0, 1)
PROBABILITY = Range(0, 1, below=True)

_NAMES = {
    FROM_1: "beam nbest max_tokens batch_size max_tokens_valid batch_size_valid log_interval "
    "required_batch_size_multiple save_interval validate_interval update_freq upsample_primary "
    "max_source_positions max_target_positions virtual_epoch_size virtual_data_size "
    "max_valid_steps ema_update_freq fp16_init_scale fp16_scale_window amp_init_scale "
    "amp_scale_window distributed_world_size nprocs_per_node all_gather_list_size bucket_cap_mb "
    "lr_deacy_period checkpoint_shard_count total_num_update",
    FROM_0: "num_workers min_len prefix_size no_repeat_ngram_size seed save_interval_updates "
    "validate_interval_updates max_update max_epoch validate_after_updates empty_cache_freq "
    "curriculum warmup_updates warmup_steps hold_steps decay_steps ema_start_update lr clip_norm "
    "weight_decay fixed_validation_seed force_anneal device_id distributed_rank "
    "amp_batch_retries end_learning_rate min_lr ignore_prefix_size lr_threshold lr_patience "
    "final_lr_scale init_lr_scale diverse_beam_strength max_len_a max_len_b stop_time_hours "
    "buffer_size data_buffer_size",
    OR_OFF: "keep_interval_updates keep_interval_updates_pattern keep_last_epochs "
    "keep_best_checkpoints patience heartbeat_timeout distributed_port warmup_init_lr "
    "lr_period_updates stop_min_lr diverse_beam_groups diversity_rate sampling_topk",
    ABOVE_0: "temperature lr_shrink lr_decay max_lr t_mult clip_threshold "
    "min_loss_scale threshold_loss_scale adam_eps adamax_eps adadelta_eps lamb_eps adafactor_eps",
    SHARE: "ema_decay fp16_scale_tolerance adadelta_rho",
    PROBABILITY: "dropout attention_dropout activation_dropout label_smoothing momentum beta1 "
    "adam_betas adamax_betas lamb_betas",
    Range(-1, 1): "sampling_topp",
    Range(-100, 100): "lenpen",
    Range(0.1): "sampling_temperature",
    ANY: "decay_rate power unkpen lm_weight",
}  # fmt: skip
WHOLE = ("update_freq",)  # that fairseq reads as real numbers, or as any
RANGES: Mapping[str, Range] = {name: of for of, text in _NAMES.items() for name in text.split()}


def out_of_range(option: str, flag: str, value: Any) -> Iterator[str]:
    """Yield the problem of a value of an option, if it has one.

    Args:
        option: its name in fairseq's settings.
        flag: its name on the command line.
        value: a number, several, or text that is a list of numbers; others have no range.
    """
    for number in _numbers(option, value):
        if number != number:
            yield f"{flag} must be a number; it is {number}"
        elif number not in RANGES.get(option, (number,)):
            yield f"{flag} must be {RANGES[option]}; it is {number}"
        if option in WHOLE and number % 1:
            yield f"{flag} must be a whole number; it is {number}"
        most = LARGEST_SEED if option == "seed" else LARGEST
        if isinstance(number, int) and abs(number) > most:
            yield f"{flag} must be at most {most}; it is {number}"


def _numbers(option: str, value: Any) -> list[int | float]:
    if isinstance(value, str) and option in RANGES:
        try:
            value = literal(value)
        except SettingError:
            return []  # fairseq's own check of the form names the option
    several = value if isinstance(value, list | tuple) else [value]
    return [
        number
        for number in several
        if isinstance(number, int | float) and not isinstance(number, bool)
    ]
