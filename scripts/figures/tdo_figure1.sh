#!/usr/bin/env bash
# Figure 1 of Qu et al. (TDO): encoder-decoder, causal and prefix decoder-only models on TED-19: BLEU, and
# by layer whether source representations are closer to the target or the source language.
#
#   scripts/figures/tdo_figure1.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tdo figure1 "$@"
