#!/usr/bin/env bash
# Table 9 of Gao et al. (2022), TLM: all 32 cells of the grid and an encoder-decoder, BLEU and TER.
# German to English, and at full English to Romanian.
# --rows selects cells by patterns, such as "*task=LM+mask=full*".
#
#   scripts/tables/tlm_table9.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tlm table9 "$@"
