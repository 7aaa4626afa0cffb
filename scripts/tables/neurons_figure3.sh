#!/usr/bin/env bash
# Figure 3 of Xie et al. (2021), neuron allocation: distribution of each pair's neurons over layers
# (LScore) and modules (MScore), and the similarity of pairs in it, one-to-many and many-to-many. Only
# the multilingual models are trained; nothing is translated.
#
#   scripts/tables/neurons_figure3.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" neurons figure3 "$@"
