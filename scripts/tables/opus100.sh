# Sourced by scripts/tables/opus100_*.sh, never run.
#
#   scripts/tables/opus100_NAME.sh [toy|multi30k|full] [--smoke] [--rows A,B,...] [--from DIR]
#                                  [--updates N] [--jobs N] [--threads N] [--out RUN] [--fresh]
#                                  [--dry-run]
#
#   toy         the embedded corpus in English, German, French and Spanish, with 12,000, 5,000 and
#               2,000 training pairs; d = 96, 2, 4 and 6 layers a side for 6, 12 and 24 (default)
#   multi30k    Multi30k in English, German, French and Czech, its training set cut into three parts,
#               one for each pair; d = 128, the same layers, 17 minutes a row of "6 layers" on two cores
#   full        OPUS-100 and the paper's sizes on all GPUs of this machine; an estimate of the GPU
#               hours comes first
#   --smoke     two updates of every row on a tiny corpus, and no scores
#   --rows      some of the table's rows, by their configs below configs/opus100-tables
#   --from      folder with the archives of Multi30k or OPUS-100, instead of a download
#   --updates   of a row, also of a bilingual model; with ROBT a third more (toy: a multiple of 600,
#               multi30k: of 750)
#   --jobs      trainings, and decodings, at a time (default 2; full: 1)
#   --threads   CPU threads of each training (default 1)
#   --out       where everything goes (default: runs/opus100-SCALE). Scripts with the same folder
#               share trainings: a system is trained once for all tables that it is in.
#   --fresh     begin again with the data and this table's systems; otherwise interrupted trainings
#               resume and whole results stay
#   --dry-run   only print the commands
#
# At toy and multi30k the last checkpoint is tested, at full the average of the last five, as the
# authors' code has it. LID=FILE has fastText's lid.176 tell languages apart, instead of a classifier
# trained on the corpus (toy, multi30k) or langdetect, which is the paper's (full).
set -euo pipefail
# shellcheck shell=bash
source "$(dirname "${BASH_SOURCE[0]}")/../pipeline.sh"

source "$(dirname "${BASH_SOURCE[0]}")/scales.sh"
source "$(dirname "${BASH_SOURCE[0]}")/scoring.sh"

CONFIGS=$ROOT/configs/opus100-tables
OPTIONS=${BASH_SOURCE[0]}
FLAGS=(--log-format simple --log-interval 50)
BASELINE="6 layers" # win ratios are against it

# The rows of a table, in order: each a config, all bilingual models of one, or pivot; and its name,
# which is that of tdo_plugin/evaluation/published/opus100.json.
declare -a rows=() names=()

# What the rows take: trained from nothing, and those that go on with some of these.
declare -a first=() second=()

# The command line.
scale=toy kind=toy smoke="" asked="" jobs="" threads=1 run="" fresh="" dry="" wanted="" last=1
declare -a from=()

# row CONFIG NAME
row() {
  rows+=("$1")
  names+=("$2")
}

# many_to_many: the twelve rows that tables 3, 4 and 6 have in common.
many_to_many() {
  BASELINE="without ROBT: 6 layers"
  local block suffix
  for block in without with; do
    suffix=$([[ $block == without ]] || echo -robt)
    row "many-to-many/6-layers$suffix" "$block ROBT: 6 layers"
    row "many-to-many/6-layers-matt$suffix" "$block ROBT: 6 layers, MATT"
    row "many-to-many/6-layers-matt-laln-lalt$suffix" "$block ROBT: 6 layers, MATT, LALN, LALT"
    row "many-to-many/12-layers-matt$suffix" "$block ROBT: 12 layers, MATT"
    row "many-to-many/12-layers-matt-laln-lalt$suffix" "$block ROBT: 12 layers, MATT, LALN, LALT"
    row "many-to-many/24-layers-matt-laln-lalt$suffix" "$block ROBT: 24 layers, MATT, LALN, LALT"
  done
}

