#!/usr/bin/env bash
# Figure 7 of Qu et al. (TDO): five translation instructions (appendix B) in encoder-decoder, causal and
# prefix decoder-only models on TED-19; mean BLEU of supervised and of zero-shot directions.
#
#   scripts/figures/tdo_figure7.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tdo figure7 "$@"
