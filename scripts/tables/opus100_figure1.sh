#!/usr/bin/env bash
# Figure 1 of Zhang et al. (2020), OPUS-100: what ROBT does to one many-to-many model. Zero-shot BLEU
# over its updates, and all directions before and after.
#
#   scripts/tables/opus100_figure1.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/opus100.sh"

BASELINE="6 layers"
row many-to-many/6-layers "6 layers"
row many-to-many/6-layers-robt "6 layers, ROBT"
make_table figure1 all "$@"
