#!/usr/bin/env bash
# Table 7 of Zhang et al. (2020), OPUS-100: ROBT over all languages, and between those of the zero-shot
# test sets only ("6-to-6" in the authors' results); BLEU over zero-shot directions.
#
#   scripts/tables/opus100_table7.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/opus100.sh"

model=many-to-many/6-layers-matt-laln-lalt
row $model-robt "6 layers, MATT, LALN, LALT, ROBT over all languages"
row $model-robt-6 "6 layers, MATT, LALN, LALT, ROBT over 6 languages"
make_table table7 zero-shot "$@"
