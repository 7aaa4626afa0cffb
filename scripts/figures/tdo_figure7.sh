#!/usr/bin/env bash
# Figure 7 of Qu et al. (TDO): five strategies of the translation instruction (appendix B) in encoder-decoder,
# causal and prefix decoder-only models on TED-19; mean BLEU of supervised and of zero-shot directions.
#
#   scripts/figures/tdo_figure7.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../tables/tdo/figures.sh"

draw_figures() {
  local index name
  local -a places=()
  for index in "${!rows[@]}"; do
    name=${names[index]#*: }
    places+=("${names[index]}=${name%, strategy*}:strategy ${name##*strategy }")
  done
  sweep "$1/scores.json" "$1/bars" --x "${places[@]}" --group supervised zero-shot
}

for strategy in 1 2 3 4 5; do
  variant=$([[ $strategy == 1 ]] || echo "@strategy-$strategy")
  block_row "ted19/encoder-decoder$variant" "encoder-decoder, strategy $strategy"
  block_row "ted19/causal-decoder-only$variant" "decoder-only, causal, strategy $strategy"
  block_row "ted19/prefix-decoder-only$variant" "decoder-only, prefix, strategy $strategy"
done
make_table figure7 all "$@"
