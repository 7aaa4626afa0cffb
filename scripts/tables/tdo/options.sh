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
  local file form_of_losses=${losses:-recipe}
  if [[ $scale == full ]]; then form_of_losses=${losses:-paper}; fi
  if [[ ${1%-seed-*} == *-authors ]]; then form_of_losses=authors; fi
  file=$(losses_file "$1" "$form_of_losses")
  [[ -n $file ]] || return 0
  shared_flags "$file"
  # 2.5 times the warm-up, as at the scale multi30k
  if [[ $scale == full && $file != instrucl* ]]; then printf '%s\n' --lexical-updates 10000; fi
}

# both_forms: each row with InstruCL in the paper's form and, behind it, in that of the authors' code, unless one
# was asked for.
both_forms() {
  local index
  local -a all=("${rows[@]}") called=("${names[@]}")
  [[ -z $losses ]] || return 0
  rows=() names=()
  for index in "${!all[@]}"; do
    if [[ ${all[index]} == *instrucl* ]]; then
      row "${all[index]}" "${called[index]}, paper's form"
      row "${all[index]}-authors" "${called[index]}, authors' form"
    else
      row "${all[index]}" "${called[index]}"
    fi
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

# check_losses: die if they are the same for all rows, whatever is asked for.
check_losses() {
  local system
  for system in "${rows[@]}"; do
    [[ -z $(losses_file "$system" "${losses/paper/recipe}") ]] || return 0
  done
  if [[ $losses == authors ]]; then
    die "\`--losses authors\` must come with rows that have InstruCL; there are none"
  fi
  die "\`--losses\` must come with rows that have InstruCL, or two stages from scratch; there are none"
}
