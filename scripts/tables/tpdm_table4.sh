#!/usr/bin/env bash
# Table 4 of Chen et al. (2023), TPDM: shares of token classes in the vocabulary, and among the tokens
# whose position a probe finds better under TPDM than with a residual cut (RC); base models, MultiUN.
#
#   scripts/tables/tpdm_table4.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tpdm.sh"

# A probe reads the encoders; nothing is translated.
translate_row() {
  local one
  for one in $(seeded "$1"); do
    ready "$one"
  done
}

# score_rows TABLE DIRECTIONS: the probe, for each seed.
score_rows() {
  local one seed
  local -a systems paths
  for ((seed = 1; seed <= seeds; seed++)); do
    paths=()
    for one in "${rows[@]}"; do
      mapfile -t systems < <(seeded "$one")
      paths+=(--path "$(probed "$one")=$(checkpoint_of "$run/${systems[seed - 1]}")")
    done
    tdo probe positions --data "$(data_of "$run/data" "${rows[0]}")" "${paths[@]}" \
      --out "$run/$1$( ((seed == 1)) || echo "/seed-$seed")"
  done
}

# probed ROW: what the probe calls it, RC or TPDM.
probed() {
  local name=${1#*/mnmt-}
  name=${name%-base}
  echo "${name^^}"
}

paper_row MultiUN "MNMT-RC-base"
paper_row MultiUN "MNMT-TPDM-base"
make_table table4 zero-shot "$@"
