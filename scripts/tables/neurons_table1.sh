#!/usr/bin/env bash
# Table 1 of Xie et al. (2021), neuron allocation: many-to-many translation, BLEU of each direction:
# bilingual models, the multilingual model, target-specific attention, adapters, and masks by absolute
# value (AV) and Taylor expansion (TE); in addition, the multilingual model with further training.
#
#   scripts/tables/neurons_table1.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" neurons table1 "$@"
