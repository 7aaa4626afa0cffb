# Sourced by what the scripts of one paper share (opus100.sh, tpdm.sh), never run: options, rows,
# trainings, scores and reports of any paper's tables.
set -euo pipefail
# shellcheck shell=bash
# shellcheck disable=SC2034
source "$(dirname "${BASH_SOURCE[0]}")/../pipeline.sh"

# A paper's file sets PAPER, its key as in tdo_plugin/evaluation/published, and OPTIONS, the file whose
# head explains scales and options. For each kind of toy, smoke, multi30k and full it defines
# scale_KIND and data_KIND, and train_for N, which --updates calls. The rest it may say otherwise.
PAPER="" OPTIONS=""
VALUED=(--rows --from --updates --jobs --threads --out) # options that are followed by a value
FLAGS=(--log-format simple --log-interval 50)
SMOKE_ROWS=0 # of a --smoke run, how many of the rows are translated and scored; all are trained
SHORT=(--beam 1 --max-len-a 0 --max-len-b 3) # a search for models of two updates, which stop nowhere
BASELINE="" # pattern of the system's name that others are compared with (default: the first)

# The rows of a table, in order: each a config, or what the paper's file makes of the word; and its
# name, which is that of the published table.
declare -a rows=() names=()

# What the rows take: trained from nothing, and those that go on with some of these.
declare -a first=() second=()

# What a scale sets: options of `tdo score`, and entries of the dictionaries that it makes.
declare -a measures=()
pieces=""

# The command line.
scale=toy kind=toy smoke="" asked="" jobs="" threads=1 seeds=1 run="" fresh="" dry="" wanted="" last=1
declare -a from=()

# row CONFIG NAME
row() {
  rows+=("$1")
  names+=("$2")
}

# What a paper's file may say otherwise.
systems_of() { echo "$1"; }                  # ROW DIRECTIONS: what must be trained for it
runs_of() { echo "$2=$run/$1/output"; }      # ROW NAME: what is scored, NAME=FOLDER a line
translate_row() { translate "$1" --pairs "$2"; } # ROW DIRECTIONS
expand_rows() { :; }                         # rows of which --rows may choose, where a scale has others
choose_detector() { choose_lid; }            # what tells languages apart
name_rows() { :; }                           # names that depend on the scale
draw_figures() { :; }                        # TABLE DIRECTIONS
estimated_of() { echo ${pieces:+--vocab-size "$pieces"}; } # SYSTEM: for `tdo estimate`; fails if it cannot count it
also_made() { :; }                           # what else of RUN --fresh removes
between_trainings() { :; }                   # what is made of `first` for `second`
prepare_data() {
  once "$run/prepared" "$pieces $(declare -f "data_$kind" | cksum)" "data_$kind"
}

# read_options WORD...: the command line.
read_options() {
  while (($#)); do
    case $1 in
      toy | multi30k | full) scale=$1 ;;
      --smoke) smoke=1 ;;
      --fresh) fresh=1 ;;
      --dry-run) dry=1 ;;
      --help | -h)
        print_help
        print_help "$OPTIONS"
        exit 0
        ;;
      -*)
        [[ " ${VALUED[*]} " == *" $1 "* ]] ||
          die "\`$1\` is not an option of this script; --help lists them"
        [[ -n ${2:-} && $2 != --* ]] || die "\`$1\` must be followed by its value; ${2:-nothing} follows it"
        take_value "$1" "$2"
        shift
        ;;
      *) die "the scale must be toy, multi30k or full; it is $1" ;;
    esac
    shift
  done
  [[ -z $smoke || $scale == toy ]] || die "\`--smoke\` must come with the scale toy; it is $scale"
  [[ -z $asked || -z $smoke && $scale != full ]] ||
    die "\`--updates\` must be left out with --smoke and with the scale full"
  [[ ${#from[@]} == 0 || $scale != toy ]] || die "\`--from\` must be left out with the scale toy"
  if [[ -n $jobs ]]; then at_least_one --jobs "$jobs"; fi
  at_least_one --threads "$threads"
  at_least_one --seeds "$seeds"
  kind=${smoke:+smoke} kind=${kind:-$scale}
  declare -F "scale_$kind" >/dev/null || die "the scale must be one of this script's; it is $scale"
  run=${run:-$ROOT/runs/$PAPER-$kind}
  CONFIGS=$ROOT/configs/$PAPER-tables
  expand_rows
  if [[ -n $wanted ]]; then
    choose_rows
  fi
}

# set_up_run: what is installed, and what the options leave to the machine.
set_up_run() {
  set_up
  if [[ -z $jobs && $scale == full ]]; then jobs=1; fi
  jobs=${jobs:-$(usual_jobs)}
}

# take_value OPTION VALUE
take_value() {
  case $1 in
    --rows) wanted=$2 ;;
    --from)
      [[ -d $2 ]] || die "\`--from\` must be a folder with archives; $2 is not one"
      from=(--from-file "$(realpath "$2")")
      ;;
    --updates) asked=$2 ;;
    --jobs) jobs=$2 ;;
    --threads) threads=$2 ;;
    --seeds) seeds=$2 ;;
    --out) run=$(realpath -m "$2") ;;
    *) own_value "$1" "$2" ;;
  esac
}

