#!/usr/bin/env bash
# Table 1 of Qu et al. (TDO), trained from scratch: encoder-decoder, decoder-only and two-stage models,
# with adaptation modules and InstruCL, on TED-19 and, in two sizes, on OPUS-100; BLEU, chrF++, BERTScore,
# COMET and off-target rate, means over directions.
#
#   scripts/tables/tdo_table1.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tdo table1 "$@"
