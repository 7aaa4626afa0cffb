#!/usr/bin/env bash
# Table 8 of Chen et al. (2023), TPDM: parameters, and the time per update relative to the plain model.
# No full training: benchmarks/disentangling.py trains the systems in turns for a few updates. Model sizes
# are the paper's at every scale; batches are the paper's at full, 1,000 tokens at toy and multi30k.
#
#   scripts/tables/tpdm_table8.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tpdm table8 "$@"
