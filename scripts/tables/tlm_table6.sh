#!/usr/bin/env bash
# Table 6 of Gao et al. (2022), TLM: an encoder-decoder, and TLMs with 5, 10, 15 and 20 layers, which differ
# in their parameters; BLEU and TER, German to English alone, as in the paper.
#
#   scripts/tables/tlm_table6.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tlm.sh"

row de-en/encoder-decoder "encoder-decoder, 6-6 layers"
for layers in 5 10 15 20; do
  row "de-en/$layers-layers" "encoder-only, $layers layers"
done
make_table table6 de-en "$@"
