#!/usr/bin/env bash
# Figure 6 of Qu et al. (TDO): supervised and zero-shot scores over the layer of InstruCL, of prefix
# decoder-only and two-stage models, each against itself without InstruCL, on TED-19. The text does not list
# the layers: they are sixths of all here, and 1.5N, the paper's own choice.
#
#   scripts/figures/tdo_figure6.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tdo figure6 "$@"
