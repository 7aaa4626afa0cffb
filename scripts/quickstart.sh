#!/usr/bin/env bash
# The whole pipeline on a small corpus: set-up, data, training, translation and scores of two systems.
#
#   scripts/quickstart.sh [--fresh] [--out DIR] [--dry-run]
#
# Compares a prefix decoder-only model with the two-stage model (TDO) with InstruCL by the recipe
# (configs/experiments/quickstart.toml), on supervised and zero-shot directions. On two CPU cores it takes
# seven to ten minutes after set-up. LID=FILE identifies languages with fastText's lid.176 instead of a
# classifier trained on the corpus (lid.176.bin or .ftz in the clone is found by itself).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door quickstart "$@"
