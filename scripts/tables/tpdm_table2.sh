#!/usr/bin/env bash
# Table 2 of Chen et al. (2023), TPDM: the small model with TPDM without one loss or the other, and
# with sinusoidal anchors; BLEU of the zero-shot directions of Europarl.
#
#   scripts/tables/tpdm_table2.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tpdm.sh"

BASELINE="*: MNMT-TPDM-small"
paper_row Europarl "MNMT-TPDM-small without L_d"
paper_row Europarl "MNMT-TPDM-small without L_p"
paper_row Europarl "MNMT-TPDM-small, sinusoidal anchor"
paper_row Europarl "MNMT-TPDM-small"
make_table table2 zero-shot "$@"
