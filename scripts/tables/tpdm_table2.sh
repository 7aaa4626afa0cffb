#!/usr/bin/env bash
# Table 2 of Chen et al. (2023), TPDM: the small model with TPDM, without either of its losses, and
# with sinusoidal anchors; BLEU of the zero-shot directions of Europarl.
#
#   scripts/tables/tpdm_table2.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tpdm table2 "$@"
