#!/usr/bin/env bash
# Figure 6 of Xie et al. (2021), neuron allocation: BLEU over the multilingual model's where neurons are
# allocated to pairs, to source languages, to target languages, or, of the encoder to source and of the
# decoder to target languages; many-to-many.
#
#   scripts/tables/neurons_figure6.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/neurons.sh"
source "$(dirname "${BASH_SOURCE[0]}")/neurons/swept.sh"

draw_figures() {
  local index
  local -a places=()
  for index in "${!rows[@]}"; do
    if [[ ${rows[index]} == *masked-* ]]; then
      places+=("${names[index]}=${names[index]##*by }")
    fi
  done
  sweep "$1" "neurons allocated by" --baseline "$(plain_name)" -- "${places[@]}"
}

row many-to-many/multilingual multilingual
for by in pair source target separate; do
  row "many-to-many/$(masked taylor "" "" "$by")" "neurons, TE, by $by"
done
make_table figure6 "$(tested many-to-many)" "$@"
