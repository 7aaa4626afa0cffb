#!/usr/bin/env bash
# What it takes for L_d of Chen et al. (2023), TPDM, to take positions out of the semantic embedding, which
# no table of theirs asks: small models on MultiUN, from one without L_d to those with more and more
# changes to the game with its generator; zero-shot BLEU, and how much of the tokens' positions a probe
# reads from each layer at the last update.
#
#   scripts/tables/tpdm_adversary.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tpdm.sh"

BASELINE="*without*"

# draw_figures TABLE DIRECTIONS: scores over updates, and the probe.
draw_figures() {
  local index
  local -a paths=()
  draw_scores "$1"
  for index in "${!rows[@]}"; do
    paths+=("${names[index]#*: }=$run/${rows[index]}/checkpoints/checkpoint_last.pt")
  done
  tdo probe positions --data "$(data_of "$run/data" "${rows[0]}")" --path "${paths[@]}" \
    --layers all --out "$run/$1/probe"
}

row multiun/mnmt-tpdm-small-without-l_d "MultiUN: without L_d"
row multiun/adversary-as-printed "MultiUN: as printed"
row multiun/adversary-late "MultiUN: late"
row multiun/adversary-late-5-steps "MultiUN: late, 5 steps"
row multiun/adversary-late-5-steps-detached "MultiUN: late, 5 steps, detached"
row multiun/adversary-late-5-steps-detached-light "MultiUN: late, 5 steps, detached, weight 0.1"
make_table adversary all "$@"
