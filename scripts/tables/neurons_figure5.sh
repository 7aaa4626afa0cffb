#!/usr/bin/env bash
# Figure 5 of Xie et al. (2021), neuron allocation: loss in BLEU when a random fifth of the general
# neurons, or half of the neurons of one pair, are ablated after training, many-to-many.
#
#   scripts/tables/neurons_figure5.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" neurons figure5 "$@"
