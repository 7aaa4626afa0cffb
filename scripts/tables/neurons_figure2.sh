#!/usr/bin/env bash
# Figure 2 of Xie et al. (2021), neuron allocation: importance of neurons by Taylor expansion in the
# feed-forward networks of the last layers, for three pairs, one-to-many and many-to-many. Only the
# multilingual models are trained; nothing is translated.
#
#   scripts/tables/neurons_figure2.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" neurons figure2 "$@"
