#!/usr/bin/env bash
# Table 8 of Chen et al. (2023), TPDM: parameters, and the time of an update with TPDM over a plain one.
# Nothing is trained to an end: sizes are the paper's at every scale, and benchmarks/disentangling.py
# trains the systems in turns, at toy and multi30k on batches of 1,000 tokens, at full on the paper's.
#
#   scripts/tables/tpdm_table8.sh [toy|multi30k|full] [--smoke] [--out RUN] [--dry-run]
#
# It has no other options; what follows are those of all TPDM tables, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tpdm.sh"

VOCABULARY=${vocabulary[multiun]}
VALUED=(--out)

# parameters NAME: a line on that row's model.
parameters() {
  local -a flags
  mapfile -t flags < <(config_flags "$CONFIGS/multiun/${1,,}.conf" | grep -e ^--arch -e ^--tdo- |
    xargs printf '%s\n')
  if [[ -n $dry ]]; then
    show tdo describe "${flags[@]}" --vocab-size "$VOCABULARY" --json
    return
  fi
  tdo describe "${flags[@]}" --vocab-size "$VOCABULARY" --json | "$VENV/bin/python" -c '
import json, sys
from tdo_plugin.evaluation.published import table
millions = json.load(sys.stdin)["total_parameters"] / 1e6
paper = table("tpdm:8").value(sys.argv[1], "model", "parameters (M)")
print(f"{sys.argv[1]:16} {millions:7.3f} million parameters, {paper:.3f} in the paper")' "$1"
}

# times SIZE: of updates of that size's models.
times() {
  local -a words=("$ROOT/benchmarks/disentangling.py" --size "$1" --json "$run/table8/$1.json")
  case $kind in
    smoke)
      words+=(--rounds 1 --batch-tokens 100 --sentence-length 12 --vocabulary 500)
      words+=(--options "--tdo-model-dim 16 --tdo-ffn-dim 16 --tdo-heads 2")
      ;;
    full) words+=(--rounds 10 --batch-tokens 8000) ;;
  esac
  if [[ -n $dry ]]; then
    show python "${words[@]}"
  else
    "$VENV/bin/python" "${words[@]}"
  fi
}

# measure: the whole table.
measure() {
  local size name
  for size in small base; do
    for name in MNMT MNMT-TPDM; do
      parameters "$name-$size"
    done
  done
  for size in small base; do
    echo "$size model:"
    times "$size"
  done
}

read_options "$@"
set_up
if [[ -n $dry ]]; then
  measure
  exit
fi
mkdir -p "$run/table8"
measure | tee "$run/table8/table8.txt"
