# The scales of the neuron allocation tables: their data, and what a system takes at each. Sourced by
# neurons.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

# Each scale sets, where it is not the paper's,
#   small       flags behind a config's
#   updates     of the pre-training; training on takes half as many, and so does a model of one direction
#   measures    options of `tdo score`
#   pieces      entries of the dictionary that is made
#   importance  options of `tdo importance`
#   others      the languages of a corpus beside English
declare -a small=() importance=()
declare -A others=()
updates=""

scale_toy() {
  smaller toy
  small+=(--num-workers 0)
  others=([many-to-many]="de fr es ru" [one-to-many]="de fr es ru ja tr")
  updates=2000
  pieces=2000
  measures=(--lid corpus --tokenizer language)
}

scale_smoke() {
  scale_toy
  small+=(--max-tokens 300 --validate-interval-updates 2 --save-interval-updates 2)
  importance=(--sentences 20)
  updates=2
  pieces=450
}

scale_multi30k() {
  smaller multi30k
  others=([many-to-many]="de fr cs" [one-to-many]="de fr cs")
  updates=1500
  pieces=8000
  measures=(--lid corpus)
}

scale_full() {
  others=([one-to-many]="cs el es fi hu lt lv pl pt sk sl sv")
  importance=(--sentences all) # T_m is all training examples (Xie et al., 2021, equation 7)
  measures=(--lid corpus)
  take_all_gpus
}

# estimated_of SYSTEM: of `tdo estimate`; the paper's languages, pairs, dictionaries by its counts of parameters, and
# its sentences of an epoch, in which every direction has as many as the largest one.
estimated_of() {
  if [[ -n $pieces ]]; then
    echo --vocab-size "$pieces"
    return
  fi
  local -A counts=(
    [many-to-many]="--vocab-size 40100 --num-languages 4 --num-pairs 8"
    [one-to-many]="--vocab-size 90400 --num-languages 13 --num-pairs 12"
  )
  local sentences
  case $1 in
    many-to-many/individual/*) sentences=226700 ;;
    many-to-many/*) sentences=1897600 ;;
    one-to-many/individual/*) sentences=600000 ;;
    one-to-many/*) sentences=7200000 ;;
  esac
  echo "${counts[${1%%/*}]} --epoch-sentences $sentences"
}

# smaller NAME: take the flags of a scale.
smaller() {
  mapfile -t small < <(flags_of_scale "$1")
  names=("${names[@]/#/like }")
}

# train_for N: so many updates of the pre-training; the last of each training is validated.
train_for() {
  updates_asked $((2 * $(flag_of_scale "$scale" --validate-interval-updates)))
  updates=$1
}

# small_flags SYSTEM: a row's flags behind its config's, a word a line.
small_flags() {
  ((${#small[@]})) || return 0
  local count=$updates
  printf '%s\n' "${small[@]}"
  if [[ $1 == */expansion* ]]; then # as wide beside the scale's as the paper's 3000 beside 2048
    printf '%s\n' --tdo-ffn-dim $(($(flag_of_scale "$scale" --tdo-ffn-dim) * 3000 / 2048))
  fi
  case $1 in
    *masked* | */continued*)
      flags_of_scale on
      count=$((updates / 2))
      ;;
    */target-specific* | */adapter*) count=$((updates * 3 / 2)) ;;
    */individual/*) count=$((updates / 2)) ;;
  esac
  printf '%s\n' --max-update $((count < 2 ? 2 : count))
}

# trained_directions CORPUS: a line each.
trained_directions() {
  local language
  if [[ $1 == many-to-many && $kind == full ]]; then
    printf '%s\n' it-en en-it ro-en en-ro nl-en en-nl it-ro ro-it
    return
  fi
  for language in ${others[$1]}; do
    echo "en-$language"
    if [[ $1 == many-to-many ]]; then echo "$language-en"; fi
  done
}

# tested CORPUS: the directions that are translated.
tested() { if [[ $1 == many-to-many ]]; then echo supervised; else echo 'en-*'; fi; }

# data_SCALE CORPUS: its data folder.
data_toy() {
  corpus_of "$1" --train 8000 --valid 100 --test 200
}

data_smoke() {
  corpus_of "$1" --train 60 --valid 10 --test 10
}

data_multi30k() {
  tdo prepare multi30k --variant disjoint --out "$run/$1/multi30k" ${from[@]+"${from[@]}"}
  tdo preprocess "$run/$1/multi30k/work/text" "$run/$1/data" --vocab-size "$pieces"
}

data_full() {
  local -A called=([many-to-many]=iwslt17 [one-to-many]=europarl-12)
  tdo prepare "${called[$1]}" --out "$run/$1/data" ${from[@]+"${from[@]}"}
}

# corpus_of CORPUS OPTION...
corpus_of() {
  local languages="en ${others[$1]}"
  tdo corpus --out "$run/$1/text" --languages "${languages// /,}" "${@:2}" --seed 1 --force
  tdo preprocess "$run/$1/text" "$run/$1/data" --vocab-size "$pieces" --normalization identity \
    --workers 2 --fresh
}
