# Sourced by what the scripts of a paper share whose systems are trained with several seeds (--seeds),
# after tables.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

VALUED+=(--seeds)

# seeded SYSTEM: a name for its training of each seed; the first is called as the system.
seeded() {
  local seed
  echo "$1"
  for ((seed = 2; seed <= seeds; seed++)); do
    echo "$1-seed-$seed"
  done
}

# seed_flags SYSTEM: what tells its seed to the training, a word a line.
seed_flags() {
  if [[ $1 == *-seed-* ]]; then
    printf '%s\n' --seed "${1##*-seed-}"
  fi
}

systems_of() { seeded "$1"; }

# runs_of ROW NAME: what is scored. `tdo report` knows trainings of one system by such names.
runs_of() {
  local one seed=0
  for one in $(seeded "$1"); do
    seed=$((seed + 1))
    echo "$2$( ((seeds == 1)) || echo ", seed $seed")=$run/$one/output"
  done
}

# translate_row ROW DIRECTIONS: hypotheses in the folders of `runs_of`.
translate_row() {
  local one
  for one in $(seeded "$1"); do
    translate "$one" --pairs "$2"
  done
}
