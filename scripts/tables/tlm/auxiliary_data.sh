# Text of the target language for table 7 of the TLM paper, and what is made of it. Sourced by its script.
# shellcheck shell=bash

REVERSE=mono/reverse # translates that text back

# prepare_data: the pairs, then what is trained on beside them.
prepare_data() {
  local folder=$run/mono pair=${direction[mono]}
  local -a how
  once "$folder/prepared" "$(declare -f "data_$kind" "text_$kind" | cksum)" pairs_and_text
  if [[ " ${rows[*]} " == *-lm[\ @]* ]]; then
    tdo monolingual "$folder/data" --text "${pair#*-}=$folder/alone" --out "$folder/lone"
  fi
  if [[ " ${rows[*]} " == *-back-translation\ * ]]; then
    train_reverse
    read -ra how <<<"$(search_options) $(decoding_machine "$jobs")"
    tdo backtranslate "$folder/data" --path "$(checkpoint_of "$run/$REVERSE")" \
      --text "${pair#*-}=$folder/alone" --into "${pair%-*}" --out "$folder/synthetic" "${how[@]}"
  fi
}

pairs_and_text() {
  "data_$kind" mono
  "text_$kind"
}

# train_reverse: the model of the other direction, as a row is trained.
train_reverse() {
  local -a own
  if [[ -n $dry ]]; then
    mapfile -t own < <(own_flags "$REVERSE")
    tdo train "$(config_of "$CONFIGS" "$REVERSE")" "$run/mono/data" \
      --save-dir "$run/$REVERSE/checkpoints" "${FLAGS[@]}" "${own[@]}"
    return
  fi
  train_systems "$run" "$run/data" "$CONFIGS" 1 "$threads" "$REVERSE" -- "${FLAGS[@]}"
  ready "$REVERSE"
}

config_of() {
  local system=${2%@*}
  echo "$1/${system/%reverse/encoder-decoder}.conf"
}

variant_flags() { :; } # SYSTEM: flags for what is behind the @ of its name, a word a line

own_flags() {
  local pair=${direction[mono]}
  if [[ $1 == "$REVERSE" ]]; then pair=${pair#*-}-${pair%-*}; fi
  printf '%s\n' --lang-pairs "$pair"
  case ${1%@*} in
    *-lm) printf '%s\n' --monolingual "$run/mono/lone" ;;
    *-back-translation) printf '%s\n' --back-translated "$run/mono/synthetic" ;;
  esac
  if ((${#small[@]})); then
    small_flags "${1/%reverse/encoder-decoder}"
  fi
  variant_flags "$1"
}

also_made() { echo mono/{data,text,more,multi30k,prepared,alone,lone,synthetic,reverse}; }

# search_options: of `tdo backtranslate`; a model of two updates stops nowhere.
search_options() {
  if [[ -n $smoke ]]; then
    echo --beam 1 --max-len-a 1 --max-len-b 1
  else
    echo --beam 4
  fi
}

# text_SCALE: lines of the target language that no pair has, in RUN/mono/alone.
text_toy() { alone_of --train 10000 --valid 100 --test 200; }

text_smoke() { alone_of --train 60 --valid 10 --test 10; }

text_multi30k() {
  local text=$run/mono/multi30k/work/text
  step cp "$text/train.en-fr.en" "$run/mono/alone"
}

text_full() { step cp "$run/mono/data/mono/mono.en" "$run/mono/alone"; }

# alone_of OPTION...: the embedded corpus with other meanings.
alone_of() {
  local more=$run/mono/more
  tdo corpus --out "$more" --languages en,fr "$@" --seed 3 --force
  step cp "$more/train.en-fr.en" "$run/mono/alone"
}
