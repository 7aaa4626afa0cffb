#!/usr/bin/env bash
# Figure 4 of Qu et al. (TDO): by layer whether source representations are closer to the target or the
# source language, in prefix decoder-only and two-stage models, with adaptation modules and InstruCL; TED-19.
#
#   scripts/figures/tdo_figure4.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tdo figure4 "$@"
