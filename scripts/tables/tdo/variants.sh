# Variants of systems: what is behind the @ of a row's name. Sourced by tdo.sh.
# shellcheck shell=bash

# variant_flags SYSTEM: its flags behind those of its config and of the scale, a word a line.
variant_flags() {
  local variant=${1%-seed-*} ffn
  [[ $variant == *@* ]] || return 0
  variant=${variant#*@}
  ffn=$(ffn_of "$1")
  case $variant in
    m-*-of-*) printf '%s\n' --tdo-target-layer "$(layer_of "$1")" ;;
    instrucl-*-of-*) instrucl_flags "$(layer_of "$1")" ;;
    # N, which is the last layer of an encoder, and 1.5N
    instrucl-n) instrucl_flags "$(half_of "$1")" ;;
    instrucl-1.5n) instrucl_flags $((($(half_of "$1") * 3 + 1) / 2)) ;;
    # as many parameters as two adaptation modules have, or some more: a share of the paper's numbers
    d-544) printf '%s\n' --tdo-model-dim "$(share_of "$(dim_of "$1")" 544 512 8)" ;;
    ffn-2432) printf '%s\n' --tdo-ffn-dim $((ffn * 2432 / 2048)) ;;
    stage-2-ffn-2816) printf '%s\n' --tdo-stage2-ffn-dim $((ffn * 2816 / 2048)) ;;
    stage-1-ffn-2816) printf '%s\n' --tdo-stage1-ffn-dim $((ffn * 2816 / 2048)) ;;
    strategy-*) strategy_flags "${variant#strategy-}" ;;
    *) die "no variant is called $variant" ;;
  esac
}

# layer_of SYSTEM: the layer of a variant that is called by its share of all layers.
layer_of() {
  local share=${1%-seed-*}
  share=${share#*@*-}
  echo $((2 * $(half_of "$1") * ${share%-of-*} / ${share#*-of-}))
}

# instrucl_flags LAYER: the paper's form at a layer, for systems that have none.
instrucl_flags() {
  config_flags "$ROOT/configs/shared/instrucl.conf" | xargs printf '%s\n'
  printf '%s\n' --instrucl-layer "$1"
}

# strategy_flags K: appendix B's; the first is that of all configs.
strategy_flags() {
  case $1 in
    2) printf '%s\n' --langtoks '{"main": (None, "tgt")}' ;;
    3) printf '%s\n' --langtoks '{"main": (None, "tgt")}' --lang-tok-replacing-bos-eos ;;
    4) printf '%s\n' --decoder-langtok ;;
    5) printf '%s\n' --encoder-langtok src --decoder-langtok ;;
  esac
}

# dim_of SYSTEM: d.
dim_of() {
  if ((${#small[@]})); then
    flag_of_scale "$scale" --tdo-model-dim
  else
    config_flags "$(config_of "$CONFIGS" "$1")" | sed -n 's/^--tdo-model-dim //p'
  fi
}

# share_of N A B STEP: N * A / B, a multiple of STEP.
share_of() { echo $(($1 * $2 / $3 / $4 * $4)); }
