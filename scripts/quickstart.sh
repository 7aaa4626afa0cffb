#!/usr/bin/env bash
# From nothing to a table: set-up, an embedded corpus, two systems trained, translated with and scored.
#
#   scripts/quickstart.sh [--fresh] [--out DIR] [--dry-run]
#
# Compares a prefix decoder-only model with the two-stage model (TDO) with InstruCL by the recipe
# (configs/experiments/quickstart.toml), on trained and on zero-shot directions. On two CPU cores it takes
# seven to ten minutes after set-up. LID=FILE has fastText's lid.176 tell languages apart (also:
# lid.176.bin or .ftz in the clone), instead of a classifier trained on the corpus.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door quickstart "$@"
