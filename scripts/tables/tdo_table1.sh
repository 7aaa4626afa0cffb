#!/usr/bin/env bash
# Table 1 of Qu et al. (TDO), trained from scratch: encoder-decoder, decoder-only and two-stage models,
# with adaptation modules and InstruCL, on TED-19 and, in two sizes, on OPUS-100; BLEU, chrF++, BERTScore,
# COMET and the off-target share, means over directions.
#
#   scripts/tables/tdo_table1.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tdo.sh"

block_row ted19/encoder-decoder "encoder-decoder"
block_row ted19/causal-decoder-only "decoder-only, causal"
block_row ted19/prefix-decoder-only "decoder-only, prefix"
block_row ted19/tdo-causal "TDO, causal"
block_row ted19/tdo-causal-adaptation "TDO, causal, adaptation"
block_row ted19/tdo-causal-instrucl "TDO, causal, InstruCL"
block_row ted19/tdo-causal-adaptation-instrucl "TDO, causal, adaptation, InstruCL"
block_row ted19/tdo-prefix "TDO, prefix"
block_row ted19/tdo-prefix-adaptation "TDO, prefix, adaptation"
block_row ted19/tdo-prefix-instrucl "TDO, prefix, InstruCL"
block_row ted19/tdo-prefix-adaptation-instrucl "TDO, prefix, adaptation, InstruCL"
for size in deep wide; do
  block_row opus100-$size/encoder-decoder "encoder-decoder"
  block_row opus100-$size/causal-decoder-only "decoder-only, causal"
  block_row opus100-$size/prefix-decoder-only "decoder-only, prefix"
  block_row opus100-$size/tdo-prefix "TDO, prefix"
  block_row opus100-$size/tdo-prefix-adaptation "TDO, prefix, adaptation"
  block_row opus100-$size/tdo-prefix-instrucl "TDO, prefix, InstruCL"
  block_row opus100-$size/tdo-prefix-adaptation-instrucl "TDO, prefix, adaptation, InstruCL"
done
make_table table1 all "$@"
