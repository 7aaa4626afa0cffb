# The scales of the TLM tables: their data, and what a system takes at each. Sourced by tlm.sh and by
# the grid's script.
# shellcheck shell=bash
# shellcheck disable=SC2034

# Each scale sets, where it is not the paper's,
#   small      flags behind a config's
#   updates    of a row
#   measures   options of `tdo score`
#   pieces     entries of the dictionary that is made
#   direction  the one that is trained, by corpus
declare -a small=()
declare -A direction=([de-en]=de-en [en-ro]=en-ro [mono]=zh-en)
updates=""

scale_toy() {
  mapfile -t small < <(flags_of_scale toy)
  small+=(--num-workers 0)
  updates=2000
  pieces=800
  direction=([de-en]=de-en [mono]=de-en)
  measures=(--lid corpus --tokenizer language)
}

scale_smoke() {
  scale_toy
  small+=(--max-tokens 300 --validate-interval-updates 2 --save-interval-updates 2)
  updates=2
  pieces=250
}

scale_multi30k() {
  mapfile -t small < <(flags_of_scale multi30k)
  updates=2000
  pieces=8000
  direction=([de-en]=de-en [mono]=de-en)
  measures=(--lid corpus)
}

scale_full() {
  measures=(--lid corpus)
  take_all_gpus
}

# estimated_of SYSTEM: of `tdo estimate`; the paper's dictionaries.
estimated_of() {
  local -A vocabulary=([de-en]=10000 [en-ro]=20000 [mono]=47000 [multi]=32000)
  echo --vocab-size "${pieces:-${vocabulary[${1%%/*}]}}"
}

# train_for N: so many updates; the last of each training is validated.
train_for() {
  updates_asked "$(flag_of_scale "$scale" --validate-interval-updates)"
  updates=$1
}

# small_flags SYSTEM: a row's flags behind its config's, a word a line: a third of the layers, as many
# parameters beside each other as in the paper.
small_flags() {
  local -A layers=([5]=2 [10]=3 [15]=5 [20]=7)
  printf '%s\n' "${small[@]}" --max-update "$updates"
  case $1 in
    */encoder-decoder*) printf '%s\n' --tdo-encoder-layers 2 --tdo-decoder-layers 2 ;;
    */*-layers)
      local count=${1#*/}
      printf '%s\n' --tdo-layers "${layers[${count%-layers}]}"
      ;;
    *) printf '%s\n' --tdo-layers 5 ;;
  esac
}

# data_SCALE CORPUS: its data folder.
data_toy() {
  corpus_of "$1" --train 10000 --valid 100 --test 200
}

data_smoke() {
  corpus_of "$1" --train 60 --valid 10 --test 10
}

data_multi30k() {
  local -A pairs=([de-en]=en-de [mono]=en-de [multi]="en-cs en-de en-fr")
  local -a variant=()
  if [[ $1 == mono ]]; then variant=(--variant disjoint); fi # its other thirds have other English
  tdo prepare multi30k ${variant[@]+"${variant[@]}"} --out "$run/$1/multi30k" ${from[@]+"${from[@]}"}
  # shellcheck disable=SC2086
  keep_pairs "$run/$1/multi30k/work/text" "$run/$1/text" ${pairs[$1]}
  tdo preprocess "$run/$1/text" "$run/$1/data" --vocab-size "$pieces" --join-valid 500
}

data_full() {
  local -A called=([de-en]=iwslt14-de-en [en-ro]=wmt16-en-ro [mono]=wmt19-zh-en [multi]=news-commentary-v16)
  tdo prepare "${called[$1]}" --out "$run/$1/data" ${from[@]+"${from[@]}"}
}

# corpus_of CORPUS OPTION...: one pair, or all pairs of three languages.
corpus_of() {
  local folder=$run/$1
  if [[ $1 == multi ]]; then
    tdo corpus --out "$folder/text" --languages de,es,fr --center de "${@:2}" --seed 1 --force
    tdo corpus --out "$folder/more" --languages es,fr --center es "${@:2}" --seed 2 --force
    step cp "$folder"/more/{train,valid}.es-fr.{es,fr} "$folder/text/"
  else
    tdo corpus --out "$folder/text" --languages en,de "${@:2}" --seed 1 --force
  fi
  tdo preprocess "$folder/text" "$folder/data" --vocab-size "$pieces" --normalization identity \
    --join-valid 5 --workers 2 --fresh
}
