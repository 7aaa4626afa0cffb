#!/usr/bin/env bash
# Table 4 of Chen et al. (2023), TPDM: shares of token classes in the vocabulary, and among the tokens
# whose position a probe predicts better with TPDM than with a residual cut (RC); base models, MultiUN.
#
#   scripts/tables/tpdm_table4.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tpdm table4 "$@"
