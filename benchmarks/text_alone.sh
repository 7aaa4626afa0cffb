#!/usr/bin/env bash
# Why text alone costs so much in short trainings of table 7 of Gao et al. (2022), TLM: its rows
# "encoder-only" and "+ LM", and variants of them that differ in one thing.
#
#   benchmarks/text_alone.sh [toy|multi30k] [OPTIONS]
#
# @pairs      as many updates on pairs: encoder-only with 0.78 of the updates, "+ LM" with 1.28
#             times as many
# @mixed      four batches of a fourth of the tokens in each update: 22 % of the batches are of text
#             alone, so that with LM 1 - 0.78^4 - 0.22^4 = 63 % of the updates have both kinds,
#             where else each has the one or the other
# @few        a twentieth of the sentences is text alone
# @layout     f </s> <t> e </t>, and <t> e </t> for text alone: the tag in place of the target's
#             begin
# @unrebuilt  no source reconstruction and no noise
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/tables/tlm.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/tables/tlm/auxiliary_data.sh"

unset -f scale_full # short trainings are what is explained

variant_flags() {
  case $1 in
    *encoder-only@pairs) printf '%s\n' --max-update $((updates * 78 / 100)) ;;
    *-lm@pairs) printf '%s\n' --max-update $((updates * 128 / 100)) ;;
    *@mixed)
      printf '%s\n' --max-tokens $(($(flag_of_scale "$scale" --max-tokens) / 4)) --update-freq 4
      ;;
    *@few) printf '%s\n' --monolingual-share 0.05 ;;
    *@layout) printf '%s\n' --langtoks '{"main": (None, "tgt")}' --lang-tok-replacing-bos-eos ;;
    *@unrebuilt)
      printf '%s\n' --reconstruction-task lm --reconstruction-weight 0 --source-noise none
      ;;
  esac
}

row mono/encoder-only "encoder-only"
row mono/encoder-only-lm "encoder-only + LM"
row mono/encoder-only@pairs "encoder-only, as many updates on pairs as with LM"
row mono/encoder-only-lm@pairs "encoder-only + LM, as many updates on pairs as without"
row mono/encoder-only@mixed "encoder-only, small batches"
row mono/encoder-only-lm@mixed "encoder-only + LM, small batches"
row mono/encoder-only-lm@few "encoder-only + LM, a twentieth of the sentences"
row mono/encoder-only@layout "encoder-only, tag in place of the target's begin"
row mono/encoder-only-lm@layout "encoder-only + LM, tag in place of the target's begin"
row mono/encoder-only@unrebuilt "encoder-only, no reconstruction"
row mono/encoder-only-lm@unrebuilt "encoder-only + LM, no reconstruction"
make_table text-alone "*-en" "$@"
