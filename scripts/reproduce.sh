#!/usr/bin/env bash
# Runs the scripts of all five papers' tables and figures.
#
#   scripts/reproduce.sh --smoke [--out DIR] [--jobs N]
#   scripts/reproduce.sh --scale toy|multi30k [--whole] [--papers A,B,...] [--from DIR] [--out DIR]
#                        [--jobs N] [--threads N]
#
#   --smoke    every table and figure script with two updates of each row, on tiny corpora
#   --scale    the headline table of each paper for real, those of its rows that show what the paper found,
#              then one page with all of them, DIR/index.html
#   --whole    all rows of these tables
#   --papers   some of tdo, opus100, tpdm, tlm, neurons
#   --from     folder with the archives of Multi30k, instead of a download
#   --out      where everything goes (default: runs/reproduce-smoke, runs/reproduce-SCALE)
#   --jobs     trainings at a time, and decodings on the CPU (default 2, or one a GPU)
#   --threads  CPU threads of each training (default 1)
#
# What is whole is not done again; an interrupted run goes on.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/pipeline.sh"

PAPERS=(tdo opus100 tpdm tlm neurons)
# The headline table of each paper, and the rows that show what it found.
declare -A HEADLINES=([tdo]=table1 [opus100]=table4 [tpdm]=table1 [tlm]=table9 [neurons]=table1)
declare -A SHOWN=(
  [tdo]="ted19/*coder*,ted19/tdo-prefix*"
  [opus100]="many-to-many/6-layers,many-to-many/*-layers-matt-laln-lalt,many-to-many/6-layers*-robt"
  [tpdm]="europarl/mnmt-*small"
  [tlm]="encoder-decoder,LM-triangular-no-0,LM-full-no-0,LM-full-no-1,LM-full-no-lin,AE-full-no-1"
  [neurons]="many-to-many/multilingual,many-to-many/continued,many-to-many/masked-*"
)
SHOWN[tlm]+=",AE-full-no-lin,AE-full-BERT-lin"
# Of the grid, at toy: later all of its cells are alike (docs/results.md).
declare -A UPDATES=([tlm]=500)
declare -A TITLES=(
  [tdo]="TDO and InstruCL"
  [opus100]="OPUS-100"
  [tpdm]="TPDM"
  [tlm]="TLM"
  [neurons]="Neuron allocation"
)

smoke="" scale="" whole="" out="" jobs="" threads=1
declare -a papers=("${PAPERS[@]}") from=()
while (($#)); do
  case $1 in
    --smoke) smoke=1 ;;
    --whole) whole=1 ;;
    --scale | --papers | --from | --out | --jobs | --threads)
      (($# > 1)) || die "\`$1\` must be followed by its value; nothing follows it"
      case $1 in
        --scale) scale=$2 ;;
        --papers) IFS=, read -ra papers <<<"$2" ;;
        --from)
          [[ -d $2 ]] || die "\`--from\` must be a folder with archives; $2 is not one"
          from=(--from "$2")
          ;;
        --out) out=$(realpath -m "$2") ;;
        --jobs) jobs=$2 ;;
        --threads) threads=$2 ;;
      esac
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
if [[ -n $jobs ]]; then at_least_one --jobs "$jobs"; fi
at_least_one --threads "$threads"
for paper in "${papers[@]}"; do
  [[ " ${PAPERS[*]} " == *" $paper "* ]] ||
    die "\`--papers\` must be of $(IFS=, && echo "${PAPERS[*]}"); $paper is none of them"
done
[[ -n $smoke || $scale == toy || $scale == multi30k ]] ||
  die "\`--scale\` must be toy or multi30k, or \`--smoke\` be given; it is ${scale:-left out}"
[[ -z $smoke || -z $scale ]] || die "\`--smoke\` must come without \`--scale\`"
[[ -z $whole || -n $scale ]] || die "\`--whole\` must come with \`--scale\`"
[[ ${#from[@]} == 0 || $scale == multi30k ]] || die "\`--from\` must come with the scale multi30k"
out=${out:-$ROOT/runs/reproduce-${scale:-smoke}}

# run_script SCRIPT WORD...: its output in a log; the time that it took is said.
run_script() {
  local log began=$SECONDS
  log=$out/logs/$(basename "$1" .sh).log
  mkdir -p "$out/logs"
  if ! bash "$@" >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    die "$(basename "$1") failed; all of it is in $log"
  fi
  say "$(basename "$1"): $((SECONDS - began)) seconds"
}

set_up
jobs=${jobs:-$(usual_jobs)}
SECONDS=0
if [[ -n $smoke ]]; then
  for script in "$ROOT"/scripts/tables/*_*.sh "$ROOT"/scripts/figures/*_*.sh; do
    paper=$(basename "$script")
    paper=${paper%%_*}
    [[ " ${papers[*]} " == *" $paper "* ]] || continue
    at_a_time=()
    # what trains nothing says in its usage that it has none of the options of all tables
    if grep -q '\[OPTIONS\]' "$script"; then at_a_time=(--jobs "$jobs" --threads "$threads"); fi
    run_script "$script" --smoke --out "$out/$paper" ${at_a_time[@]+"${at_a_time[@]}"}
  done
  say "done"
  exit 0
fi
declare -a reports=()
for paper in "${papers[@]}"; do
  table=${HEADLINES[$paper]} folder=${HEADLINES[$paper]} rows=()
  if [[ $paper == tlm ]]; then folder=de-en/grid; fi
  if [[ -z $whole ]]; then rows=(--rows "${SHOWN[$paper]}"); fi
  if [[ $scale == toy && -n ${UPDATES[$paper]:-} ]]; then rows+=(--updates "${UPDATES[$paper]}"); fi
  run_script "$ROOT/scripts/tables/${paper}_$table.sh" "$scale" --out "$out/$paper" --jobs "$jobs" \
    --threads "$threads" ${rows[@]+"${rows[@]}"} ${from[@]+"${from[@]}"}
  reports+=(--report "${TITLES[$paper]}, table ${table#table}" "$out/$paper/$folder"
    "$paper:${table#table}")
done
tdo collect "${reports[@]}" --title "Five papers, $scale" --out "$out/index.html"
say "done"
