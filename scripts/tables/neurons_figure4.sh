#!/usr/bin/env bash
# Figure 4 of Xie et al. (2021), neuron allocation: gain in mean BLEU over the multilingual model for
# several thresholds k, with both importance measures, many-to-many.
#
#   scripts/tables/neurons_figure4.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" neurons figure4 "$@"
