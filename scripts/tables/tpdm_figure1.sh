#!/usr/bin/env bash
# Figures 1 and 2 of Chen et al. (2023), TPDM: zero-shot BLEU over updates, and how much of the tokens'
# positions a probe reads from the encoder, over updates and by class of token; base models on MultiUN,
# plain, without positions, with a residual cut (RC) and with TPDM.
#
#   scripts/tables/tpdm_figure1.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tpdm.sh"

# draw_figures TABLE DIRECTIONS: scores, and probes of the checkpoints that every training keeps.
draw_figures() {
  local index
  local -a paths=()
  draw_scores "$1"
  for index in "${!rows[@]}"; do
    paths+=("${names[index]#*: }=$run/${rows[index]}/checkpoints")
  done
  tdo probe positions --data "$(data_of "$run/data" "${rows[0]}")" --path "${paths[@]}" \
    --out "$run/$1/probe"
}

paper_row MultiUN "MNMT-base"
paper_row MultiUN "MNMT-base without positions"
paper_row MultiUN "MNMT-RC-base"
paper_row MultiUN "MNMT-TPDM-base"
make_table figure1 zero-shot "$@"
