#!/usr/bin/env bash
# Figure 1 of Qu et al. (TDO): encoder-decoder, causal and prefix decoder-only models on TED-19, their
# BLEU, and by layer whether their sources look like the target language or like their own.
#
#   scripts/figures/tdo_figure1.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo/figures.sh"

draw_figures() {
  bars_of_systems "$1"
  draw_preference "$1"
}

block_row ted19/encoder-decoder "encoder-decoder"
block_row ted19/causal-decoder-only "decoder-only, causal"
block_row ted19/prefix-decoder-only "decoder-only, prefix"
PUBLISHED=1
make_table figure1 all "$@"
