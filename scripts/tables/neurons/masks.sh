# Importance, masks and the systems that are trained with them. Sourced by neurons.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

# What the paper uses where a script or an option says nothing else.
GENERAL=0.9 THRESHOLD=0.7 BY=pair INNER=after

# masked METHOD [GENERAL] [THRESHOLD] [BY]: the system that is trained with masks of that kind.
masked() { echo "masked-$1-${2:-$GENERAL}-${3:-$THRESHOLD}-${4:-$BY}"; }

# neurons_of SYSTEM: the folder of importance and masks of the training that it begins with.
neurons_of() {
  local base
  base=$(begun_from "$1")
  echo "$run/${1%%/*}/neurons/${base#*/}"
}

# kind_of SYSTEM: METHOD GENERAL THRESHOLD BY of its masks.
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
  local method general threshold by folder base
  read -r method general threshold by <<<"$(kind_of "$1")"
  folder=$(neurons_of "$1")
  base=$(begun_from "$1")
  importance_of "$base" "$method" "$folder"
  once "$folder/$method-$general-$threshold-$by.made" \
    "$(stamp_of "$base") $INNER ${importance[*]-}" \
    tdo allocate "$folder/$method.importance" --general "$general" --threshold "$threshold" \
    --by "$by" --out "$(masks_of "$1")" --force
}

# importance_of SYSTEM METHOD FOLDER: FOLDER/METHOD.importance, of the system's tested checkpoint.
importance_of() {
  local key
  key="$(stamp_of "$1") $(start_of "$1") $INNER ${importance[*]-}"
  step mkdir -p "$3"
  once "$3/$2.measured" "$key" measure "$1" "$2" "$3/$2.importance" "$key"
}

# measure SYSTEM METHOD FILE KEY: an interrupted measurement goes on; one of something else goes.
measure() {
  local -a where directions
  read -ra where <<<"$(machine)"
  mapfile -t directions < <(trained_directions "${1%%/*}")
  if [[ -z $dry ]]; then
    if [[ ! -f $3.begun || "$(cat "$3.begun")" != "$4" ]]; then
      rm -rf "$3" "$3.parts"
      echo "$4" >"$3.begun"
    fi
  fi
  tdo importance --path "$(start_of "$1")" --data "$(data_of "$run/data" "$1")" \
    --pairs "$(IFS=, && echo "${directions[*]}")" --method "$2" --inner "$INNER" --out "$3" \
    "${where[@]}" ${importance[@]+"${importance[@]}"}
}

# stamp_of SYSTEM: tells its trainings apart.
stamp_of() {
  if [[ -n $dry ]]; then echo dry; else cat "$run/$1/trained"; fi
}
