# Pictures of the TDO paper. Sourced by scripts/figures/tdo_figure*.sh, after tdo.sh.
# shellcheck shell=bash

# sweep SHEET OUT FLAG...: scores over a choice; the paths are below RUN.
sweep() {
  tdo analyze sweep "$run/$1" --out "$run/$2" "${@:3}"
}

# name_of ROW: what it is called.
name_of() {
  local index
  for index in "${!rows[@]}"; do
    if [[ ${rows[index]} == "$1" ]]; then
      echo "${names[index]}"
      return
    fi
  done
}

# draw_curve TABLE SETTING LABEL BASELINE SYSTEM [-authors]: the setting's variants of a system over their layers, in
# percent of the baseline, supervised and zero-shot; those with InstruCL in the authors' form are a curve of their own.
draw_curve() {
  local index baseline="" form_of_row
  local -a places=()
  for index in "${!rows[@]}"; do
    [[ ${rows[index]} == "$2/"* ]] || continue
    if [[ ${names[index]} == *": $4" ]]; then
      baseline=${names[index]}
      continue
    fi
    form_of_row=""
    if [[ ${rows[index]} == *-authors ]]; then form_of_row=-authors; fi
    if [[ $(sweep_of "${rows[index]}") == "$2/$5" && $form_of_row == "${6:-}" ]]; then
      places+=("${names[index]}=$(layer_of "${rows[index]}")")
    fi
  done
  [[ -n $baseline && ${#places[@]} -gt 0 ]] || return 0
  sweep "$(block_folder "$1" "$2")/scores.json" "$1/$2-$5${6:-}" --x "${places[@]}" --x-label "$3" --baseline "$baseline" \
    --ratio --group supervised zero-shot
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
