#!/usr/bin/env bash
# Table 3 of Chen et al. (2023), TPDM: small models with sinusoidal and with learned positions, without
# and with TPDM; BLEU on Europarl.
#
#   scripts/tables/tpdm_table3.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tpdm table3 "$@"
