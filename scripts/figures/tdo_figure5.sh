#!/usr/bin/env bash
# Figure 5 of Qu et al. (TDO): supervised and zero-shot scores over M, the layer at which the target enters,
# relative to the prefix decoder-only model (M = 0), on TED-19 and OPUS-100. The paper's text does not list the
# values of M: on TED-19 they are those of the authors' released presets, 0, 1, 3, 5, 6, 7, 9 and 11 of 12 layers.
# On OPUS-100 (24 layers) the release has 0 and 12, and the text names M = 3; the other multiples of 3 are ours.
#
#   scripts/figures/tdo_figure5.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tdo figure5 "$@"
