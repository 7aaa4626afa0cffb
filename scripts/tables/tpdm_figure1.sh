#!/usr/bin/env bash
# Figures 1 and 2 of Chen et al. (2023), TPDM: zero-shot BLEU over updates, and how well a probe predicts
# the tokens' positions from the encoder, over updates and by token class; base models on MultiUN: plain,
# without positions, with a residual cut (RC) and with TPDM.
#
#   scripts/tables/tpdm_figure1.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tpdm figure1 "$@"
