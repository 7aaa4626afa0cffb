#!/usr/bin/env bash
# Table 4 of Zhang et al. (2020), OPUS-100: many-to-many models, into English, without and with ROBT;
# mean BLEU over all directions and over four of them, win ratio against the 6-layer model.
#
#   scripts/tables/opus100_table4.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" opus100 table4 "$@"
