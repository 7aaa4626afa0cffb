#!/usr/bin/env bash
# Figure 2 of Xie et al. (2021), neuron allocation: importance of neurons by Taylor expansion in the
# feed-forward networks of the last layers, for three pairs, one-to-many and many-to-many. The plain
# models are trained and measured, and nothing is translated.
#
#   scripts/tables/neurons_figure2.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/neurons.sh"
source "$(dirname "${BASH_SOURCE[0]}")/neurons/measured.sh"

# draw_of CORPUS FILE OUT
draw_of() { tdo analyze neurons importance "$2" --pairs "$(shown_of "$1")" --out "$3"; }

for corpus in one-to-many many-to-many; do
  row "$corpus/multilingual" "$corpus"
done
make_table figure2 all "$@"
