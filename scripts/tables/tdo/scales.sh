# The scales of the TDO tables: their data, and what a system takes at each. Sourced by tdo.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

# Each scale sets, where it is not the paper's,
#   small      flags behind a config's
#   halves     N, half of the layers, by the paper's
#   wide       d and the FFN of the wide model, and its heads, where they are not as many as others'
#   updates    of a row
#   measures   options of `tdo score`
#   pieces     entries of the dictionary that is made
declare -a small=() wide=()
declare -A halves=([6]=6 [12]=12)
updates=""

scale_toy() {
  halves=([6]=3 [12]=4)
  smaller toy
  check_own_options
  small+=(--num-workers 0)
  wide=(160 640)
  updates=3000
  pieces=1600
  # in the paper's protocol Japanese needs packages that are not in every installation
  measures+=(--tokenizer language)
}

scale_smoke() {
  scale_toy
  small+=(--max-tokens 300 --validate-interval-updates 2 --save-interval-updates 2)
  updates=2
  pieces=450
}

scale_multi30k() {
  pieces=8000
  if [[ $sizes == paper ]]; then
    wide=(1024 4096 16)
    updates=6000
    smaller multi30k-paper
  else
    halves=([6]=3 [12]=4)
    wide=(192 768)
    updates=3000
    smaller multi30k
  fi
  check_own_options
}

scale_full() {
  local one
  check_own_options
  for one in "${rows[@]%%/*}"; do
    [[ $one != m2m-* && $one != nllb-* || -n $dry || -e $originals/$one ]] ||
      die "\`--originals\` must be a folder with $one; it is ${originals:-left out}"
  done
  measures=(--lid corpus)
  take_all_gpus
}

# estimated_of SYSTEM: `tdo estimate` does not know fairseq's own architectures. TED-19 has 6.55 million pairs, of
# which an epoch draws some more than once, by the temperature.
estimated_of() {
  [[ $1 != */original* ]] || return 1
  if [[ -n $pieces ]]; then
    echo --vocab-size "$pieces"
    return
  fi
  case $1 in
    ted19/*) echo --vocab-size 50000 --epoch-sentences 7440000 ;;
    m2m-*) echo --vocab-size 128112 --epoch-sentences 7440000 ;;
    nllb-*) echo --vocab-size 256206 --epoch-sentences 7440000 ;;
    *) echo --vocab-size 64000 ;;
  esac
}

# smaller NAME: take the flags of a scale, and leave out the originals that it has nothing like.
smaller() {
  local index
  local -a none_like=()
  for index in "${!rows[@]}"; do
    if [[ ${rows[index]} == nllb-* || ${rows[index]} == m2m-1.2b/* ]]; then
      none_like+=("${rows[index]}")
      unset "rows[index]" "names[index]"
    fi
  done
  rows=(${rows[@]+"${rows[@]}"}) names=(${names[@]+"${names[@]}"})
  ((${#rows[@]})) || die "\`--rows\` must be of m2m-418m at the scale $scale"
  if ((${#none_like[@]})); then echo "only at the scale full: ${none_like[*]}"; fi
  mapfile -t small < <(flags_of_scale "$1")
  leave_out_twins
  measures=(--lid corpus --metrics bleu,chrf,off)
  names=("${names[@]/#/like }")
}

# choose_detector: at full the paper's wherever it is; the small scales take what every machine has.
choose_detector() {
  if [[ $scale == full ]]; then choose_lid cached; else choose_lid; fi
}

# leave_out_twins: where the layers are few, two rows of a sweep over M, or over InstruCL's layer, may have the same
# one; the first row stays.
leave_out_twins() {
  local index place swept
  local -A seen=()
  for index in "${!rows[@]}"; do
    case ${rows[index]} in
      *instrucl*) swept=InstruCL ;;
      *@m-*) swept=M ;;
      *@*) continue ;;
      *) swept=M ;;
    esac
    place="$swept $(sweep_of "${rows[index]}")@$(layer_of "${rows[index]}")"
    if [[ -n ${seen[$place]:-} ]]; then unset "rows[index]" "names[index]"; fi
    seen[$place]=1
  done
  rows=("${rows[@]}") names=("${names[@]}")
}

# train_for N: so many updates; the last of each training has a checkpoint.
train_for() {
  updates_asked "$(flag_of_scale "$scale" --save-interval-updates)"
  updates=$1
}

# half_of SYSTEM: its N.
half_of() {
  case $1 in
    opus100-deep/* | m2m-1.2b/*) echo "${halves[12]}" ;;
    *) echo "${halves[6]}" ;;
  esac
}

# small_flags SYSTEM: a row's flags behind its config's, a word a line.
small_flags() {
  local half
  half=$(half_of "$1")
  if [[ $1 == */original ]]; then
    original_flags "$half"
    return
  fi
  printf '%s\n' "${small[@]}" --max-update "$updates"
  if [[ $1 == opus100-wide/* ]]; then
    printf '%s\n' --tdo-model-dim "${wide[0]}" --tdo-ffn-dim "${wide[1]}" ${wide[2]+--tdo-heads "${wide[2]}"}
  fi
  case $1 in
    */encoder-decoder*) printf '%s\n' --tdo-encoder-layers "$half" --tdo-decoder-layers "$half" ;;
    *decoder-only*) printf '%s\n' --tdo-layers $((2 * half)) ;;
    *) printf '%s\n' --tdo-layers $((2 * half)) --tdo-target-layer "$half" ;;
  esac
  if [[ $1 == *adaptation* ]]; then
    printf '%s\n' --tdo-adaptation-dim "$(ffn_of "$1")"
  fi
  if [[ $(system_of "$1") == *instrucl* ]]; then
    printf '%s\n' --instrucl-layer "$(layer_of "$(system_of "$1")")"
  fi
}

