#!/usr/bin/env bash
# Table 2 of Gao et al. (2022), TLM: language modelling and auto-encoding; of each the best cell of table 9, whose
# trainings these are, with BLEU and TER. German to English, and at full English to Romanian. Tables are
# below RUN/CORPUS/grid. --rows names cells, such as LM-full-BERT-1 (tdo grid list has them).
#
#   scripts/tables/tlm_table2.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tlm/grid.sh"

grid_tables "task" "$@"
