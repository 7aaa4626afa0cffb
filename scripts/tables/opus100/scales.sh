# The scales of the OPUS-100 tables: their data, and what a system takes at each. Sourced by
# opus100.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

# Each scale sets, where it is not the paper's,
#   small      flags behind a config's
#   depth      layers a side, by the paper's
#   updates    of a row, of a bilingual model, and with ROBT, counted on from the row's
#   every      updates between two points of figure 1, if it is drawn
#   curve      flags of the trainings that have points there
#   four       the languages of bilingual models
#   pivoted    those of the zero-shot test sets
#   measures   options of `tdo score`
#   pieces     entries of the dictionary that is made
declare -A depth=() updates=()
declare -a small=() four=() pivoted=() curve=()
every=""

scale_toy() {
  mapfile -t small < <(flags_of_scale toy)
  small+=(--num-workers 0)
  depth=([6]=2 [12]=4 [24]=6)
  updates=([row]=600 [bilingual]=400 [robt]=800)
  pieces=1600
  every=40
  curve=(--eval-translation zero-shot --eval-sentences 50)
  four=(de fr es) pivoted=(de fr es)
  measures=(--lid corpus --size-bounds 10000,4000)
}

scale_smoke() {
  scale_toy
  small+=(--max-tokens 300 --disable-validation)
  updates=([row]=2 [bilingual]=2 [robt]=4)
  pieces=150
  every=""
  four=(de) pivoted=(de fr)
}

scale_multi30k() {
  mapfile -t small < <(flags_of_scale multi30k)
  depth=([6]=2 [12]=4 [24]=6)
  updates=([row]=1500 [bilingual]=1500 [robt]=2000)
  pieces=8000
  every=50
  curve=(--eval-translation zero-shot --eval-sentences 50)
  four=(de fr cs) pivoted=(de fr cs)
  measures=(--lid corpus)
}

# OPUS-100 has no validation sets of zero-shot directions, so that the curve is of its test sets (ours);
# nothing is chosen by it.
scale_full() {
  every=1000
  curve=(--eval-translation zero-shot --eval-subset test --eval-lid langdetect)
  four=(de zh br te) pivoted=(ar de fr nl ru zh)
  measures=(
    --group "en → de, zh, br, te=en-de,en-zh,en-br,en-te"
    --group "de, zh, br, te → en=de-en,zh-en,br-en,te-en"
    # High are the pairs of 1,000,000 sentences, less what has an empty side: with the text's bound of
    # 0.9 million Sinhala would be among them, which it is not in the published figures
    --size-bounds 990000,100000
  )
  take_all_gpus
  last=5 # (code)
}

# train_for N: so many updates. The last of each training has a checkpoint, with ROBT too.
train_for() {
  updates_asked $((3 * $(flag_of_scale "$scale" --save-interval-updates)))
  updates=([row]=$1 [bilingual]=$1 [robt]=$(($1 * 4 / 3)))
}

# data_SCALE: the data folder. Toy: three pairs of different sizes, High, Medium and Low.
data_toy() {
  corpus_of 12000 5000 2000 --valid 100 --test 200
}

data_smoke() {
  corpus_of 60 40 30 --valid 10 --test 10
}

data_multi30k() {
  tdo prepare multi30k --variant disjoint --out "$run/multi30k" ${from[@]+"${from[@]}"}
  tdo preprocess "$run/multi30k/work/text" "$run/data" --vocab-size "$pieces" --join-valid 500
}

data_full() {
  tdo prepare opus100 --out "$run/data" ${from[@]+"${from[@]}"}
}

# corpus_of GERMAN FRENCH SPANISH OPTION...: training pairs with English, pieces, and the
# other splits.
corpus_of() {
  tdo corpus --out "$run/text" --languages en,de,fr,es --train "$1" "${@:4}" --seed 1 --force
  shorten en-fr "$2"
  shorten en-es "$3"
  tdo preprocess "$run/text" "$run/data" --vocab-size "$pieces" --normalization identity \
    --join-valid 5 --workers 2 --fresh
}

# shorten PAIR N: keep the first N lines of a pair's training text.
shorten() {
  local language
  for language in ${1/-/ }; do
    step sed -i "$(($2 + 1)),\$d" "$run/text/train.$1.$language"
  done
}

# What a system takes beside its config (see pipeline.sh). A bilingual system is called by its config
# and its direction, bilingual/en-de.
config_of() {
  case $2 in
    bilingual*) echo "$1/${2%/*}.conf" ;;
    *) echo "$1/$2.conf" ;;
  esac
}

begun_from() {
  if [[ $1 == *-robt* ]]; then
    echo "${1%-robt*}"
  fi
}

own_flags() {
  if [[ $1 == bilingual* ]]; then
    printf '%s\n' --lang-pairs "${1#*/}"
  fi
  if ((${#small[@]})); then
    smaller_flags "$1"
  fi
  if [[ -n $every && $1 == many-to-many/* ]]; then
    curve_flags "$1"
  fi
}

# smaller_flags SYSTEM: what makes it smaller and shorter than the paper's.
smaller_flags() {
  local layers=6 kind=row
  case $1 in
    *24-layers*) layers=24 ;;
    *12-layers* | bilingual-deeper/*) layers=12 ;;
  esac
  case $1 in
    bilingual*) kind=bilingual ;;
    *-robt*) kind=robt ;;
  esac
  printf '%s\n' "${small[@]}" --max-update "${updates[$kind]}" \
    --tdo-encoder-layers "${depth[$layers]}" --tdo-decoder-layers "${depth[$layers]}"
  if [[ $1 == *-robt-6 ]]; then # the languages of the zero-shot test sets, as in the paper
    printf '%s\n' --robt-languages "$(IFS=, && echo "${pivoted[*]}")"
  fi
}

# curve_flags SYSTEM: its points in figure 1. Without ROBT there is one, at the end, but at full none:
# `--validate-after-updates` would hold its checkpoints back as well. There all checkpoints of ROBT stay,
# for what else is to be measured along the curve.
curve_flags() {
  local between=${updates[row]:-}
  if [[ $1 == *-robt* ]]; then between=$every; fi
  [[ -n $between ]] || return 0
  printf '%s\n' "${curve[@]}" --validate-interval-updates "$between"
  if ((${#small[@]})); then
    printf '%s\n' --validate-after-updates "${updates[row]}"
  else
    printf '%s\n' --keep-interval-updates 20
  fi
}
