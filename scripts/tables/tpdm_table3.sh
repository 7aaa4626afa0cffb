#!/usr/bin/env bash
# Table 3 of Chen et al. (2023), TPDM: small models with sinusoidal and with learned positions, without
# and with TPDM; BLEU on Europarl.
#
#   scripts/tables/tpdm_table3.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tpdm.sh"

BASELINE="*: MNMT-small"
paper_row Europarl "MNMT-small"
paper_row Europarl "MNMT-TPDM-small"
paper_row Europarl "MNMT-small, learned positions"
paper_row Europarl "MNMT-TPDM-small, learned positions"
make_table table3 all "$@"
