#!/usr/bin/env bash
# Figure 3 of Xie et al. (2021), neuron allocation: where the neurons of each pair are, by layer
# (LScore) and by module (MScore), and how alike pairs are in them, one-to-many and many-to-many. The
# plain models are trained and measured, and nothing is translated.
#
#   scripts/tables/neurons_figure3.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" neurons figure3 "$@"
