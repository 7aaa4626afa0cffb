#!/usr/bin/env bash
# Figure 6 of Qu et al. (TDO): supervised and zero-shot scores over the layer of InstruCL, of prefix
# decoder-only and two-stage models, each against itself without InstruCL, on TED-19. The text does not list
# the layers: they are sixths of all here, and 1.5N, the paper's own choice.
#
#   scripts/figures/tdo_figure6.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo/figures.sh"

# rows_of_layer SYSTEM NAME LATER: LATER is the system with InstruCL at 1.5N.
rows_of_layer() {
  local part share
  block_row "ted19/$1" "$2"
  block_row "ted19/$3" "$2, InstruCL at 1.5N"
  for part in 1 2 3 4 5 6; do
    share=$part-of-6
    if ((part == 3)); then share=n; fi # as in table 3
    block_row "ted19/$1@instrucl-$share" "$2, InstruCL at $part/6 of the layers"
  done
}

draw_figures() {
  draw_curve "$1" ted19 "layer of InstruCL" prefix-decoder-only prefix-decoder-only
  draw_curve "$1" ted19 "layer of InstruCL" tdo-prefix tdo-prefix
}

rows_of_layer prefix-decoder-only "decoder-only, prefix" prefix-decoder-only@instrucl-1.5n
rows_of_layer tdo-prefix "TDO, prefix" tdo-prefix-instrucl
make_table figure6 all "$@"
