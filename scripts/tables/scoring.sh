# From trained systems to a table. Sourced by opus100.sh.
# shellcheck shell=bash

# translate_rows DIRECTIONS: hypotheses of every row in RUN/ROW/output.
translate_rows() {
  local one system direction
  local -a how=(--protocol opus100)
  for one in "${rows[@]}"; do
    case $one in
      pivot) translate_through_english ;;
      bilingual*)
        mkdir -p "$run/$one/output"
        for system in $(systems_of "$one" "$1"); do
          direction=${system#*/}
          decode_systems "$run" "$run/data" "$jobs" "$last" "$system" -- "${how[@]}" \
            --pairs "$direction"
          cp "$run/$system/output/$direction".{src,hyp,ref} "$run/$one/output/"
        done
        ;;
      *) decode_systems "$run" "$run/data" "$jobs" "$last" "$one" -- "${how[@]}" --pairs "$1" ;;
    esac
  done
}

# translate_through_english: zero-shot directions by two bilingual models each; the best hypothesis
# of the first is the source of the second.
translate_through_english() {
  local out=$run/pivot/output one source target text step direction
  mkdir -p "$out" "$run/pivot/english"
  for direction in $(zero_shot_directions); do
    source=${direction%-*} target=${direction#*-}
    text=$(test_side "$direction" "$source")
    step=$run/pivot/english/$(basename "$text")
    say "pivot: $direction"
    translate_text "$source-en" "$text" "$step"
    translate_text "en-$target" "$step" "$out/$direction.hyp"
  done
}

# translate_text DIRECTION INPUT OUTPUT: by that bilingual model, unless it was done.
translate_text() {
  local system=bilingual/$1 key
  local -a where
  read -ra where <<<"$(machine)"
  once "$run/$system/averaged" "$(cat "$run/$system/trained") $last" \
    average_system "$run/$system" "$last"
  key="$(cat "$run/$system/averaged") $(cksum <"$2")"
  once "$3.made" "$key" tdo translate "$run/data" --path "$run/$system/average.pt" \
    --protocol opus100 -s "${1%-*}" -t "${1#*-}" --input "$2" --output "$3" "${where[@]}"
}

# zero_shot_directions: those of the test sets that are not trained.
zero_shot_directions() {
  grep -vxFf "$run/data/pairs.txt" "$run/data/test-pairs.txt"
}

# test_side DIRECTION LANGUAGE: the file of one side of a test set, as plain text.
test_side() {
  local name
  for name in "test.$1.$2" "test.${1#*-}-${1%-*}.$2" "test.$2"; do
    if [[ -f $run/data/reference/$name ]]; then
      echo "$run/data/reference/$name"
      return
    fi
  done
  die "\`DATA\` must hold a test set of $1; $run/data does not"
}

# score_rows TABLE DIRECTIONS: the table, beside the paper's.
score_rows() {
  local table=$1 index baseline=${names[0]} out=$run/$1
  local -a systems=() published=()
  for index in "${!rows[@]}"; do
    systems+=("${names[index]}=$run/${rows[index]}/output")
    [[ ${names[index]} != "$BASELINE" ]] || baseline=$BASELINE
  done
  if [[ $table == table* ]]; then
    published=(--published "opus100:${table#table}")
  fi
  tdo score "${systems[@]}" --data "$run/data" --out "$out" --protocol opus100 --directions "$2" \
    --baseline "$baseline" "${measures[@]}" ${lid[@]+"${lid[@]}"}
  tdo report "$out/scores.json" --out "$out" ${published[@]+"${published[@]}"}
}

# draw_figure_1 TABLE: zero-shot scores over the updates of ROBT, where there are any.
draw_figure_1() {
  local index base
  local -a lines=() picture=()
  for index in "${!rows[@]}"; do
    base=$(begun_from "${rows[index]}")
    if [[ -n $base && -f $run/${rows[index]}/checkpoints/validation.jsonl ]]; then
      lines+=("${names[index]#with ROBT: }=$run/$base/checkpoints/validation.jsonl:$run/${rows[index]}/checkpoints/validation.jsonl")
    fi
  done
  ((${#lines[@]})) || return 0
  if "$VENV/bin/python" -c 'import matplotlib' 2>/dev/null; then
    picture=(--out "$run/$1/figure1.svg")
  fi
  tdo curve "${lines[@]}" ${picture[@]+"${picture[@]}"} | tee "$run/$1/figure1.txt"
}
