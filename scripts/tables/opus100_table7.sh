#!/usr/bin/env bash
# Table 7 of Zhang et al. (2020), OPUS-100: ROBT between all languages, and only between the languages
# of the zero-shot test sets ("6-to-6" in the authors' results); mean BLEU over zero-shot directions.
#
#   scripts/tables/opus100_table7.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" opus100 table7 "$@"
