#!/usr/bin/env bash
# Figure 4 of Xie et al. (2021), neuron allocation: mean BLEU over the multilingual model's with several
# thresholds k, by both methods, many-to-many.
#
#   scripts/tables/neurons_figure4.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/neurons.sh"
source "$(dirname "${BASH_SOURCE[0]}")/neurons/swept.sh"

draw_figures() {
  local index
  local -a places=()
  for index in "${!rows[@]}"; do
    [[ ${rows[index]} == *masked-* ]] || continue
    places+=("${names[index]}=$(line_of "${names[index]}"):${names[index]##*k = }")
  done
  sweep "$1" k --baseline "$(plain_name)" -- "${places[@]}"
}

# line_of NAME: TE or AV.
line_of() { if [[ $1 == *TE* ]]; then echo TE; else echo AV; fi; }

row many-to-many/multilingual multilingual
for threshold in 0 0.1 0.3 0.5 0.6 0.7 0.8 0.9 1; do
  row "many-to-many/$(masked absolute "" "$threshold")" "neurons, AV, k = $threshold"
  row "many-to-many/$(masked taylor "" "$threshold")" "neurons, TE, k = $threshold"
done
make_table figure4 "$(tested many-to-many)" "$@"
