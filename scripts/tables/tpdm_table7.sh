#!/usr/bin/env bash
# Table 7 of Chen et al. (2023), TPDM: BLEU of every direction of Europarl, small and base models.
#
#   scripts/tables/tpdm_table7.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tpdm table7 "$@"
