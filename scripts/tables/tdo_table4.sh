#!/usr/bin/env bash
# Table 4 of Qu et al. (TDO): adaptation modules compared with as many parameters elsewhere: a wider
# model, or larger feed-forward networks in one or both stages; BLEU, means over directions.
#
#   scripts/tables/tdo_table4.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tdo table4 "$@"
