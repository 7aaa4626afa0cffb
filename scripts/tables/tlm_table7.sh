#!/usr/bin/env bash
# Table 7 of Gao et al. (2022), TLM: an encoder-decoder and a TLM with and without text of the target
# language: on its own (LM), and translated back by an encoder-decoder of the other direction; perplexity on
# the validation set, BLEU and TER, Chinese to English (German to English at the small scales).
#
#   scripts/tables/tlm_table7.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tlm.sh"
source "$(dirname "${BASH_SOURCE[0]}")/tlm/auxiliary_data.sh"

row mono/encoder-decoder "encoder-decoder"
row mono/encoder-decoder-back-translation "encoder-decoder + back-translation"
row mono/encoder-only "encoder-only"
row mono/encoder-only-lm "encoder-only + LM"
row mono/encoder-only-back-translation "encoder-only + back-translation"
make_table table7 "*-en" "$@"
