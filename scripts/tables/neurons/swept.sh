# Figures of scores over a choice. Sourced by neurons_figure4.sh, 5 and 6, after neurons.sh.
# shellcheck shell=bash

# sweep FIGURE LABEL FLAG... -- X...: scores against the plain model's, into RUN/FIGURE.
sweep() {
  local out=$run/$1 label=$2
  shift 2
  local -a flags=()
  while [[ $1 != -- ]]; do
    flags+=("$1")
    shift
  done
  shift
  tdo analyze sweep "$out/scores.json" --x "$@" --x-label "$label" --out "$out/sweep" \
    "${flags[@]}"
}

# plain_name: what the plain model is called at this scale.
plain_name() {
  if ((${#small[@]})); then echo "like multilingual"; else echo multilingual; fi
}
