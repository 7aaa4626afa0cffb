#!/usr/bin/env bash
# Multi30k in English, German, French and Czech: trains small systems from and into English and scores them
# on all twelve directions (configs/experiments/multi30k.toml).
#
#   scripts/multi30k.sh [--from DIR] [--form shared|disjoint] [--rows A,B,...] [OPTIONS of tdo reproduce]
#
# Default rows: transformer, prefix-decoder-only and tdo-instrucl-recipe; --rows selects others. A training
# run of 1,500 updates takes about half an hour on one core. LID=FILE identifies languages with fastText's
# lid.176 instead of a classifier trained on the corpus (lid.176.bin or .ftz in the clone is found by itself).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door reproduce multi30k --headline "$@"
