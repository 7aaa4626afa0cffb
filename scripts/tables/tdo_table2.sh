#!/usr/bin/env bash
# Table 2 of Qu et al. (TDO), fine-tuned on TED-19 from M2M-418M, NLLB-600M and M2M-1.2B, whose decoder
# layers become a decoder-only or two-stage model; means over directions.
#
#   scripts/tables/tdo_table2.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tdo.sh"

for model in m2m-418m nllb-600m m2m-1.2b; do
  block_row "$model/encoder-decoder" "encoder-decoder"
  block_row "$model/decoder-only" "decoder-only, prefix"
  block_row "$model/tdo" "TDO, prefix"
  block_row "$model/tdo-adaptation" "TDO, prefix, adaptation"
  block_row "$model/tdo-instrucl" "TDO, prefix, InstruCL"
  block_row "$model/tdo-adaptation-instrucl" "TDO, prefix, adaptation, InstruCL"
done
make_table table2 all "$@"
