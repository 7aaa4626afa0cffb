#!/usr/bin/env bash
# Table 8 of Chen et al. (2023), TPDM: parameters, and the time of an update with TPDM over a plain one.
# Nothing is trained to an end: sizes are the paper's at every scale, and benchmarks/disentangling.py
# trains the systems in turns, at toy and multi30k on batches of 1,000 tokens, at full on the paper's.
#
#   scripts/tables/tpdm_table8.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tpdm table8 "$@"
