#!/usr/bin/env bash
# Trains the system of a config with the stock fairseq-train.
#
#   scripts/train.sh CONFIG DATA [--save-dir DIR] [--precision fp32|fp16|bf16] [MACHINE]
#                    [flags of fairseq-train] [--dry-run]
#
# MACHINE is one of
#   (nothing)                               all GPUs of this machine, or the CPU if it has none
#   --cpu                                   the CPU (OMP_NUM_THREADS sets its threads)
#   --gpus N                                N GPUs of this machine, through torchrun where N > 1
#   --gpus N --nodes K --rendezvous H:P     N GPUs of each of K machines; run it on each of them,
#                                           H:P is a free port of one of them
#   --gpus N --nodes K --slurm              the same under Slurm: submits with sbatch
#
# The tokens an update sees stay the config's: --update-freq follows the number of GPUs. Training
# resumes from the checkpoints in --save-dir. The command is printed; --dry-run only prints it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/pipeline.sh"
command_or_help train "$@"
