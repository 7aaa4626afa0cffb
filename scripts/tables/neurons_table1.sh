#!/usr/bin/env bash
# Table 1 of Xie et al. (2021), neuron allocation: many-to-many translation, BLEU of each direction.
# Models of one direction, the multilingual model, target-specific attention, adapters, and masks by
# absolute value (AV) and Taylor expansion (TE); beside them the multilingual model trained on.
#
#   scripts/tables/neurons_table1.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/neurons.sh"

main_rows many-to-many
make_table table1 "$(tested many-to-many)" "$@"
