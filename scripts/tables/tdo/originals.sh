# What table 2 begins with: pre-trained encoder-decoders, and what `tdo convert` makes of them. Sourced by
# tdo.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

# TED-19's languages as the two families call them.
TED19_M2M=en,ar,he,ru,ko,it,ja,zh,es,nl,vi,tr,fr,pl,ro,fa,hr,cs,de
TED19_NLLB=en=eng_Latn,ar=arb_Arab,he=heb_Hebr,ru=rus_Cyrl,ko=kor_Hang,it=ita_Latn,ja=jpn_Jpan
TED19_NLLB+=,zh=zho_Hans,es=spa_Latn,nl=nld_Latn,vi=vie_Latn,tr=tur_Latn,fr=fra_Latn,pl=pol_Latn
TED19_NLLB+=,ro=ron_Latn,fa=pes_Arab,hr=hrv_Latn,cs=ces_Latn,de=deu_Latn

# is_tuned SYSTEM: whether it begins with a pre-trained model.
is_tuned() { [[ $1 == m2m-*/* || $1 == nllb-*/* ]] && [[ $1 != */original* ]]; }

# begun_from SYSTEM: at the small scales the original is trained first.
begun_from() {
  if ((${#small[@]})) && is_tuned "$1"; then echo "${1%%/*}/original"; fi
}

# The checkpoint that a training begins with is one that was made of that (own_start).
start_of() { :; }
own_start() {
  if is_tuned "$1"; then printf '%s\n' --finetune-from-model "$(converted "$1")/model.pt"; fi
}

own_key() {
  if is_tuned "$1"; then key_of_conversion "$1"; fi
}

# converted SYSTEM: the folder of what it begins with; rows that differ in their training share it.
converted() {
  local system
  system=$(plain_of "${1#*/}")
  echo "$run/${1%%/*}/converted/${system%-instrucl}"
}

# original_flags HALF: of the model that stands for the pre-trained one, with 2N layers a side.
original_flags() {
  local side flag value
  for side in --encoder --decoder; do
    printf '%s\n' $side-layers $((2 * $1)) $side-embed-dim "$(of_small --tdo-model-dim)" \
      $side-ffn-embed-dim "$(of_small --tdo-ffn-dim)" $side-attention-heads "$(of_small --tdo-heads)"
  done
  for flag in --dropout --lr --warmup-updates --max-tokens --update-freq --save-interval-updates --num-workers; do
    value=$(of_small "$flag")
    if [[ -n $value ]]; then printf '%s\n' "$flag" "$value"; fi
  done
  printf '%s\n' --max-update "$updates"
}

# convert_rows CORPUS: what its rows begin with.
convert_rows() {
  local one
  for one in "${rows[@]}"; do
    if [[ $one == "$1"/* ]]; then
      once "$(converted "$one").made" "$(key_of_conversion "$one")" convert_row "$one"
    fi
  done
}

# encoder_of SYSTEM: which layers its encoder takes, where that is asked for and it has an encoder.
encoder_of() {
  if [[ -n $encoder && $1 == */encoder-decoder* ]]; then echo " --encoder $encoder"; fi
}

# convert_row SYSTEM
convert_row() {
  # shellcheck disable=SC2207
  local -a words=(--layers "$(half_of "$1")" $(encoder_of "$1"))
  case $1 in
    */encoder-decoder*) words+=(--to tdo_encoder_decoder) ;;
    *decoder-only*) words+=(--to tdo_prefix_decoder_only) ;;
    *adaptation*) words+=(--to tdo_transformer) ;;
    *) words+=(--to tdo_transformer --adaptation-dim 0) ;;
  esac
  mapfile -t -O ${#words[@]} words < <(original_words "${1%%/*}")
  tdo convert "${words[@]}" --out "$(converted "$1")" --force
}

# original_words SETTING: the original, and how it is read, a word a line.
original_words() {
  local family=m2m100 languages=$TED19_M2M
  if [[ $1 == nllb-* ]]; then family=nllb languages=$TED19_NLLB; fi
  printf '%s\n' --from "$family"
  if ((${#small[@]})); then
    printf '%s\n' "$run/$1/original/checkpoints/checkpoint_last.pt" \
      --dict "$run/$1/original-data/dict.txt" --spm "$run/$1/original-data/spm.model"
  else
    printf '%s\n' "$originals/$1" --languages "$languages"
  fi
}

# key_of_conversion SYSTEM: tells apart what it begins with.
key_of_conversion() { echo "$(key_of_original "${1%%/*}")$(encoder_of "$1")"; }

# key_of_original SETTING: tells originals apart.
key_of_original() {
  if ((${#small[@]})); then
    cat "$run/$1/original/trained" 2>/dev/null || echo "not trained"
  else
    echo "$originals/$1"
  fi
}

# any_converted SETTING: one of its folders; their segmentation and dictionary are the same.
any_converted() {
  local one
  for one in "${rows[@]}"; do
    if [[ $one == "$1"/* ]]; then
      converted "$one"
      return
    fi
  done
}

# between_trainings: conversions, and the text in the original's pieces.
between_trainings() {
  local corpus
  for corpus in $(corpora); do
    [[ $corpus == m2m-* ]] || continue
    convert_rows "$corpus"
    once "$run/$corpus/cut" "$(key_of_original "$corpus")" tuning_data "$corpus"
  done
}

# tuning_data CORPUS: the data folder that conversions are trained on.
tuning_data() {
  local -a variant=()
  if [[ $kind == multi30k ]]; then
    if [[ $form == disjoint ]]; then variant=(--variant disjoint); fi
    tdo prepare multi30k --out "$run/$1/data" --model-of "$(any_converted "$1")" \
      ${variant[@]+"${variant[@]}"} ${from[@]+"${from[@]}"} --fresh
  else
    tdo preprocess "$run/$1/text" "$run/$1/data" --model-of "$(any_converted "$1")" --workers 2 --fresh
  fi
}

# original_text CORPUS OPTION...: all pairs of the languages, not only those with English; the same test
# sentences are left out.
original_text() {
  local center languages folder
  step mkdir -p "$run/$1/original-text"
  for center in en:en,de,es,fr de:de,es,fr es:es,fr; do
    languages=${center#*:} center=${center%%:*} folder=$run/$1/text-$center
    tdo corpus --out "$folder" --center "$center" --languages "$languages" "${@:2}" --seed 1 --force
    step cp "$folder"/*.*-*.* "$run/$1/original-text/"
  done
}
