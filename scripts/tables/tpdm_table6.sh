#!/usr/bin/env bash
# Table 6 of Chen et al. (2023), TPDM: BLEU of every direction of MultiUN, small and base models.
#
#   scripts/tables/tpdm_table6.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tpdm table6 "$@"
