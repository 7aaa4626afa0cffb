# The row whose system is one model for each direction. Sourced by neurons.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

# direction_of SYSTEM: of CORPUS/individual/DIRECTION[-seed-N].
direction_of() {
  local name=${1##*/}
  echo "${name%-seed-*}"
}

systems_of() {
  local direction
  if [[ $1 != */individual ]]; then
    seeded "$1"
    return
  fi
  for direction in $(trained_directions "${1%%/*}"); do
    seeded "$1/$direction"
  done
}

# translate_row ROW DIRECTIONS: each direction by its own model, into one folder.
translate_row() {
  local one direction
  for one in $(seeded "$1"); do
    if [[ $1 != */individual ]]; then
      translate "$one" --pairs "$2"
      continue
    fi
    mkdir -p "$run/$one/output"
    for direction in $(trained_directions "${1%%/*}"); do
      translate_one "$1/$direction${one#"$1"}" "$direction" "$run/$one/output"
    done
  done
}

# translate_one SYSTEM DIRECTION FOLDER: what is decoded goes there, too.
translate_one() {
  translate "$1" --pairs "$2"
  cp "$run/$1/output/$2".{src,hyp,ref} "$3/"
}
