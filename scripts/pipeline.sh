# Shared by the scripts that prepare, train, decode and score: sourced, never run.
# shellcheck shell=bash

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

set_up() {
  bash "$ROOT/scripts/setup.sh"
}

tdo() {
  "$VENV/bin/python" -m tdo_plugin "$@"
}

# command_or_help NAME ARGUMENT...: become `tdo NAME`, or explain the running script.
command_or_help() {
  if [[ $# -eq 1 || " $* " == *" --help "* || " $* " == *" -h "* ]]; then
    print_help
    if [[ -x $VENV/bin/python ]]; then
      echo
      tdo "$1" --help
    fi
    exit 0
  fi
  set_up
  exec "$VENV/bin/python" -m tdo_plugin "$@"
}

# say TEXT...: a progress line with the time since the script began.
say() {
  printf '[%3d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"
}

# once STAMP KEY COMMAND...: run the command unless STAMP says that it ended well with this KEY.
once() {
  local stamp=$1 key=$2
  shift 2
  if [[ -f $stamp && "$(cat "$stamp")" == "$key" ]]; then
    return
  fi
  rm -f "$stamp"
  "$@"
  echo "$key" >"$stamp"
}

# begin_again RUN SYSTEM...: remove what a run has made.
begin_again() {
  local run=$1 name
  shift
  for name in text data report prepared "$@"; do
    rm -rf "${run:?}/$name"
  done
}

# at_least_one OPTION VALUE: die unless VALUE is a whole number above 0.
at_least_one() {
  [[ $2 =~ ^[1-9][0-9]*$ ]] || die "\`$1\` must be a whole number above 0; it is $2"
}

# count_gpus: those that torch sees.
count_gpus() { "$VENV/bin/python" -m tdo_plugin.launch.gpus; }

# machine: the options of `tdo train` and `tdo generate` for one GPU, or the CPU without one.
machine() {
  if [[ $(count_gpus) == 0 ]]; then
    echo --cpu
  else
    echo --gpus 1
  fi
}

# decoding_machine JOBS: the options of `tdo translate` for a worker on each GPU, or for JOBS on the CPU.
decoding_machine() {
  local gpus
  gpus=$(count_gpus)
  if [[ $gpus == 0 ]]; then echo "--cpu --workers $1"; else echo "--gpus $gpus"; fi
}

# usual_jobs: trainings at a time, where it is not said: two, or one for each GPU.
usual_jobs() {
  local gpus
  gpus=$(count_gpus)
  echo $((gpus > 2 ? gpus : 2))
}

# Of trainings, where that is something else: a command before theirs, and their options.
declare -a launcher=()
training_machine() { machine; }

# Trainings of one GPU each, side by side, take different ones: its number by system.
declare -A gpu_of=()

# free_gpu COUNT: the number of the one that has the fewest trainings, as CUDA_VISIBLE_DEVICES calls it.
free_gpu() {
  local name number
  local -a ids users=()
  IFS=, read -ra ids <<<"${CUDA_VISIBLE_DEVICES:-$(seq -s , 0 $(($1 - 1)))}"
  for name in "${!running[@]}"; do
    number=${gpu_of[$name]:-}
    if [[ -n $number ]]; then users+=("$number"); fi
  done
  printf '%s\n' "${ids[@]}" ${users[@]+"${users[@]}"} | sort -V | uniq -c | sort -n -s | awk 'NR == 1 { print $2 }'
}

# What runs in the background ends with the script.
declare -A running=() # process by system
end_running() {
  local name
  for name in "${!running[@]}"; do
    kill "${running[$name]}" 2>/dev/null || true
  done
  wait
}
trap end_running EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# last_update LOG: "update 300 of 600, loss 4.21" from the end of a training log.
last_update() {
  local most
  most=$(grep -m 1 -o -e '--max-update [0-9]*' "$1" | tail -n 1 || true)
  sed -n 's/.*train_inner.* loss=\([0-9.]*\),.*num_updates=\([0-9]*\),.*/\2 \1/p' "$1" | tail -n 1 |
    sed "s/\(.*\) \(.*\)/update \1${most:+ of ${most#* }}, loss \2/"
}

# train_systems RUN DATA CONFIGS JOBS THREADS SYSTEM... -- FLAG...: train each CONFIGS/SYSTEM.conf
# into RUN/SYSTEM, JOBS at a time. An interrupted training resumes; one with another config, data
# or flags begins anew.
train_systems() {
  local run=$1 data=$2 configs=$3 jobs=$4 threads=$5 name
  shift 5
  local -a systems=()
  while [[ $1 != -- ]]; do
    systems+=("$1")
    shift
  done
  shift
  local -a where
  read -ra where <<<"$(training_machine)"
  local next=0 next_line=$((SECONDS + 2)) gpus=0
  if [[ ${where[*]} == "--gpus 1" ]]; then gpus=$(count_gpus); fi
  while ((next < ${#systems[@]} || ${#running[@]})); do
    while ((next < ${#systems[@]} && ${#running[@]} < jobs)); do
      name=${systems[next++]}
      begin_training "$@"
    done
    ((${#running[@]})) || continue
    sleep 0.2
    look_after_trainings
  done
}

# What one system takes that the others do not; a script may say it otherwise, once this is sourced.
config_of() { echo "$1/$2.conf"; }         # CONFIGS SYSTEM: its config
data_of() { echo "$1"; }                   # DATA SYSTEM: its data folder, where DATA is the usual one
own_flags() { :; }                         # SYSTEM: flags behind its config's, a word a line
own_key() { :; }                           # SYSTEM: what else its training depends on
begun_from() { :; }                        # SYSTEM: the trained system whose training it goes on with
start_of() { echo "$run/$1/checkpoints/checkpoint_last.pt"; } # SYSTEM: the checkpoint to go on with
BEGIN=--restore-file                       # how: or --finetune-from-model, with updates counted from 0
checkpoint_of() { echo "$1/average.pt"; }  # FOLDER: the checkpoint of it that is tested
make_checkpoint() {                        # FOLDER LAST: make that, the average of the last ones
  tdo average --inputs "$1/checkpoints" --last "$2" --output "$1/average.pt" --force
}

# key_of SYSTEM FLAG...: tells its training from one with another config, data or flags, wherever RUN is;
# `configs`, `data` and `run` are those of `train_systems`.
key_of() {
  local name=$1 config text base key
  shift
  config=$(config_of "$configs" "$name")
  text=$(data_of "$data" "$name")
  base=$(begun_from "$name")
  key=$(tdo flags "$config" && cat "$text/prepared.json" && echo "$*" && own_flags "$name" &&
    own_key "$name" && { [[ -z $base ]] || cat "$run/$base/trained"; }) || return
  echo "${key//"$run/"/}" | cksum
}

# begin_training FLAG...: start `name` in the background unless it is trained already.
begin_training() {
  local folder=$run/$name config text base key
  local -a own=() before=(${launcher[@]+"${launcher[@]}"})
  config=$(config_of "$configs" "$name")
  text=$(data_of "$data" "$name")
  base=$(begun_from "$name")
  mapfile -t own < <(own_flags "$name")
  key=$(key_of "$name" "$@")
  mkdir -p "$folder"
  if [[ -f $folder/trained && "$(cat "$folder/trained")" == "$key" ]]; then
    say "$name is trained already"
    return
  fi
  if [[ ! -f $folder/begun || "$(cat "$folder/begun")" != "$key" ]]; then
    rm -rf "$folder"/{checkpoints,train.log,trained,averaged,average.pt}
    echo "$key" >"$folder/begun"
  fi
  if [[ -n $base && -n $(start_of "$base") && ! -f $folder/checkpoints/checkpoint_last.pt ]]; then
    own+=("$BEGIN" "$(start_of "$base")")
  fi
  set -- "$@" ${own[@]+"${own[@]}"}
  tdo train "$config" "$text" --save-dir "$folder/checkpoints" "${where[@]}" --dry-run "$@"
  if ((gpus > 1)); then
    gpu_of[$name]=$(free_gpu "$gpus")
    before=(env "CUDA_VISIBLE_DEVICES=${gpu_of[$name]}")
  fi
  OMP_NUM_THREADS=$threads ${before[@]+"${before[@]}"} "$VENV/bin/python" -m tdo_plugin train "$config" "$text" \
    --save-dir "$folder/checkpoints" "${where[@]}" "$@" >>"$folder/train.log" 2>&1 &
  running[$name]=$!
  say "$name: training begins (all of it: $folder/train.log)"
}

# look_after_trainings: a progress line every half minute; take note of those that ended.
look_after_trainings() {
  local process line="" due=""
  if ((SECONDS >= next_line)); then due=1; fi
  for name in "${systems[@]}"; do
    [[ -n ${running[$name]:-} ]] || continue
    process=${running[$name]}
    if kill -0 "$process" 2>/dev/null; then
      [[ -z $due ]] || line+="${line:+ | }$name: $(last_update "$run/$name/train.log")"
      continue
    fi
    unset "running[$name]"
    if ! wait "$process"; then
      tail -n 3 "$run/$name/train.log" >&2
      die "training of $name failed; all of it is in $run/$name/train.log"
    fi
    cp "$run/$name/begun" "$run/$name/trained"
    say "$name: trained, $(last_update "$run/$name/train.log")"
  done
  if [[ -n $line ]]; then
    say "$line"
    next_line=$((SECONDS + 30))
  fi
}

# decode_systems RUN DATA JOBS LAST SYSTEM... [-- FLAG...]: average the LAST checkpoints of each
# system and translate every direction, or what the flags of `tdo translate` say, on all GPUs, or JOBS
# at a time on the CPU.
decode_systems() {
  local run=$1 data=$2 jobs=$3 last=$4 name
  shift 4
  local -a where systems=()
  while (($#)) && [[ $1 != -- ]]; do
    systems+=("$1")
    shift
  done
  shift $(($# > 0))
  read -ra where <<<"$(decoding_machine "$jobs")"
  for name in ${systems[@]+"${systems[@]}"}; do
    ready "$name"
    say "$name: translating"
    tdo translate "$(data_of "$data" "$name")" --path "$(checkpoint_of "$run/$name")" \
      --out "$run/$name/output" "${where[@]}" "$@"
  done
}

# ready SYSTEM: its checkpoint for the test.
ready() {
  once "$run/$1/averaged" "$(cat "$run/$1/trained") $last" renew "$run/$1" "$last"
}

# renew FOLDER LAST: make a system's checkpoint; what an older one translated goes.
renew() {
  rm -rf "$1/output"
  make_checkpoint "$@"
}

# choose_lid [cached]: languages are told apart by fastText's lid.176 where LID names its file, or lid.176.bin
# or lid.176.ftz lies in the clone; else by a classifier trained on the corpus. With `cached` lid.176 is also
# taken where fasttext-langdetect or `tdo score --download` has left it, and it is said what is taken, and why.
declare -a lid=()
choose_lid() {
  local file found
  for file in ${LID:+"$LID"} "$ROOT"/lid.176.{bin,ftz}; do
    [[ -f $file || $file == "${LID:-}" ]] || continue
    [[ -f $file ]] || die "\`LID\` must name fastText's lid.176; $file is no file"
    "$VENV/bin/python" -c 'import fasttext' 2>/dev/null ||
      die "the module fasttext must be installed for $file: $VENV/bin/pip install fasttext-predict"
    lid=(--lid "$file")
    break
  done
  [[ -n ${1:-} ]] || return 0
  if ((${#lid[@]})); then
    echo "off-target shares: ${lid[1]}"
  elif found=$(cached_lid 2>/dev/null); then
    lid=(--lid "$found")
    echo "off-target shares: $found, the paper's detector"
  else
    echo "off-target shares: a classifier trained on the corpus ($found)"
  fi
}

# cached_lid: the file of lid.176 in one of the caches, if it can be used; else the reason.
cached_lid() {
  "$VENV/bin/python" - <<'END'
import sys
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.fasttext import FastText
from tdo_plugin.metrics.language_id.lid176 import find_lid176

try:
    path = find_lid176()
    FastText(path)
except UserError as error:
    print(error)
    sys.exit(1)
print(path)
END
}

# report_systems RUN DATA SYSTEM...: score all systems, make the report, say where everything is.
report_systems() {
  local run=$1 data=$2 name
  shift 2
  local -a systems=()
  for name in "$@"; do
    systems+=("$name=$run/$name/output")
  done
  # an empty array is an error in older bash
  tdo score "${systems[@]}" --data "$data" --out "$run/report" ${lid[@]+"${lid[@]}"}
  tdo report "$run/report/scores.json" --out "$run/report"
  for name in "$@"; do
    echo "$run/$name/average.pt"
  done
}
