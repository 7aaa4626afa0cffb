#!/usr/bin/env bash
# Table 7 of Chen et al. (2023), TPDM: every direction of Europarl, small and base models.
#
#   scripts/tables/tpdm_table7.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tpdm.sh"

main_rows Europarl
make_table table7 all "$@"
