#!/usr/bin/env bash
# Table 6 of Gao et al. (2022), TLM: an encoder-decoder, and TLMs with 5, 10, 15 and 20 layers and thus
# different numbers of parameters; BLEU and TER, German to English only, as in the paper.
#
#   scripts/tables/tlm_table6.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tlm table6 "$@"
