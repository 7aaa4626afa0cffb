#!/usr/bin/env bash
# The losses of the first updates of several systems, on a CPU in fp32 and on the machine in each precision.
#
#   benchmarks/gpu/first_updates.sh DATA OUT UPDATES JOBS PRECISION... -- MACHINE...
#
# MACHINE are options of `tdo train`, such as --gpus 1. JOBS trainings run side by side. The logs are
# OUT/SYSTEM/cpu.log and OUT/SYSTEM/PRECISION.log, with one JSON object for each update.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

data=$1 out=$2 updates=$3 jobs=$4 precisions=()
shift 4
while [[ $1 != -- ]]; do precisions+=("$1") && shift; done
machine=("${@:2}")

small=(--tdo-model-dim 128 --tdo-ffn-dim 512 --tdo-heads 4)
plain=(--dropout 0 --attention-dropout 0 --activation-dropout 0)
systems=(
  "multi30k/shared/transformer"
  "multi30k/shared/prefix-decoder-only ${small[*]}"
  "multi30k/shared/tdo+instrucl-recipe ${small[*]}"
  "tdo/ted19/tdo-causal+adaptation+instrucl ${small[*]} --tdo-adaptation-dim 512"
  "opus100/one-to-many/24-layers+matt+laln+lalt ${small[*]}"
  "tpdm/multiun/small+tpdm+gate ${small[*]}"
)
((updates > 2)) || systems=("${systems[@]:1:2}") # a rehearsal

# first SYSTEM LOG OPTION...
first() {
  local config=${1%% *} flags=() log=$2
  [[ $1 == "$config" ]] || read -ra flags <<<"${1#* }"
  shift 2
  "$VENV/bin/python" -m tdo_plugin train "$config" "$data" "$@" --save-dir "${log%.log}" --log-file "$log" \
    --log-format json --log-interval 1 --lr 0.001 --warmup-updates 10 --max-tokens 2000 --update-freq 1 \
    --max-update "$updates" --num-workers 0 --seed 1 --disable-validation --no-save "${plain[@]}" "${flags[@]}"
}

failed=0
for system in "${systems[@]}"; do
  name=${system%% *}
  folder=$out/${name//\//-}
  mkdir -p "$folder"
  for precision in cpu "${precisions[@]}"; do
    (($(jobs -rp | wc -l) < jobs)) || wait -n || failed=1
    if [[ $precision == cpu ]]; then
      first "$system" "$folder/cpu.log" --cpu --precision fp32 &
    else
      first "$system" "$folder/$precision.log" "${machine[@]}" --precision "$precision" &
    fi
  done
done
while (($(jobs -p | wc -l))); do wait -n || failed=1; done
exit "$failed"
