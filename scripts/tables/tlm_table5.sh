#!/usr/bin/env bash
# Table 5 of Gao et al. (2022), TLM: four schedules of lambda; of each the best cell of table 9, whose
# trainings these are, with BLEU and TER. German to English, and at full English to Romanian. Tables are
# below RUN/CORPUS/grid. --rows names cells, such as LM-full-BERT-1 (tdo grid list has them). The paper gives neither
# tau nor the second slope; a fifth of all updates, and an end at 0, are ours.
#
#   scripts/tables/tlm_table5.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tlm/grid.sh"

grid_tables "schedule" "$@"
