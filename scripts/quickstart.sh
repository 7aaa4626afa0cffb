#!/usr/bin/env bash
# From nothing to a table: set-up, an embedded corpus, two systems trained, decoded and scored.
#
#   scripts/quickstart.sh [--fresh] [--out DIR] [--dry-run]
#
#   --fresh     begin again; otherwise a step whose result is whole is not done again
#   --out DIR   where everything goes (default: runs/quickstart)
#   --dry-run   only print the stock commands that training and translating come to, of a tiny
#               corpus that is thrown away again
#
# Compares a prefix decoder-only model with the two-stage model (TDO) with InstruCL by the recipe
# (configs/shared/recipe.conf), on trained and on zero-shot directions. On two CPU cores it takes seven to ten
# minutes after set-up. LID=FILE has fastText's lid.176 tell languages apart (also: lid.176.bin or .ftz in
# the clone), instead of a classifier trained on the corpus.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/pipeline.sh"

LANGUAGES=en,de,es,fr
SENTENCES=8000 # training sentences of each pair
VALIDATION=100 # validation sentences of each pair
TEST=200       # test sentences
VOCABULARY=1600
LAST=3 # checkpoints to average
SYSTEMS=(prefix-decoder-only tdo-instrucl)
CONFIGS=$ROOT/configs/quickstart
FLAGS=(--log-format simple --log-interval 50 --num-workers 0)

run=$ROOT/runs/quickstart fresh="" dry=""
while (($#)); do
  case $1 in
    --fresh) fresh=1 ;;
    --dry-run) dry=1 ;;
    --out)
      (($# > 1)) || die "\`--out\` must name a folder; nothing follows it"
      run=$(realpath -m "$2")
      shift
      ;;
    --help | -h)
      print_help
      exit 0
      ;;
    *) die "\`$1\` is not an option of this script; --help lists them" ;;
  esac
  shift
done

# corpus: the text folder and, from it, the data folder.
corpus() {
  tdo corpus --out "$run/text" --languages "$LANGUAGES" --train "$SENTENCES" \
    --valid "$VALIDATION" --test "$TEST" --seed 1 --force
  tdo preprocess "$run/text" "$run/data" --vocab-size "$VOCABULARY" --normalization identity \
    --workers 2 --fresh
}

set_up
choose_lid
SECONDS=0
if [[ -n $fresh && -z $dry ]]; then
  begin_again "$run" "${SYSTEMS[@]}"
fi
if [[ -n $dry ]]; then
  run=$(mktemp -d)
  trap 'rm -rf "$run"' EXIT
  SENTENCES=100 VALIDATION=10 TEST=10 VOCABULARY=150
  corpus >"$run/log"
  read -ra where <<<"$(machine)"
  for name in "${SYSTEMS[@]}"; do
    tdo train "$CONFIGS/$name.conf" "$run/data" --save-dir "$run/$name/checkpoints" \
      "${where[@]}" --dry-run "${FLAGS[@]}"
    tdo generate "$CONFIGS/$name.conf" "$run/data" "$run/$name/average.pt" "$run/$name/output" \
      --jobs 2 --dry-run
  done
  exit 0
fi
mkdir -p "$run"
say "corpus ($LANGUAGES), SentencePiece, fairseq-preprocess"
once "$run/prepared" "$LANGUAGES $SENTENCES $VALIDATION $TEST $VOCABULARY" corpus
say "training of ${SYSTEMS[*]}, side by side"
train_systems "$run" "$run/data" "$CONFIGS" 2 1 "${SYSTEMS[@]}" -- "${FLAGS[@]}"
say "averaging and translating"
decode_systems "$run" "$run/data" 2 "$LAST" "${SYSTEMS[@]}"
say "scoring and report"
report_systems "$run" "$run/data" "${SYSTEMS[@]}"
say "done"
