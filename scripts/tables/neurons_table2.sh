#!/usr/bin/env bash
# Table 2 of Xie et al. (2021), neuron allocation: one-to-many translation, BLEU of each direction. The
# rows of table 1, and masks by Taylor expansion of a model whose feed-forward networks have 3,000.
#
#   scripts/tables/neurons_table2.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/neurons.sh"

main_rows one-to-many
row "one-to-many/expansion-$(masked taylor)" "neurons, TE, FFN 3000"
make_table table2 "$(tested one-to-many)" "$@"
