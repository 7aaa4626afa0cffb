#!/usr/bin/env bash
# Figure 5 of Xie et al. (2021), neuron allocation: what is lost where a random fifth of the general
# neurons, or half of those of one pair, are ablated after the training, many-to-many.
#
#   scripts/tables/neurons_figure5.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/neurons.sh"
source "$(dirname "${BASH_SOURCE[0]}")/neurons/swept.sh"
source "$(dirname "${BASH_SOURCE[0]}")/neurons/ablated.sh"

row "many-to-many/$(masked taylor)" "neurons, TE"
make_table figure5 "$(tested many-to-many)" "$@"