# choose_rows: only those of `wanted`, names or patterns such as "ted19/*", in the order of the table.
choose_rows() {
  local -a all=("${rows[@]}") all_names=("${names[@]}") patterns
  local -A chosen=()
  local pattern index found
  IFS=, read -ra patterns <<<"$wanted"
  for pattern in "${patterns[@]}"; do
    found=""
    for index in "${!all[@]}"; do
      # shellcheck disable=SC2053
      if [[ ${all[index]} == $pattern ]]; then
        chosen[$index]=1 found=1
      fi
    done
    [[ -n $found ]] || die "\`--rows\` must be of $(IFS=, && echo "${all[*]}"); $pattern is none of them"
  done
  rows=() names=()
  for index in "${!all[@]}"; do
    if [[ -n ${chosen[$index]:-} ]]; then row "${all[index]}" "${all_names[index]}"; fi
  done
}

# keep_rows N: the first ones.
keep_rows() {
  rows=("${rows[@]:0:$1}")
  names=("${names[@]:0:$1}")
}

# flags_of_scale NAME: the flags of a file of CONFIGS/scales, a word a line.
flags_of_scale() {
  config_flags "$CONFIGS/scales/$1.conf" | xargs printf '%s\n'
}

# flag_of_scale NAME FLAG: the value that it has there.
flag_of_scale() {
  config_flags "$CONFIGS/scales/$1.conf" | sed -n "s/^$2 //p"
}

# shared_flags NAME: the flags of a file of configs/shared, a word a line.
shared_flags() {
  config_flags "$ROOT/configs/shared/$1.conf" | xargs printf '%s\n'
}

# config_flags CONFIG: its flags, one a line.
config_flags() {
  "$VENV/bin/python" -m tdo_plugin flags "$1" | sed '/^#/d'
}

# take_all_gpus: of this machine, or of all that Slurm has given, for each training.
take_all_gpus() {
  machine() {
    local gpus
    gpus=$(count_gpus)
    if [[ $gpus == 0 ]]; then echo --cpu; else echo "--gpus $gpus"; fi
  }
  nodes=${SLURM_JOB_NUM_NODES:-1}
  ((nodes > 1)) || return 0
  # as in the scripts of `tdo train --slurm`, whose lines say why
  export SLURM_WAIT=${SLURM_WAIT:-150}
  if [[ -n ${SLURM_CPUS_PER_TASK:-} ]]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi
  ((jobs == 1)) || die "\`--jobs\` must be 1 with the $nodes machines of this Slurm job; it is $jobs"
  launcher=(srun --nodes "$nodes" --ntasks-per-node 1 --kill-on-bad-exit=0)
  training_machine() {
    local -a hosts
    mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
    echo "$(machine) --nodes $nodes --rendezvous ${hosts[0]}:$((20000 + SLURM_JOB_ID % 20000))"
  }
}

# step COMMAND...: of making data; a dry run shows it.
step() { "$@"; }

# updates_asked EVERY: die unless `asked` is a multiple of it.
updates_asked() {
  [[ $asked =~ ^[1-9][0-9]*$ ]] && ((asked % $1 == 0)) ||
    die "\`--updates\` must be a multiple of $1; it is $asked"
}

# choose_systems DIRECTIONS: what must be trained for the rows; `second` goes on with some of `first`.
choose_systems() {
  local one own system
  local -A seen=()
  for one in "${rows[@]}"; do
    for own in $(systems_of "$one" "$1"); do
      for system in $(begun_from "$own") "$own"; do
        [[ -z ${seen[$system]:-} ]] || continue
        seen[$system]=1
        if [[ -n $(begun_from "$system") ]]; then second+=("$system"); else first+=("$system"); fi
      done
    done
  done
}

