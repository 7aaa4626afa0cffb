#!/usr/bin/env bash
# Figure 3 of Xie et al. (2021), neuron allocation: where the neurons of each pair are, by layer
# (LScore) and by module (MScore), and how alike pairs are in them, one-to-many and many-to-many. The
# plain models are trained and measured, and nothing is translated.
#
#   scripts/tables/neurons_figure3.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/neurons.sh"
source "$(dirname "${BASH_SOURCE[0]}")/neurons/measured.sh"

# draw_of CORPUS FILE OUT
draw_of() {
  local masks=${2%.importance}-$GENERAL-$THRESHOLD-$BY.masks
  tdo allocate "$2" --general "$GENERAL" --threshold "$THRESHOLD" --by "$BY" --out "$masks" --force
  tdo analyze neurons allocation "$masks" --out "$3"
}

for corpus in one-to-many many-to-many; do
  row "$corpus/multilingual" "$corpus"
done
make_table figure3 all "$@"
