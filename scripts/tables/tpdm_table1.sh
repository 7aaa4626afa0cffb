#!/usr/bin/env bash
# Table 1 of Chen et al. (2023), TPDM: pivoting, plain models, models with a residual cut (RC), with
# TPDM and with its gate (GTPDM), small and base; BLEU of zero-shot directions and means, MultiUN and
# Europarl. RUN/report/table1 also has figure 1: zero-shot BLEU over updates.
#
#   scripts/tables/tpdm_table1.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tpdm table1 "$@"
