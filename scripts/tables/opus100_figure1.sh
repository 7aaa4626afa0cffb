#!/usr/bin/env bash
# Figure 1 of Zhang et al. (2020), OPUS-100: what ROBT does to one many-to-many model. Zero-shot BLEU
# over its updates, and all directions before and after.
#
#   scripts/tables/opus100_figure1.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" opus100 figure1 "$@"
