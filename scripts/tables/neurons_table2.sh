#!/usr/bin/env bash
# Table 2 of Xie et al. (2021), neuron allocation: one-to-many translation, BLEU of each direction: the
# rows of table 1, and masks by Taylor expansion of a model with a feed-forward width of 3,000.
#
#   scripts/tables/neurons_table2.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" neurons table2 "$@"
