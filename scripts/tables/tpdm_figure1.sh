#!/usr/bin/env bash
# Figure 1 of Chen et al. (2023), TPDM, left half: zero-shot BLEU over updates of base models on MultiUN;
# plain, without positions, with a residual cut (RC) and with TPDM. (Table 4 has the probes.)
#
#   scripts/tables/tpdm_figure1.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tpdm.sh"

paper_row MultiUN "MNMT-base"
paper_row MultiUN "MNMT-base without positions"
paper_row MultiUN "MNMT-RC-base"
paper_row MultiUN "MNMT-TPDM-base"
make_table figure1 zero-shot "$@"
