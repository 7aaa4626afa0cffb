#!/usr/bin/env bash
# Multi30k in English, German, French and Czech: small systems, trained from and into English and scored on
# all twelve directions (configs/experiments/multi30k.toml).
#
#   scripts/multi30k.sh [--from DIR] [--form shared|disjoint] [--rows A,B,...] [OPTIONS of tdo reproduce]
#
# The rows are transformer, prefix-decoder-only and tdo-instrucl-recipe; --rows names others. At 1,500
# updates a training takes about half an hour of a core. LID=FILE has fastText's lid.176 tell languages apart
# (also: lid.176.bin or .ftz in the clone), instead of a classifier trained on the corpus.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door reproduce multi30k --headline "$@"
