# Importance, masks and the systems that are trained with them. Sourced by neurons.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

# What the paper uses where a script says nothing else.
GENERAL=0.9 THRESHOLD=0.7 BY=pair

# masked METHOD [GENERAL] [THRESHOLD] [BY]: the system that is trained with masks of that kind.
masked() { echo "masked-$1-${2:-$GENERAL}-${3:-$THRESHOLD}-${4:-$BY}"; }

# neurons_of SYSTEM: the folder of importance and masks of the training that it begins with.
neurons_of() {
  local base
  base=$(begun_from "$1")
  echo "$run/${1%%/*}/neurons/${base#*/}"
}

# kind_of SYSTEM: METHOD GENERAL THRESHOLD BY of its masks, and `before` where they are of activations
# before the ReLU.
kind_of() {
  local name=${1%-seed-*}
  name=${name##*masked-}
  echo "${name//-/ }"
}

# masks_of SYSTEM: its file of masks.
masks_of() {
  local kind
  kind=$(kind_of "$1")
  echo "$(neurons_of "$1")/${kind// /-}.masks"
}

# make_masks: importance and masks of all systems that are trained with some.
make_masks() {
  local one
  for one in "${second[@]}"; do
    if [[ $one == *masked-* ]]; then masks_for "$one"; fi
  done
}

# masks_for SYSTEM
masks_for() {
  local method general threshold by side folder base masks
  read -r method general threshold by side <<<"$(kind_of "$1")"
  folder=$(neurons_of "$1")
  base=$(begun_from "$1")
  masks=$(masks_of "$1")
  importance_of "$base" "$method" "$folder" "$side"
  once "${masks%.masks}.made" "$(importance_key "$base")" \
    tdo allocate "$folder/$method${side:+-$side}.importance" --general "$general" \
    --threshold "$threshold" --by "$by" --out "$masks" --force
}

# importance_of SYSTEM METHOD FOLDER [before]: FOLDER/METHOD[-before].importance, of the system's tested
# checkpoint.
importance_of() {
  local name=$2${4:+-$4} key
  key=$(importance_key "$1")
  step mkdir -p "$3"
  once "$3/$name.measured" "$key" measure "$1" "$2" "${4:-after}" "$3/$name.importance" "$key"
}

# importance_key SYSTEM: tells measurements of it apart.
importance_key() { echo "$(stamp_of "$1") $(basename "$(start_of "$1")") ${importance[*]-}"; }

# measure SYSTEM METHOD SIDE FILE KEY: an interrupted measurement goes on; one of something else goes.
measure() {
  local -a where directions
  read -ra where <<<"$(machine)"
  mapfile -t directions < <(trained_directions "${1%%/*}")
  if [[ -z $dry ]]; then
    if [[ ! -f $4.begun || "$(cat "$4.begun")" != "$5" ]]; then
      rm -rf "$4" "$4.parts"
      echo "$5" >"$4.begun"
    fi
  fi
  tdo importance --path "$(start_of "$1")" --data "$(data_of "$run/data" "$1")" \
    --pairs "$(IFS=, && echo "${directions[*]}")" --method "$2" --inner "$3" --out "$4" \
    "${where[@]}" ${importance[@]+"${importance[@]}"}
}

# stamp_of SYSTEM: tells its trainings apart.
stamp_of() {
  if [[ -n $dry ]]; then echo dry; else cat "$run/$1/trained"; fi
}
