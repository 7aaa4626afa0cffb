#!/usr/bin/env bash
# Figure 6 of Qu et al. (TDO): supervised and zero-shot scores over the layer of InstruCL, for prefix
# decoder-only and two-stage models, relative to the same model without InstruCL, on TED-19. The paper does not
# list the layers: here they are the sixths of the depth, and 1.5N, the paper's choice.
#
#   scripts/figures/tdo_figure6.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tdo figure6 "$@"
