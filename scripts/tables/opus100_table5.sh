#!/usr/bin/env bash
# Table 5 of Zhang et al. (2020), OPUS-100: many-to-many models by amount of training data, High,
# Medium and Low: 44, 29 and 21 pairs at full, as in the published results. At toy each has one pair;
# in Multi30k all pairs have the same amount.
#
#   scripts/tables/opus100_table5.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" opus100 table5 "$@"
