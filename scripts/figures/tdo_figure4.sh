#!/usr/bin/env bash
# Figure 4 of Qu et al. (TDO): by layer whether the sources of a prefix decoder-only model and of two-stage
# models, with adaptation modules and InstruCL, look like the target language or like their own; TED-19.
#
#   scripts/figures/tdo_figure4.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo/figures.sh"

draw_figures() { draw_preference "$1"; }

block_row ted19/prefix-decoder-only "decoder-only, prefix"
block_row ted19/tdo-prefix "TDO, prefix"
block_row ted19/tdo-prefix-adaptation "TDO, prefix, adaptation"
block_row ted19/tdo-prefix-instrucl "TDO, prefix, InstruCL"
block_row ted19/tdo-prefix-adaptation-instrucl "TDO, prefix, adaptation, InstruCL"
PUBLISHED=1
make_table figure4 all "$@"
