# Options that only the scripts of the TDO paper have. Sourced by tdo.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

VALUED+=(--form --size --losses --originals --encoder)
form=shared sizes=small losses="" originals="" encoder=""

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
    --losses)
      [[ $2 == paper || $2 == authors || $2 == recipe ]] ||
        die "\`--losses\` must be paper, authors or recipe; it is $2"
      losses=$2
      ;;
    --encoder)
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
  [[ -z $losses ]] || check_losses
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
  local one said found=""
  for one in "${rows[@]}"; do
    is_tuned "$one" && [[ $one == */encoder-decoder* ]] || continue
    found=1
    said=$(judge_encoder "$(half_of "$one")" 2>&1) || die "$said ($one)"
  done
  [[ -n $found ]] || die "\`--encoder\` must come with encoder-decoders that are pre-trained; there are none"
}

# judge_encoder N: what `tdo convert` will say of `encoder` for an original with 2N layers a side.
judge_encoder() {
  "$VENV/bin/python" - "$encoder" "$1" <<'END'
import sys
from tdo_plugin.errors import UserError
from tdo_plugin.pretrained.design import ENCODER_DECODER, Design
from tdo_plugin.pretrained.original import Sizes
from tdo_plugin.pretrained.parameter_origins import Layers

layers, half = sys.argv[1], int(sys.argv[2])
try:
    stacks = {"encoder_layers": Layers.parse(layers, "--encoder")}
    design = Design(ENCODER_DECODER, half, None, None, stacks, ("en", "de"), 1)
    design.layers(Sizes(2 * half, 2 * half, *[1] * 5))
except UserError as error:
    sys.exit(str(error))
END
}

# losses_flags SYSTEM: the losses that it is trained by, where they are not the paper's, a word a line.
losses_flags() {
  local file
  file=$(losses_file "$(plain_of "$1")" "$(losses_of "$1")")
  [[ -n $file ]] || return 0
  shared_flags "$file"
  # 2.5 times the warm-up, as at the scale multi30k
  if [[ $scale == full && $file != instrucl* ]]; then printf '%s\n' --lexical-updates 10000; fi
}

# losses_of SYSTEM: which they are; at full its name says so.
losses_of() {
  case ${1%-seed-*} in
    *-authors) echo authors ;;
    *-recipe) echo recipe ;;
    *) if [[ $scale == full ]]; then echo paper; else echo "${losses:-recipe}"; fi ;;
  esac
}

# What the name of a row says of its losses where there are several.
declare -A LOSSES_NAMES=([paper]=", paper's form" [authors]=", authors' form" [recipe]=", recipe")

# expand_rows: at full a row is trained by the paper's losses and, where the authors' are others, by these too, or by
# those that were asked for; its name says by which, so that none takes another's folder.
expand_rows() {
  local index form_of_losses suffix label
  local -a plain=("${rows[@]}") plain_names=("${names[@]}")
  local -A seen=()
  [[ $scale == full ]] || return 0
  rows=() names=()
  for index in "${!plain[@]}"; do
    for form_of_losses in ${losses:-paper authors}; do
      suffix="" label=""
      if [[ -n $(losses_file "${plain[index]}" "$form_of_losses") ]]; then
        suffix=-$form_of_losses label=${LOSSES_NAMES[$form_of_losses]}
      elif [[ ${plain[index]} == *instrucl* ]]; then
        label=${LOSSES_NAMES[paper]}
      fi
      if [[ -z ${seen[${plain[index]}$suffix]:-} ]]; then row "${plain[index]}$suffix" "${plain_names[index]}$label"; fi
      seen[${plain[index]}$suffix]=1
    done
  done
}

# losses_file SYSTEM LOSSES: the file of configs/shared that makes the difference, if one does.
losses_file() {
  local parts=""
  if [[ $1 == *instrucl* ]]; then parts+="+instrucl"; fi
  # pre-trained models read their source from the start
  if [[ $1 == */tdo-* ]] && ! is_tuned "$1"; then parts+="+start"; fi
  case $2$parts in
    authors+instrucl*) echo instrucl-authors ;;
    recipe+instrucl+start) echo recipe ;;
    recipe+instrucl) echo instrucl-recipe ;;
    recipe+start) echo start-recipe ;;
  esac
}

# check_losses: die if they are those of all rows anyway. By default full takes the paper's losses and the authors', the
# smaller scales the recipe's.
check_losses() {
  local system other=$losses
  if [[ $losses == paper ]]; then
    if [[ $scale == full ]]; then other=authors; else other=recipe; fi
  fi
  for system in "${rows[@]}"; do
    [[ -z $(losses_file "$(plain_of "$system")" "$other") ]] || return 0
  done
  if [[ $other == authors ]]; then
    die "\`--losses $losses\` must come with rows that have InstruCL; there are none"
  fi
  die "\`--losses\` must come with rows that have InstruCL, or two stages from scratch; there are none"
}
