#!/usr/bin/env bash
# Table 3 of Xie et al. (2021), neuron allocation: many-to-many translation with several shares of
# general neurons.
#
#   scripts/tables/neurons_table3.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/neurons.sh"
source "$(dirname "${BASH_SOURCE[0]}")/neurons/swept.sh"

draw_figures() {
  local index general
  local -a places=()
  for index in "${!rows[@]}"; do
    read -r _ general _ <<<"$(kind_of "${rows[index]}")"
    places+=("${names[index]}=$general")
  done
  sweep "$1" ρ -- "${places[@]}"
}

for share in 80 90 95; do # in the names of the systems as 0.8, 0.9 and 0.95
  row "many-to-many/$(masked taylor "0.${share%0}")" "neurons, TE, ρ = $share %"
done
make_table table3 "$(tested many-to-many)" "$@"
