#!/usr/bin/env bash
# Table 7 of Gao et al. (2022), TLM: an encoder-decoder and a TLM, without and with monolingual text of the
# target language: by language modelling (LM), and back-translated by an encoder-decoder; validation
# perplexity, BLEU and TER, Chinese to English (German to English at the small scales).
#
#   scripts/tables/tlm_table7.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tlm table7 "$@"
