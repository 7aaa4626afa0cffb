# The scales of the TPDM tables: their data, and what a system takes at each. Sourced by tpdm.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

# Each scale sets, where it is not the paper's,
#   small      flags behind a config's
#   adversary  more of them, of rows with L_d
#   updates    of a row
#   measures   options of `tdo score`
#   pieces     entries of the dictionary that is made; at full 40,000 BPE operations make it
# and names the corpora as what they are: like the paper's.
declare -a small=() adversary=()
# Rows of an embedding at full. MultiUN's are what the counts of the paper's table 8 come to; those of
# Europarl, whose alphabets are small, are the 40,000 operations and a guess at the characters (ours).
declare -A vocabulary=([multiun]=49320 [europarl]=40300)
updates=""

scale_toy() {
  smaller toy
  small+=(--num-workers 0)
  updates=3000 # where nothing carries positions past a layer, the source is made use of later
  pieces=1600
  # in the paper's protocol Japanese needs packages that are not in every installation
  measures=(--lid corpus --tokenizer language)
}

scale_smoke() {
  scale_toy
  small+=(--max-tokens 300 --eval-sentences 2 --validate-interval-updates 2 --save-interval-updates 2)
  updates=2
  pieces=450
}

scale_multi30k() {
  smaller multi30k
  updates=1500
  pieces=8000
  measures=(--lid corpus)
}

scale_full() {
  measures=(--lid corpus)
  take_all_gpus
}

# smaller NAME: take the flags of a scale.
smaller() {
  mapfile -t small < <(flags_of_scale "$1")
  mapfile -t adversary < <(flags_of_scale adversary)
  names=("${names[@]/#/like }")
}

# train_for N: so many updates; the last of each training is validated.
train_for() {
  updates_asked "$(flag_of_scale "$scale" --validate-interval-updates)"
  updates=$1
}

# small_flags SYSTEM: a row's flags behind its config's, a word a line.
#
# L_d begins when the source is made use of: before, the cheapest way to take positions out of it is to
# have all tokens alike. Without L_p nothing else trains positions, so that L_d has to reach them.
#
# Six layers a side with post-norm do not get to make use of their source in so few updates of so high a
# learning rate unless they start depth-scaled.
small_flags() {
  printf '%s\n' "${small[@]}" --max-update "$updates"
  if [[ $1 == *-base* ]]; then
    printf '%s\n' --tdo-init depth-scaled
  fi
  case $1 in
    *-without-l_d* | *-as-printed*) ;;
    *adversary-*) late_flags ;;
    *-without-l_p*)
      printf '%s\n' "${adversary[@]}" | grep -v detach
      late_flags
      ;;
    *tpdm*)
      printf '%s\n' "${adversary[@]}"
      late_flags
      ;;
  esac
}

# estimated_of SYSTEM: of `tdo estimate`.
estimated_of() { echo --vocab-size "${pieces:-${vocabulary[${1%%/*}]}}"; }

# chosen_from SYSTEM: the update from which on its checkpoints may be chosen, that from which L_d has its
# whole weight; at the small scales of all systems alike.
chosen_from() {
  if ((${#small[@]})); then
    echo $((updates * 2 / 3))
  else
    config_flags "$(config_of "$CONFIGS" "$1")" |
      awk '/^--tpdm-disentangle-(start|warmup) / { sum += $2 } END { print sum + 0 }'
  fi
}

late_flags() {
  printf '%s\n' --tpdm-disentangle-start $((updates / 2)) --tpdm-disentangle-warmup $((updates / 6))
}

# data_SCALE CORPUS: its data folder.
data_toy() {
  corpus_of "$1" --train 10000 --valid 100 --test 200
}

data_smoke() {
  corpus_of "$1" --train 60 --valid 10 --test 10
}

data_multi30k() {
  local text=$run/$1/multi30k/work/text
  tdo prepare multi30k --variant disjoint --out "$run/$1/multi30k" ${from[@]+"${from[@]}"}
  if [[ $1 == europarl ]]; then
    keep_pairs "$text" "$run/$1/text" en-de en-fr de-fr
    text=$run/$1/text
  fi
  tdo preprocess "$text" "$run/$1/data" --vocab-size "$pieces" --join-valid 500
}

data_full() {
  local -A called=([multiun]=multiun [europarl]=europarl-de-fr)
  tdo prepare "${called[$1]}" --out "$run/$1/data" ${from[@]+"${from[@]}"}
}

# corpus_of CORPUS OPTION...: languages whose word order differs, and others.
corpus_of() {
  local -A languages=([multiun]=en,ja,ru,tr [europarl]=en,de,fr)
  tdo corpus --out "$run/$1/text" --languages "${languages[$1]}" --share-center "${@:2}" --seed 1 \
    --force
  tdo preprocess "$run/$1/text" "$run/$1/data" --vocab-size "$pieces" --normalization identity \
    --join-valid 5 --workers 2 --fresh
}
