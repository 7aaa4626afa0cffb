#!/usr/bin/env bash
# Trains the system of a config with the stock fairseq-train.
#
#   scripts/train.sh CONFIG DATA [--save-dir DIR] [--precision fp32|fp16|bf16] [MACHINE]
#                    [flags of fairseq-train] [--dry-run]
#
# MACHINE is one of
#   (nothing)                               all GPUs of this machine, or the CPU if it has none
#   --cpu                                   the CPU (OMP_NUM_THREADS sets its threads)
#   --cpu --workers N                       N processes that share the CPU's cores
#   --gpus N                                N GPUs of this machine, with torchrun if N > 1
#   ... --nodes K --rendezvous H:P          the same on each of K machines: run the command on all of
#                                           them; H:P is the host and a free port of one of them
# On Slurm use scripts/slurm.sh instead.
#
# The number of tokens per update stays that of the config: --update-freq is adapted to the number of
# GPUs. With more GPUs than batches per update, batches are halved, and so are InstruCL's negatives,
# which come from the batch of one GPU. Training resumes from the checkpoints in --save-dir; on SIGTERM
# it saves a checkpoint and stops. The command is printed; --dry-run only prints it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door train "$@"
