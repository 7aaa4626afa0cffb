#!/usr/bin/env bash
# Multi30k in English, German, French and Czech: trained from and into English, scored on all
# twelve directions.
#
#   scripts/multi30k.sh [DIR] [--form shared|disjoint] [--systems A,B,...] [--updates N]
#                       [--threads N] [--jobs N] [--average N] [--out RUN] [--fresh] [--dry-run]
#
#   DIR         folder with {train,val,test_2016_flickr}.{en,de,fr,cs}.gz, task 1, raw; those that it
#               lacks are downloaded. Checksums are verified either way.
#   --form      shared: all English sentences in all three pairs; disjoint: the training set cut
#               into three parts, one for each pair, so that zero-shot is truly zero-shot
#   --systems   configs of configs/multi30k (default: transformer,prefix-decoder-only,
#               tdo-instrucl-recipe; two-stage ones without -recipe or -authors are trained as the
#               paper has it)
#   --updates   updates of each training (default: the configs')
#   --threads   CPU threads of each training (default 1)
#   --jobs      trainings at a time, and decodings on the CPU (default 2, or one a GPU)
#   --average   checkpoints to average (default 1, the last as it is: at 1,500 updates models still
#               improve so fast that an average of the last five lags behind, see docs/results.md)
#   --out       where everything goes (default: runs/multi30k-FORM)
#   --fresh     begin again; otherwise interrupted trainings resume and whole results stay
#   --dry-run   make the data, then only print the stock commands that training and translating
#               come to
#
# LID=FILE has fastText's lid.176 tell languages apart (also: lid.176.bin or .ftz in the clone),
# instead of a classifier trained on the corpus.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/pipeline.sh"

VOCABULARY=8000
CONFIGS=$ROOT/configs/multi30k

raw="" form=shared updates="" threads=1 jobs="" last=1 run="" fresh="" dry=""
systems=transformer,prefix-decoder-only,tdo-instrucl-recipe
while (($#)); do
  case $1 in
    --form | --systems | --updates | --threads | --jobs | --average | --out)
      (($# > 1)) || die "\`$1\` must be followed by its value; nothing follows it"
      case $1 in
        --form) form=$2 ;;
        --systems) systems=$2 ;;
        --updates) updates=$2 ;;
        --threads) threads=$2 ;;
        --jobs) jobs=$2 ;;
        --average) last=$2 ;;
        --out) run=$(realpath -m "$2") ;;
      esac
      shift
      ;;
    --fresh) fresh=1 ;;
    --dry-run) dry=1 ;;
    --help | -h)
      print_help
      exit 0
      ;;
    -*) die "\`$1\` is not an option of this script; --help lists them" ;;
    *)
      [[ -d $1 ]] || die "\`DIR\` must be a folder with Multi30k's files; $1 is not one"
      raw=$(realpath "$1")
      ;;
  esac
  shift
done
[[ $form == shared || $form == disjoint ]] ||
  die "\`--form\` must be shared or disjoint; it is $form"
at_least_one --threads "$threads"
if [[ -n $jobs ]]; then at_least_one --jobs "$jobs"; fi
at_least_one --average "$last"
flags=(--log-format simple --log-interval 50)
if [[ -n $updates ]]; then
  at_least_one --updates "$updates"
  flags+=(--max-update "$updates")
fi
IFS=, read -ra names <<<"$systems"
[[ -z $(printf '%s\n' "${names[@]}" | sort | uniq -d) ]] ||
  die "\`--systems\` must name each system once; it is $systems"
for name in "${names[@]}"; do
  [[ -n $name && -f $CONFIGS/$name.conf ]] ||
    die "\`--systems\` must name files of $CONFIGS; $name is none of them"
done
run=${run:-$ROOT/runs/multi30k-$form}

set_up
jobs=${jobs:-$(usual_jobs)}
choose_lid
SECONDS=0
if [[ -n $fresh && -z $dry ]]; then
  begin_again "$run" "${names[@]}"
fi
mkdir -p "$run"
say "Multi30k ($form), SentencePiece, fairseq-preprocess"
corpus=(--vocab-size "$VOCABULARY")
if [[ $form == disjoint ]]; then
  corpus+=(--variant disjoint)
fi
if [[ -n $raw ]]; then
  corpus+=(--from-file "$raw")
fi
tdo prepare multi30k --out "$run/data" "${corpus[@]}"
if [[ -n $dry ]]; then
  read -ra where <<<"$(machine)"
  for name in "${names[@]}"; do
    tdo train "$CONFIGS/$name.conf" "$run/data" "${where[@]}" --save-dir "$run/$name/checkpoints" \
      --dry-run "${flags[@]}"
    tdo generate "$CONFIGS/$name.conf" "$run/data" "$run/$name/average.pt" "$run/$name/output" \
      --jobs "$jobs" --dry-run
  done
  exit 0
fi
say "training of ${names[*]}"
train_systems "$run" "$run/data" "$CONFIGS" "$jobs" "$threads" "${names[@]}" -- "${flags[@]}"
say "averaging and translating"
decode_systems "$run" "$run/data" "$jobs" "$last" "${names[@]}"
say "scoring and report"
report_systems "$run" "$run/data" "${names[@]}"
say "done"
