#!/usr/bin/env bash
# Table 3 of Gao et al. (2022), TLM: triangular and full source attention; BLEU and TER of the best cell of
# table 9 for each (the runs are shared with table 9). German to English, and at full English to Romanian.
# --rows selects cells by patterns, such as "*task=LM+mask=full*".
#
#   scripts/tables/tlm_table3.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tlm table3 "$@"
