# Options that only the scripts of the TDO paper have. Sourced by tdo.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

VALUED+=(--form --size --instrucl --originals --encoder)
SOME_LAYERS='[1-9][0-9]?(-[1-9][0-9]?)?'
form=shared sizes=small instrucl=paper originals="" encoder=""

# own_value OPTION VALUE: see `take_value`.
own_value() {
  case $1 in
    --form)
      [[ $2 == shared || $2 == disjoint ]] || die "\`--form\` must be shared or disjoint; it is $2"
      form=$2
      ;;
    --size)
      [[ $2 == small || $2 == paper ]] || die "\`--size\` must be small or paper; it is $2"
      sizes=$2
      ;;
    --instrucl)
      [[ $2 == paper || $2 == authors ]] || die "\`--instrucl\` must be paper or authors; it is $2"
      instrucl=$2
      ;;
    --encoder)
      [[ $2 =~ ^(encoder|decoder)(:$SOME_LAYERS(,$SOME_LAYERS)*)?$ ]] ||
        die "\`--encoder\` must be encoder or decoder, or layers of either such as decoder:1-6,8; it is $2"
      encoder=${2#encoder}
      encoder=${encoder:+$2} # its first layers are the default
      ;;
    --originals)
      [[ -d $2 ]] || die "\`--originals\` must be a folder with pre-trained models; $2 is not one"
      originals=$(realpath "$2")
      ;;
  esac
}

# check_own_options: die if an option was given that changes nothing at this scale or of these rows.
check_own_options() {
  [[ $form == shared && $sizes == small || $scale == multi30k ]] ||
    die "\`--form\` and \`--size\` must come with the scale multi30k; it is $scale"
  [[ -z $originals || $scale == full ]] || die "\`--originals\` must come with the scale full; it is $scale"
  [[ -z $originals ]] || is_row "m2m-*/*" || is_row "nllb-*/*" ||
    die "\`--originals\` must come with rows of pre-trained models; there are none"
  [[ $instrucl == paper ]] || is_row "*instrucl*" ||
    die "\`--instrucl\` must come with rows that have InstruCL; there are none"
  [[ -z $encoder ]] || check_encoder
}

# is_row PATTERN: whether there is such a row.
is_row() {
  local one
  for one in "${rows[@]}"; do
    # shellcheck disable=SC2053
    if [[ $one == $1 ]]; then return; fi
  done
  return 1
}

# check_encoder: die unless `encoder` suits each encoder that it is for, before others are trained.
check_encoder() {
  local one part count=0 most=0 found=""
  local -a parts
  IFS=, read -ra parts <<<"${encoder#*coder}"
  for part in ${parts[@]+"${parts[@]#:}"}; do
    ((${part%-*} <= ${part#*-})) || die "\`--encoder\` must name layers upward; it is $encoder"
    count=$((count + 1 + ${part#*-} - ${part%-*}))
    most=$((${part#*-} > most ? ${part#*-} : most))
  done
  for one in "${rows[@]}"; do
    is_tuned "$one" && [[ $one == */encoder-decoder* ]] || continue
    found=1
    [[ $encoder != *:* || $count == "$(half_of "$one")" ]] ||
      die "\`--encoder\` must name $(half_of "$one") layers for $one, or none; it names $count"
    ((most <= 2 * $(half_of "$one"))) ||
      die "\`--encoder\` must name layers up to $((2 * $(half_of "$one"))) for $one; it is $encoder"
  done
  [[ -n $found ]] || die "\`--encoder\` must come with encoder-decoders that are pre-trained; there are none"
}

# form_flags SYSTEM: the authors' form of InstruCL, where it is asked for and the system has InstruCL.
form_flags() {
  if [[ $instrucl == authors && $1 == *instrucl* ]]; then
    printf '%s\n' --instrucl-weighting tag-share --instrucl-scale per-token
  fi
}