# of_small FLAG: its value in `small`, the last one as for fairseq; nothing where it has none.
of_small() {
  local index value=""
  for index in "${!small[@]}"; do
    if [[ ${small[index]} == "$1" ]]; then value=${small[index + 1]}; fi
  done
  echo "$value"
}

# ffn_of SYSTEM: the inner size of its feed-forward networks.
ffn_of() {
  if [[ $1 == opus100-wide/* && -n ${wide[*]} ]]; then
    echo "${wide[1]}"
  elif ((${#small[@]})); then
    of_small --tdo-ffn-dim
  else
    config_flags "$(config_of "$CONFIGS" "$1")" | sed -n 's/^--tdo-ffn-dim //p'
  fi
}

# data_SCALE CORPUS: its data folder; of pre-trained models that of the one that they begin with.
data_toy() {
  corpus_of "$1" --train 8000 --valid 100 --test 200
}

data_smoke() {
  corpus_of "$1" --train 60 --valid 10 --test 10
}

data_multi30k() {
  local -a variant=()
  if [[ $1 == m2m-* ]]; then
    variant=(--variant many-to-many)
  elif [[ $form == disjoint ]]; then
    variant=(--variant disjoint)
  fi
  tdo prepare multi30k --out "$run/$1/$(own_data "$1")" --vocab-size "$pieces" \
    ${variant[@]+"${variant[@]}"} ${from[@]+"${from[@]}"}
}

data_full() {
  case $1 in
    ted19) tdo prepare ted19 --out "$run/$1/data" ${from[@]+"${from[@]}"} ;;
    opus100) tdo prepare opus100 --variant revised --out "$run/$1/data" ${from[@]+"${from[@]}"} ;;
    *) tdo prepare ted19 --out "$run/$1/data" --model-of "$(any_converted "$1")" ${from[@]+"${from[@]}"} ;;
  esac
}

data_key() {
  if [[ $kind == multi30k ]]; then
    echo " $form"
  elif [[ $kind == full ]] && is_tuned "$1/"; then
    echo " $(key_of_original "$1")"
  fi
}

# In full the originals are there; at the small scales they come of the data (between_trainings).
before_data() {
  if [[ $kind == full ]] && is_tuned "$1/"; then convert_rows "$1"; fi
}

# own_data CORPUS: where its text is cut into pieces of its own.
own_data() { if [[ $1 == m2m-* ]]; then echo original-data; else echo data; fi; }

# corpus_of CORPUS OPTION...
corpus_of() {
  local languages=en,de,es,fr
  if [[ $1 == opus100 ]]; then languages=en,de,es,fr,ja,ru,tr; fi
  tdo corpus --out "$run/$1/text" --languages "$languages" "${@:2}" --seed 1 --force
  if [[ $1 == m2m-* ]]; then original_text "$1" "${@:2}"; fi
  tdo preprocess "$run/$1/$(own_text "$1")" "$run/$1/$(own_data "$1")" --vocab-size "$pieces" \
    --normalization identity --workers 2 --fresh
}

own_text() { if [[ $1 == m2m-* ]]; then echo original-text; else echo text; fi; }
