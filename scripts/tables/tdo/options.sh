# Options that only the scripts of the TDO paper have. Sourced by tdo.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

VALUED+=(--form --size --instrucl --originals --encoder)
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
    --encoder) encoder=$2 ;;
    --originals)
      [[ -d $2 ]] || die "\`--originals\` must be a folder with pre-trained models; $2 is not one"
      originals=$(realpath "$2")
      ;;
  esac
}

# only_of_multi30k: die if an option was given that says something about Multi30k alone.
only_of_multi30k() {
  [[ $form == shared && $sizes == small ]] ||
    die "\`--form\` and \`--size\` must come with the scale multi30k; it is $scale"
}

# form_flags SYSTEM: the authors' form of InstruCL, where it is asked for and the system has InstruCL.
form_flags() {
  if [[ $instrucl == authors && $1 == *instrucl* ]]; then
    printf '%s\n' --instrucl-weighting tag-share --instrucl-scale per-token
  fi
}
