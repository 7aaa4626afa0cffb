#!/usr/bin/env bash
# Figure 5 of Qu et al. (TDO): supervised and zero-shot scores over the layer M at which the target enters,
# against the prefix decoder-only model (M = 0), on TED-19 and OPUS-100. The text does not list the values of M:
# on TED-19 they are sixths of the layers here, on OPUS-100 eighths.
#
#   scripts/figures/tdo_figure5.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo/figures.sh"

# rows_of_m SETTING PARTS
rows_of_m() {
  local part system
  block_row "$1/prefix-decoder-only" "M = 0"
  for ((part = 1; part < $2; part++)); do
    system=tdo-prefix@m-$part-of-$2
    if ((2 * part == $2)); then system=tdo-prefix; fi # as in the tables
    block_row "$1/$system" "M = $part/$2 of the layers"
  done
}

draw_figures() {
  draw_curve "$1" ted19 M "M = 0" tdo-prefix
  draw_curve "$1" opus100-deep M "M = 0" tdo-prefix
}

rows_of_m ted19 6
rows_of_m opus100-deep 8
make_table figure5 all "$@"
