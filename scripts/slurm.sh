#!/usr/bin/env bash
# Trains the system of a config as a Slurm job: writes a batch script into the checkpoint folder and
# submits it with sbatch.
#
#   scripts/slurm.sh CONFIG DATA --nodes K --gpus N [--sbatch=OPTION]... [--save-dir DIR]
#                    [--precision fp32|fp16|bf16] [flags of fairseq-train] [--dry-run]
#
# The job uses N GPUs on each of K nodes (default 1), or with --cpu [--workers N] N processes per node.
# --sbatch=--time=24:00:00, --sbatch=--partition=NAME, --sbatch=--account=NAME, ... go to sbatch.
# Shortly before the time limit a checkpoint is saved and the job is requeued; it resumes from that
# checkpoint. --dry-run only prints the script. All nodes must share the file system.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door train "$@" --slurm
