# Tables 9 and 2 to 5 of the TLM paper: one grid of trainings for each corpus. Sourced by those scripts.
# shellcheck shell=bash
source "$(dirname "${BASH_SOURCE[0]}")/../tlm.sh"

OPTIONS=$(dirname "${BASH_SOURCE[0]}")/../tlm.sh

# grid_tables AXIS WORD...: train the cells that are not trained, translate, and print the grid with the
# best cell for each value of the axis, or with that of every axis where it is empty.
grid_tables() {
  local axis=$1 corpus gpus
  local -a where some=() best=() folders
  shift
  wanted_cells "$@"
  set_up_run
  rows=(de-en/grid)
  "scale_$kind"
  if [[ -n $smoke ]]; then searched=${SHORT[*]}; fi
  if [[ $kind == full ]]; then rows+=(en-ro/grid); fi
  if [[ -n $asked ]]; then
    train_for "$asked"
  fi
  if [[ -n $dry ]]; then
    tdo() { show tdo "$@"; }
    once() { "${@:3}"; }
    step() { show "$@"; }
  fi
  if [[ -n $fresh && -z $dry ]]; then
    begin_again "$run" "${rows[@]}" $(also_made)
  fi
  gpus=$(count_gpus)
  if [[ $gpus == 0 ]]; then where=(--cpu); else where=(--gpus "$gpus"); fi
  if [[ $kind != full ]]; then where+=(--workers "$jobs"); fi # else one a GPU
  mapfile -t folders < <(corpora)
  prepare_data
  if [[ -n $cells ]]; then some=(--only "$cells"); fi
  if [[ -n $axis ]]; then best=(--best-by "$axis"); fi
  for corpus in "${folders[@]}"; do
    write_grid "$corpus"
    tdo grid run "$run/$corpus/grid.json" "$run/$corpus/data" --out "$run/$corpus/grid" \
      "${where[@]}" ${some[@]+"${some[@]}"} -- "${FLAGS[@]}"
    if [[ -z $smoke ]]; then
      tdo grid collect "$run/$corpus/grid.json" "$run/$corpus/data" --out "$run/$corpus/grid" \
        ${best[@]+"${best[@]}"}
    fi
  done
}

searched="" # options of the search behind the grid's

# wanted_cells WORD...: the command line, where --rows names cells of the grid.
cells=""
wanted_cells() {
  local -a words=()
  while (($#)); do
    if [[ $1 == --rows && $# -gt 1 ]]; then
      cells=$2
      shift
    else
      words+=("$1")
    fi
    shift
  done
  read_options ${words[@]+"${words[@]}"}
}

# write_grid CORPUS: the grid and its two configs at this scale, beside the corpus.
write_grid() {
  local folder=$run/$1 name
  [[ -z $dry ]] || return 0
  mkdir -p "$folder"
  for name in tlm encoder-decoder; do
    {
      echo "include '$CONFIGS/$name.conf'"
      echo "directions ${direction[$1]}"
      if ((${#small[@]})); then
        small_flags "$1/$name" | as_lines
      fi
    } >"$folder/$name.conf"
  done
  sed "s/de-en/${direction[$1]}/; s/--protocol tlm/&${searched:+ $searched}/" \
    "$CONFIGS/grid.json" >"$folder/grid.json"
}
