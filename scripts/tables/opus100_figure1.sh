#!/usr/bin/env bash
# Figure 1 of Zhang et al. (2020), OPUS-100: the effect of ROBT on one many-to-many model: zero-shot
# BLEU over updates, and BLEU of all directions before and after.
#
#   scripts/tables/opus100_figure1.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" opus100 figure1 "$@"
