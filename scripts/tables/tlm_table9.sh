#!/usr/bin/env bash
# Table 9 of Gao et al. (2022), TLM: all 32 cells of the grid and an encoder-decoder,
# with BLEU and TER. German to English, and at full English to Romanian. Tables are
# below RUN/CORPUS/grid. --rows names cells, such as LM-full-BERT-1 (tdo grid list has them). The paper gives neither
# tau nor the second slope of its schedules; a fifth of all updates, and an end at 0, are ours.
#
#   scripts/tables/tlm_table9.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tlm/grid.sh"

grid_tables "" "$@"
