#!/usr/bin/env bash
# Table 2 of Qu et al. (TDO): decoder-only and two-stage models, initialized with the decoder layers of
# M2M-418M, NLLB-600M and M2M-1.2B and fine-tuned on TED-19; means over directions.
#
#   scripts/tables/tdo_table2.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tdo table2 "$@"
