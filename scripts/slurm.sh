#!/usr/bin/env bash
# Trains the system of a config on machines that Slurm gives: writes a script for sbatch into the
# folder of the checkpoints, and submits it.
#
#   scripts/slurm.sh CONFIG DATA --nodes K --gpus N [--sbatch=OPTION]... [--save-dir DIR]
#                    [--precision fp32|fp16|bf16] [flags of fairseq-train] [--dry-run]
#
# N GPUs of each of K machines (K is 1 unless given); or --cpu [--workers N], N processes of each.
# --sbatch=--time=24:00:00, --sbatch=--partition=NAME, --sbatch=--account=NAME, ... go to sbatch.
# Before the time is over the training writes a checkpoint, and the job waits for another turn, in
# which it goes on. --dry-run only prints the script. All machines must see the same files.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door train "$@" --slurm
