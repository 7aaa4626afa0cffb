#!/usr/bin/env bash
# Table 5 of Zhang et al. (2020), OPUS-100: many-to-many models by training size, High, Medium and
# Low: at full 44, 29 and 21 pairs, as the published figures have it. At toy one pair is of each;
# Multi30k has one size only.
#
#   scripts/tables/opus100_table5.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" opus100 table5 "$@"
