#!/usr/bin/env bash
# Table 8 of Gao et al. (2022), TLM: an encoder-decoder and a TLM for three languages in all six directions;
# validation perplexity and BLEU.
#
#   scripts/tables/tlm_table8.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tlm table8 "$@"
