#!/usr/bin/env bash
# Table 8 of Gao et al. (2022), TLM: an encoder-decoder and a TLM for three languages in all six directions;
# perplexity on the validation sets and BLEU.
#
#   scripts/tables/tlm_table8.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tlm.sh"

row multi/encoder-decoder "encoder-decoder"
row multi/encoder-only "encoder-only"
make_table table8 supervised "$@"
