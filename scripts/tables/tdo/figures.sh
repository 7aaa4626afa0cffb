# Pictures of the TDO paper. Sourced by scripts/figures/tdo_figure*.sh, after tdo.sh.
# shellcheck shell=bash

# sweep SHEET OUT FLAG...: scores over a choice; the paths are below RUN.
sweep() {
  tdo analyze sweep "$run/$1" --out "$run/$2" "${@:3}"
}

# draw_curve TABLE SETTING LABEL BASELINE SYSTEM: the setting's variants of a system over their layers, in percent of the
# baseline, supervised and zero-shot; a curve for each form of the losses.
draw_curve() {
  local index suffix baseline=""
  local -a of_curve=()
  local -A places=()
  for index in "${!rows[@]}"; do
    if [[ $(plain_of "${rows[index]}") == "$2/$4" ]]; then
      baseline=${names[index]}
    elif [[ $(sweep_of "${rows[index]}") == "$2/$5" ]]; then
      suffix=${rows[index]#"$(plain_of "${rows[index]}")"}
      places[plain$suffix]+="${names[index]}=$(layer_of "${rows[index]}")"$'\n'
    fi
  done
  [[ -n $baseline ]] || return 0
  for suffix in "" -authors -recipe; do
    if [[ -n ${places[plain$suffix]:-} ]]; then
      mapfile -t of_curve <<<"${places[plain$suffix]%$'\n'}"
      sweep "$(block_folder "$1" "$2")/scores.json" "$1/$2-$5$suffix" --x "${of_curve[@]}" --x-label "$3" \
        --baseline "$baseline" --ratio --group supervised zero-shot
    fi
  done
}

# bars_of_systems TABLE: mean BLEU of each row.
bars_of_systems() {
  local name
  local -a places=()
  for name in "${names[@]}"; do
    places+=("$name=${name#*: }")
  done
  sweep "$1/scores.json" "$1/bars" --x "${places[@]}" --group supervised zero-shot
}

# draw_preference TABLE: linguistic preference by layer, of the first training of each row.
draw_preference() {
  local index
  local -a where paths=() languages=() forms=()
  read -ra where <<<"$(machine)"
  # as appendix A: of TED-19's languages, whose pairs with English have few lines in common
  if [[ $kind == full ]]; then languages=(--languages ar,he,zh,hr,vi,ja); fi
  if [[ -n $smoke ]]; then forms=(--form sentence); fi # SVCCA asks for more sentences than there are
  for index in "${!rows[@]}"; do
    paths+=("${names[index]#*: }=$(checkpoint_of "$run/${rows[index]}")")
  done
  tdo analyze preference --data "$(data_of "$run/data" "${rows[0]}")" --path "${paths[@]}" \
    ${languages[@]+"${languages[@]}"} ${forms[@]+"${forms[@]}"} --out "$run/$1/preference" "${where[@]}"
}
