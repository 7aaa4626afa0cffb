#!/usr/bin/env bash
# Table 6 of Chen et al. (2023), TPDM: every direction of MultiUN, small and base models.
#
#   scripts/tables/tpdm_table6.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tpdm.sh"

main_rows MultiUN
make_table table6 all "$@"
