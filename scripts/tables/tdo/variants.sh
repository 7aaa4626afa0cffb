# Variants of systems: what is behind the @ of a row's name. Sourced by tdo.sh.
# shellcheck shell=bash

# variant_flags SYSTEM: its flags behind those of its config and of the scale, a word a line.
variant_flags() {
  local variant
  variant=$(plain_of "$1")
  [[ $variant == *@* ]] || return 0
  variant=${variant#*@}
  case $variant in
    m-*-of-*) printf '%s\n' --tdo-target-layer "$(layer_of "$1")" ;;
    instrucl-*) instrucl_flags "$(layer_of "$1")" ;;
    # with the parameters of two adaptation modules, or some more, elsewhere
    d-544) printf '%s\n' --tdo-model-dim "$(grown "$1" "$(dim_of "$1")" 32 512)" ;;
    ffn-2432) printf '%s\n' --tdo-ffn-dim "$(grown "$1" "$(ffn_of "$1")" 384 2048)" ;;
    stage-2-ffn-2816) printf '%s\n' --tdo-stage2-ffn-dim "$(grown "$1" "$(ffn_of "$1")" 768 2048)" ;;
    stage-1-ffn-2816) printf '%s\n' --tdo-stage1-ffn-dim "$(grown "$1" "$(ffn_of "$1")" 768 2048)" ;;
    strategy-*) strategy_flags "${variant#strategy-}" ;;
    *) die "no variant is called $variant" ;;
  esac
}

# layer_of SYSTEM: the layer that its name stands for: N, the last one of an encoder and of a first stage, 1.5N,
# where a config has InstruCL, or a share of all 2N.
layer_of() {
  local share half layer
  share=$(plain_of "$1")
  half=$(half_of "$1")
  case $share in
    *-of-*)
      share=${share#*@*-}
      layer=$((2 * half * ${share%-of-*} / ${share#*-of-}))
      echo $((layer > 0 ? layer : 1))
      ;;
    *@instrucl-1.5n | *-instrucl) echo $(((3 * half + 1) / 2)) ;;
    *) echo "$half" ;;
  esac
}

# instrucl_flags LAYER: the paper's form at a layer, for systems that have none.
instrucl_flags() {
  shared_flags instrucl
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
    of_small --tdo-model-dim
  else
    config_flags "$(config_of "$CONFIGS" "$1")" | sed -n 's/^--tdo-model-dim //p'
  fi
}

# grown SYSTEM SIZE MORE OF: a size and MORE / OF of it where N = 6; twice that share where N = 3, since adaptation
# modules are two in any depth.
grown() { echo $(($2 + $2 * $3 * 6 / ($4 * $(half_of "$1")) / 4 * 4)); }
