#!/usr/bin/env bash
# Figure 4 of Qu et al. (TDO): by layer whether the sources of a prefix decoder-only model and of two-stage
# models, with adaptation modules and InstruCL, look like the target language or like their own; TED-19.
#
#   scripts/figures/tdo_figure4.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tdo figure4 "$@"
