#!/usr/bin/env bash
# Table 3 of Qu et al. (TDO): InstruCL in encoder-decoder, decoder-only and two-stage models, at layer N
# and at layer 1.5N of 2N; means over directions.
#
#   scripts/tables/tdo_table3.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tdo table3 "$@"
