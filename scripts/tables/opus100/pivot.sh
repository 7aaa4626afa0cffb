# Zero-shot directions through English by two bilingual models. Sourced by opus100.sh.
# (One multilingual model pivots by `tdo translate --pivot`.)
# shellcheck shell=bash

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
  read -ra where <<<"$(decoding_machine "$jobs")"
  ready "$system"
  key="$(cat "$run/$system/averaged") $(cksum <"$2")"
  once "$3.made" "$key" tdo translate "$run/data" --path "$(checkpoint_of "$run/$system")" \
    --protocol "$PAPER" -s "${1%-*}" -t "${1#*-}" --input "$2" --output "$3" "${where[@]}"
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
