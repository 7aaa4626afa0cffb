# A model some of whose neurons are ablated. Sourced by neurons_figure5.sh, after neurons.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

# ablated: what is ablated, each a name and the options that say it.
ablated() {
  local pair
  echo "general --general 0.2"
  for pair in $(erased_pairs); do
    echo "specific-$pair --specific 0.5 --pair $pair"
  done
}

# erased_pairs: whose own neurons are, as in the paper; at other scales the first three.
erased_pairs() {
  if [[ $kind == full ]]; then
    printf '%s\n' it-en ro-it en-ro
  else
    trained_directions many-to-many | head -n 3
  fi
}

# ablations ROW: of each training of the row, SYSTEM NAME OPTION... a line.
ablations() {
  local one what
  for one in $(seeded "$1"); do
    while read -r what; do
      echo "$one $what"
    done < <(ablated)
  done
}

# folder_of SYSTEM NAME: where an ablation is.
folder_of() { echo "$run/$1/ablated/$2"; }

# translate_row ROW DIRECTIONS: the model whole, then each ablation of it.
translate_row() {
  local one name options
  local -a flags where
  read -ra where <<<"$(decoding_machine "$jobs")"
  for one in $(seeded "$1"); do
    translate "$one" --pairs "$2"
  done
  while read -r one name options; do
    read -ra flags <<<"$options"
    step mkdir -p "$(folder_of "$one" "$name")"
    once "$(folder_of "$one" "$name")/made" "$(cat "$run/$one/averaged")" \
      ablate "$one" "$name" "${flags[@]}"
    tdo translate "$(data_of "$run/data" "$one")" --path "$(folder_of "$one" "$name")/checkpoint.pt" \
      --out "$(folder_of "$one" "$name")/output" "${where[@]}" --protocol "$PAPER" --pairs "$2"
  done < <(ablations "$1")
}

# ablate SYSTEM NAME OPTION...
ablate() {
  local folder
  folder=$(folder_of "$1" "$2")
  rm -rf "$folder"/{checkpoint.pt,output}
  tdo ablate --path "$(checkpoint_of "$run/$1")" --output "$folder/checkpoint.pt" --seed 1 "${@:3}"
}

# runs_of ROW NAME: the whole model, and each ablation.
runs_of() {
  local one name seed
  for one in $(seeded "$1"); do
    seed=""
    if ((seeds > 1)); then
      seed=", seed $([[ $one == *-seed-* ]] && echo "${one##*-seed-}" || echo 1)"
    fi
    echo "$2$seed=$run/$one/output"
    while read -r name _; do
      echo "$2 without $name$seed=$(folder_of "$one" "$name")/output"
    done < <(ablated)
  done
}

# draw_figures FIGURE DIRECTIONS
draw_figures() {
  local name
  local -a places=()
  while read -r name _; do
    places+=("${names[0]} without $name=$name")
  done < <(ablated)
  sweep "$1" ablated --per-direction --baseline "${names[0]}" -- "${places[@]}"
}