# train_rows: all systems, those that others go on with first.
train_rows() {
  say "training of ${first[*]}"
  train_systems "$run" "$run/data" "$CONFIGS" "$jobs" "$threads" "${first[@]}" -- "${FLAGS[@]}"
  ((${#second[@]})) || return 0
  between_trainings
  say "training of ${second[*]}"
  train_systems "$run" "$run/data" "$CONFIGS" "$jobs" "$threads" "${second[@]}" -- "${FLAGS[@]}"
}

# What is trained already, by system; data that are made anew may change that.
declare -A trained=()

# say_trainings: those to come, and those that are there.
say_trainings() {
  local one base configs=$CONFIGS data=$run/data
  local -a come=() there=()
  for one in "${first[@]}" ${second[@]+"${second[@]}"}; do
    base=$(begun_from "$one")
    if [[ -z $fresh && -f $run/$one/trained && (-z $base || -n ${trained[$base]:-}) &&
      "$(cat "$run/$one/trained")" == "$(key_of "$one" "${FLAGS[@]}" 2>/dev/null)" ]]; then
      trained[$one]=1
      there+=("$one")
    else
      come+=("$one")
    fi
  done
  echo "to train: ${come[*]:-nothing}"
  if ((${#there[@]})); then echo "trained already: ${there[*]}"; fi
}

# estimate_hours: of the trainings to come, each with its own flags.
estimate_hours() {
  local folder one options
  local -a order=() configs
  local -A together=() # configs, a line each, by what is assumed of them
  folder=$(mktemp -d)
  for one in "${first[@]}" ${second[@]+"${second[@]}"}; do
    if ! options=$(estimated_of "$one"); then
      [[ -n ${trained[$one]:-} ]] || echo "$one: not in the estimate"
      continue
    fi
    mkdir -p "$(dirname "$folder/$one")"
    {
      printf 'include %q\n' "$(config_of "$CONFIGS" "$one")"
      own_flags "$one" | as_lines
    } >"$folder/$one.conf"
    if [[ -n ${trained[$one]:-} ]]; then continue; fi # others may go on with it
    options+=" --done $(updates_before "$folder" "$one")"
    [[ -n ${together[$options]:-} ]] || order+=("$options")
    together[$options]+=$folder/$one.conf$'\n'
  done
  for options in ${order[@]+"${order[@]}"}; do
    mapfile -t configs <<<"${together[$options]%$'\n'}"
    # shellcheck disable=SC2086
    tdo estimate "${configs[@]}" $options
  done
  rm -rf "$folder"
}

# as_lines: flags and values, a word a line, as lines of a config.
as_lines() {
  local word line=""
  while IFS= read -r word; do
    if [[ $word == --* && -n $line ]]; then
      echo "$line"
      line=""
    fi
    line+="$(printf '%q ' "$word")"
  done
  echo "$line"
}

# updates_before FOLDER SYSTEM: those that its training goes on from; FOLDER has the configs.
updates_before() {
  local base
  base=$(begun_from "$2")
  if [[ -n $base && -n $(start_of "$base") && $BEGIN == --restore-file ]]; then
    config_flags "$1/$base.conf" | sed -n 's/^--max-update //p'
  else
    echo 0
  fi
}

# translate SYSTEM FLAG...: by the paper's protocol, into RUN/SYSTEM/output unless the flags say where.
translate() {
  decode_systems "$run" "$run/data" "$jobs" "$last" "$1" -- --protocol "$PAPER" ${smoke:+"${SHORT[@]}"} "${@:2}"
}

PUBLISHED="" # a figure's script may say in which of the paper's tables its scores stand

# score_rows TABLE DIRECTIONS: the table, beside the paper's. Each block is scored apart.
score_rows() {
  local block out
  local -a sheets=() published=()
  # other rows may have been other blocks
  [[ -n $dry || ! -d $run/$1 ]] || find "$run/$1" -name scores.json -delete
  for block in $(blocks); do
    out=$(block_folder "$1" "$block")
    score_block "$block" "$run/$out" "$2"
    sheets+=("$run/$out/scores.json")
  done
  if [[ $1 == table* || -n $PUBLISHED ]]; then
    published=(--published "$PAPER:${PUBLISHED:-${1#table}}")
  fi
  tdo report "${sheets[@]}" --out "$run/$1" ${published[@]+"${published[@]}"}
}

# block_of ROW: which rows it is compared with; they have its data. A paper's file may say otherwise.
block_of() { basename "$(dirname "$(data_of "$run/data" "$1")")"; }

# blocks: of the rows, each once.
blocks() {
  local one
  for one in "${rows[@]}"; do
    block_of "$one"
  done | awk '!seen[$0]++'
}

# block_folder TABLE BLOCK: where its scores are, below RUN.
block_folder() {
  if [[ $(blocks | wc -l) -gt 1 ]]; then echo "$1/$2"; else echo "$1"; fi
}

# score_block BLOCK OUT DIRECTIONS
score_block() {
  local index baseline="" data=""
  local -a systems=() own
  for index in "${!rows[@]}"; do
    [[ $(block_of "${rows[index]}") == "$1" ]] || continue
    data=$(data_of "$run/data" "${rows[index]}")
    mapfile -t own < <(runs_of "${rows[index]}" "${names[index]}")
    systems+=("${own[@]}")
    # shellcheck disable=SC2053
    if [[ -z $baseline || ${names[index]} == $BASELINE ]]; then baseline=${own[0]%%"=$run/"*}; fi
  done
  tdo score "${systems[@]}" --data "$data" --out "$2" --protocol "$PAPER" --directions "$3" \
    --baseline "$baseline" "${measures[@]}" ${lid[@]+"${lid[@]}"}
}

# draw_curves PLACE NAME=FILE...: scores over updates, PLACE.txt and, with matplotlib, PLACE.svg.
draw_curves() {
  local -a picture=()
  (($# > 1)) || return 0
  if "$VENV/bin/python" -c 'import matplotlib' 2>/dev/null; then
    picture=(--out "$1.svg")
  fi
  tdo curve "${@:2}" ${picture[@]+"${picture[@]}"} | tee "$1.txt"
}

# show_commands TABLE DIRECTIONS: what would be run.
show_commands() {
  local one base
  local -a own
  tdo() { show tdo "$@"; }
  once() { "${@:3}"; }
  step() { show "$@"; }
  tee() { cat; }
  prepare_data
  for one in "${first[@]}" between ${second[@]+"${second[@]}"}; do
    if [[ $one == between ]]; then
      between_trainings
      continue
    fi
    mapfile -t own < <(own_flags "$one")
    base=$(begun_from "$one")
    if [[ -n $base && -n $(start_of "$base") ]]; then
      own+=("$BEGIN" "$(start_of "$base")")
    fi
    tdo train "$(config_of "$CONFIGS" "$one")" "$(data_of "$run/data" "$one")" \
      --save-dir "$run/$one/checkpoints" "${FLAGS[@]}" ${own[@]+"${own[@]}"}
  done
  if [[ -n $smoke ]]; then keep_rows "$SMOKE_ROWS"; fi
  if ((${#rows[@]})); then
    score_rows "$1" "$2"
    draw_figures "$1" "$2"
  fi
}

# make_table TABLE DIRECTIONS WORD...: train what is not trained, translate the directions, score,
# report. The words are the command line; TABLE is where the report goes.
make_table() {
  local table=$1 directions=$2 one
  shift 2
  read_options "$@"
  set_up_run
  "scale_$kind"
  name_rows
  choose_detector
  if [[ -n $asked ]]; then
    train_for "$asked"
  fi
  choose_systems "$directions"
  say_trainings
  if [[ $scale == full || -z $dry$smoke ]]; then
    estimate_hours
  fi
  if [[ -n $dry ]]; then
    show_commands "$table" "$directions"
    return
  fi
  SECONDS=0
  if [[ -n $fresh ]]; then
    # shellcheck disable=SC2046
    begin_again "$run" "$table" $(also_made) "${rows[@]}" "${first[@]}" ${second[@]+"${second[@]}"}
  fi
  mkdir -p "$run"
  say "data ($kind)"
  prepare_data
  train_rows
  if [[ -n $smoke ]]; then keep_rows "$SMOKE_ROWS"; fi
  if ((${#rows[@]})); then
    say "translating"
    for one in "${rows[@]}"; do
      translate_row "$one" "$directions"
    done
    say "scores and report"
    score_rows "$table" "$directions"
    draw_figures "$table" "$directions"
  fi
  say "done"
}
