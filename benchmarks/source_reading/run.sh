#!/usr/bin/env bash
# How fast the first thousand updates learn, by how the second stage reads the source: bits per
# token over the last 200 of 1,000 updates on the quickstart's corpus, one row a variant.
#
#   benchmarks/source_reading/run.sh [DATA] [--updates N] [--seed N] [--variants A,B,...] [--dry-run]
#
#   DATA        the quickstart's binarized corpus (default: runs/quickstart/data, which
#               scripts/quickstart.sh makes)
#   --updates   updates of each training, a multiple of 200 (default 1000, one to two minutes on one
#               core)
#   --seed      random seed of each training (default 1)
#   --variants  which (default: all of them)
#   --dry-run   only print the stock training commands
#
# encoder-decoder (2 + 2 layers) and joint (TDO, M = 2 of 4, no adaptation) are the models as they
# are; the others are described in __init__.py. Trainings run one after the other, on one CPU
# thread; their logs stay in runs/source-reading.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/pipeline.sh"

ALL=encoder-decoder,own-after,own-beside,query-key-value-beside,shared-after,query-beside
ALL+=,shared-beside,key-value-beside,joint

data=$ROOT/runs/quickstart/data updates=1000 seed=1 variants=$ALL dry=""
while (($#)); do
  case $1 in
    --updates | --seed | --variants)
      (($# > 1)) || die "\`$1\` must be followed by its value; nothing follows it"
      case $1 in
        --updates) updates=$2 ;;
        --seed) seed=$2 ;;
        --variants) variants=$2 ;;
      esac
      shift
      ;;
    --dry-run) dry=1 ;;
    --help | -h)
      print_help
      exit 0
      ;;
    -*) die "\`$1\` is not an option of this script; --help lists them" ;;
    *) data=$(realpath -m "$1") ;;
  esac
  shift
done
at_least_one --updates "$updates"
at_least_one --seed "$seed"
((updates % 200 == 0)) || die "\`--updates\` must be a multiple of 200; it is $updates"
IFS=, read -ra names <<<"$variants"
for name in "${names[@]}"; do
  [[ ,$ALL, == *,$name,* ]] || die "\`--variants\` must name some of $ALL; $name is none of them"
done
[[ -d $data ]] || die "\`DATA\` must be a folder; $data is not one (scripts/quickstart.sh makes it)"
set_up

logs=$ROOT/runs/source-reading
[[ -n $dry ]] || mkdir -p "$logs"
export OMP_NUM_THREADS=1 PYTHONPATH=$ROOT${PYTHONPATH:+:$PYTHONPATH}
[[ -n $dry ]] || printf '| %-22s | bits per token |\n|---|---|\n' "reading"
two_stages=(--tdo-layers 4 --tdo-target-layer 2 --tdo-adaptation-dim 0)
for name in "${names[@]}"; do
  case $name in
    encoder-decoder)
      model=(--arch tdo_encoder_decoder_small --tdo-encoder-layers 2 --tdo-decoder-layers 2)
      ;;
    joint) model=(--arch tdo_transformer_small "${two_stages[@]}") ;;
    *)
      model=(--user-dir "$ROOT/benchmarks/source_reading" --arch tdo_source_reading)
      model+=("${two_stages[@]}")
      ;;
  esac
  export SOURCE_READING=$name
  command=(tdo train quickstart/model "$data" --cpu --save-dir "$logs/none"
    --no-save --disable-validation --log-format simple --log-interval 200
    --max-update "$updates" --seed "$seed" "${model[@]}")
  if [[ -n $dry ]]; then
    echo "with SOURCE_READING=$name PYTHONPATH=$PYTHONPATH"
    "${command[@]}" --dry-run
    continue
  fi
  "${command[@]}" >"$logs/$name-$seed.log" 2>&1 ||
    die "training of $name failed: $(tail -n 1 "$logs/$name-$seed.log")"
  printf '| %-22s | %14s |\n' "$name" \
    "$(sed -n 's/.*train_inner.* nll_loss=\([0-9.]*\),.*/\1/p' "$logs/$name-$seed.log" | tail -n 1)"
done
