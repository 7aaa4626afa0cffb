#!/usr/bin/env bash
# Table 3 of Qu et al. (TDO): InstruCL in encoder-decoder, decoder-only and two-stage models, at layer N
# and at layer 1.5N of 2N; means over directions.
#
#   scripts/tables/tdo_table3.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tdo.sh"

# contrasted SETTING N: InstruCL at layer N of all, and at 1.5N of those that have so many.
contrasted() {
  local half=$2 later=$((3 * $2 / 2))
  block_row "$1/encoder-decoder" "encoder-decoder"
  block_row "$1/encoder-decoder@instrucl-n" "encoder-decoder, InstruCL at layer $half"
  block_row "$1/prefix-decoder-only" "decoder-only, prefix"
  block_row "$1/prefix-decoder-only@instrucl-n" "decoder-only, prefix, InstruCL at layer $half"
  block_row "$1/prefix-decoder-only@instrucl-1.5n" "decoder-only, prefix, InstruCL at layer $later"
  block_row "$1/tdo-prefix" "TDO, prefix"
  block_row "$1/tdo-prefix@instrucl-n" "TDO, prefix, InstruCL at layer $half"
  block_row "$1/tdo-prefix-instrucl" "TDO, prefix, InstruCL at layer $later"
}

contrasted ted19 6
contrasted opus100-deep 12
contrasted opus100-wide 6
make_table table3 all "$@"
