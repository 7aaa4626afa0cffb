#!/usr/bin/env bash
# Table 5 of Zhang et al. (2020), OPUS-100: many-to-many models by training size, High, Medium and
# Low: at full 44, 29 and 21 pairs, as the published figures have it. At toy one pair is of each;
# Multi30k has one size only.
#
#   scripts/tables/opus100_table5.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/opus100.sh"

row many-to-many/6-layers "6 layers"
row many-to-many/6-layers-matt "6 layers, MATT"
row many-to-many/6-layers-matt-laln-lalt "6 layers, MATT, LALN, LALT"
row many-to-many/12-layers-matt "12 layers, MATT"
row many-to-many/12-layers-matt-laln-lalt "12 layers, MATT, LALN, LALT"
row many-to-many/24-layers-matt-laln-lalt "24 layers, MATT, LALN, LALT"
make_table table5 "en-*,*-en" "$@"