# read_options WORD...: the command line.
read_options() {
  while (($#)); do
    case $1 in
      toy | multi30k | full) scale=$1 ;;
      --rows | --from | --updates | --jobs | --threads | --out)
        (($# > 1)) || die "\`$1\` must be followed by its value; nothing follows it"
        case $1 in
          --rows) wanted=$2 ;;
          --from)
            [[ -d $2 ]] || die "\`--from\` must be a folder with archives; $2 is not one"
            from=(--from-file "$(realpath "$2")")
            ;;
          --updates) asked=$2 ;;
          --jobs) jobs=$2 ;;
          --threads) threads=$2 ;;
          --out) run=$(realpath -m "$2") ;;
        esac
        shift
        ;;
      --smoke) smoke=1 ;;
      --fresh) fresh=1 ;;
      --dry-run) dry=1 ;;
      --help | -h)
        print_help
        print_help "$OPTIONS"
        exit 0
        ;;
      -*) die "\`$1\` is not an option of this script; --help lists them" ;;
      *) die "the scale must be toy, multi30k or full; it is $1" ;;
    esac
    shift
  done
  [[ -z $smoke || $scale == toy ]] || die "\`--smoke\` must come with the scale toy; it is $scale"
  [[ -z $asked || -z $smoke && $scale != full ]] ||
    die "\`--updates\` must be left out with --smoke and with the scale full"
  [[ ${#from[@]} == 0 || $scale != toy ]] || die "\`--from\` must be left out with the scale toy"
  jobs=${jobs:-$([[ $scale == full ]] && echo 1 || echo 2)}
  at_least_one --jobs "$jobs"
  at_least_one --threads "$threads"
  kind=${smoke:+smoke} kind=${kind:-$scale}
  [[ $scale != full ]] || last=5 # (code)
  run=${run:-$ROOT/runs/opus100-$kind}
  if [[ -n $wanted ]]; then
    choose_rows
  fi
}

# choose_rows: only those of `wanted`, in the order of the table.
choose_rows() {
  local -a all=("${rows[@]}") called=("${names[@]}") chosen
  local name index
  IFS=, read -ra chosen <<<"$wanted"
  for name in "${chosen[@]}"; do
    [[ " ${all[*]} " == *" $name "* ]] ||
      die "\`--rows\` must be of $(IFS=, && echo "${all[*]}"); $name is none of them"
  done
  rows=() names=()
  for index in "${!all[@]}"; do
    if [[ ,$wanted, == *",${all[index]},"* ]]; then
      row "${all[index]}" "${called[index]}"
    fi
  done
}

# choose_systems DIRECTIONS: what must be trained for the rows; `second` goes on with some of `first`.
choose_systems() {
  local one system
  local -A seen=()
  for one in "${rows[@]}"; do
    for system in $(begun_from "$one") $(systems_of "$one" "$1"); do
      [[ -z ${seen[$system]:-} ]] || continue
      seen[$system]=1
      if [[ -n $(begun_from "$system") ]]; then second+=("$system"); else first+=("$system"); fi
    done
  done
}

# systems_of ROW DIRECTIONS: the row itself, or the bilingual models that it takes.
systems_of() {
  local language
  case $1 in
    pivot)
      for language in "${pivoted[@]}"; do
        echo "bilingual/$language-en" "bilingual/en-$language"
      done
      ;;
    bilingual*)
      for language in "${four[@]}"; do
        if [[ $2 == en-* ]]; then echo "$1/en-$language"; else echo "$1/$language-en"; fi
      done
      ;;
    *) echo "$1" ;;
  esac
}

# train_rows: all systems, those that others go on with first.
train_rows() {
  say "training of ${first[*]}"
  train_systems "$run" "$run/data" "$CONFIGS" "$jobs" "$threads" "${first[@]}" -- "${FLAGS[@]}"
  ((${#second[@]})) || return 0
  say "training of ${second[*]}"
  train_systems "$run" "$run/data" "$CONFIGS" "$jobs" "$threads" "${second[@]}" -- "${FLAGS[@]}"
}

# estimate_hours: of all trainings of the table, as in the paper.
estimate_hours() {
  local one done
  local -a configs=()
  for one in "${first[@]}"; do
    configs+=("$(config_of "$CONFIGS" "$one")")
  done
  tdo estimate "${configs[@]}"
  ((${#second[@]})) || return 0
  done=$(config_flags "$CONFIGS/$(begun_from "${second[0]}").conf" | sed -n 's/^--max-update //p')
  configs=("${second[@]/#/$CONFIGS/}")
  tdo estimate --done "$done" "${configs[@]/%/.conf}"
}

# show_commands TABLE DIRECTIONS: what would be run.
show_commands() {
  local one base
  local -a own
  tdo() { show tdo "$@"; }
  once() { "${@:3}"; }
  keep_lines() { show head -n "$@"; }
  "data_$kind"
  for one in "${first[@]}" ${second[@]+"${second[@]}"}; do
    mapfile -t own < <(own_flags "$one")
    base=$(begun_from "$one")
    if [[ -n $base ]]; then
      own+=(--restore-file "$run/$base/checkpoints/checkpoint_last.pt")
    fi
    tdo train "$(config_of "$CONFIGS" "$one")" "$run/data" --save-dir "$run/$one/checkpoints" \
      "${FLAGS[@]}" ${own[@]+"${own[@]}"}
  done
  [[ -n $smoke ]] || score_rows "$1" "$2"
}

# make_table TABLE DIRECTIONS WORD...: train what is not trained, translate the directions, score,
# report. The words are the command line; TABLE is where the report goes.
make_table() {
  local table=$1 directions=$2
  shift 2
  read_options "$@"
  set_up
  "scale_$kind"
  if [[ -n $asked ]]; then
    train_for "$asked"
  fi
  choose_systems "$directions"
  if [[ $scale == full ]]; then
    estimate_hours
  fi
  if [[ -n $dry ]]; then
    show_commands "$table" "$directions"
    return
  fi
  SECONDS=0
  if [[ -n $fresh ]]; then
    begin_again "$run" "$table" multi30k pivot "${rows[@]}" "${first[@]}" ${second[@]+"${second[@]}"}
  fi
  mkdir -p "$run"
  say "data ($kind)"
  once "$run/prepared" "$(declare -f "data_$kind" | cksum)" "data_$kind"
  train_rows
  if [[ -z $smoke ]]; then
    choose_lid
    say "translating"
    translate_rows "$directions"
    say "scores and report"
    score_rows "$table" "$directions"
    if [[ $directions == zero-shot || $directions == all ]]; then
      draw_figure_1 "$table"
    fi
  fi
  say "done"
}
