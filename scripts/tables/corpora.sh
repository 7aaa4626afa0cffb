# Sourced by what the scripts of a paper with several corpora share, after tables.sh: a row is called
# CORPUS/SYSTEM, and each corpus has its folder in RUN, with data and systems.
# shellcheck shell=bash
# shellcheck disable=SC2034

corpora() { printf '%s\n' "${rows[@]%%/*}" | sort -u; }
data_of() { echo "$run/${2%%/*}/data"; }

# What a paper's file may say otherwise.
data_key() { :; }    # CORPUS: on what its data depends, beside how they are made
before_data() { :; } # CORPUS: what its data need

prepare_data() {
  local corpus
  for corpus in $(corpora); do
    before_data "$corpus"
    once "$run/$corpus/prepared" "$pieces$(data_key "$corpus") $(declare -f "data_$kind" | cksum)" \
      "data_$kind" "$corpus"
  done
}

also_made() {
  local corpus
  for corpus in $(corpora); do
    echo "$corpus"/{data,text,more,multi30k,prepared}
  done
}

# keep_pairs TEXT OUT PAIR...: of a text folder.
keep_pairs() {
  local pair
  step mkdir -p "$2"
  for pair in "${@:3}"; do
    step cp "$1"/*."$pair".* "$2/"
  done
}
