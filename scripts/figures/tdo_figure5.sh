#!/usr/bin/env bash
# Figure 5 of Qu et al. (TDO): supervised and zero-shot scores over the layer M at which the target enters,
# against the prefix decoder-only model (M = 0), on TED-19 and OPUS-100. The paper's text does not list the values of M:
# on TED-19 they are those of the authors' released presets, 0, 1, 3, 5, 6, 7, 9 and 11 of 12 layers. Of the 24 layers
# of OPUS-100 the release has 0 and 12, and the text names M = 3; the other eighths are ours.
#
#   scripts/figures/tdo_figure5.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo/figures.sh"

# rows_of_m SETTING PARTS PART...: the target enters behind so many of PARTS equal parts of the layers.
rows_of_m() {
  local part system
  block_row "$1/prefix-decoder-only" "M = 0"
  for part in "${@:3}"; do
    system=tdo-prefix@m-$part-of-$2
    if ((2 * part == $2)); then system=tdo-prefix; fi # as in the tables
    block_row "$1/$system" "M = LAYER"
  done
}

# The scale says how many layers there are.
name_rows() {
  local index layer
  for index in "${!rows[@]}"; do
    layer="$(layer_of "${rows[index]}") of $((2 * $(half_of "${rows[index]}"))) layers"
    names[index]=${names[index]/LAYER/$layer}
  done
}

draw_figures() {
  draw_curve "$1" ted19 M prefix-decoder-only tdo-prefix
  draw_curve "$1" opus100-deep M prefix-decoder-only tdo-prefix
}

rows_of_m ted19 12 1 3 5 6 7 9 11
rows_of_m opus100-deep 8 1 2 3 4 5 6 7
make_table figure5 all "$@"
