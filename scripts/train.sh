#!/usr/bin/env bash
# Trains the system of a config with the stock fairseq-train.
#
#   scripts/train.sh CONFIG DATA [--save-dir DIR] [--precision fp32|fp16|bf16] [MACHINE]
#                    [flags of fairseq-train] [--dry-run]
#
# MACHINE is one of
#   (nothing)                               all GPUs of this machine, or the CPU if it has none
#   --cpu                                   the CPU (OMP_NUM_THREADS sets its threads)
#   --cpu --workers N                       N processes on the CPU, which share its cores
#   --gpus N                                N GPUs of this machine, through torchrun where N > 1
#   ... --nodes K --rendezvous H:P          the same on each of K machines; run it on each of them,
#                                           H:P is a free port of one of them
# Under Slurm scripts/slurm.sh does that.
#
# The tokens an update sees stay the config's: --update-freq follows the number of GPUs, and where
# there are more GPUs than batches, batches are halved, and with them the negatives of InstruCL, which
# are of one GPU's batch. Training resumes from the checkpoints in --save-dir; SIGTERM ends it with
# one. The command is printed; --dry-run only prints it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door train "$@"
