#!/usr/bin/env bash
# Table 3 of Xie et al. (2021), neuron allocation: many-to-many translation with different proportions
# of general neurons.
#
#   scripts/tables/neurons_table3.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" neurons table3 "$@"
