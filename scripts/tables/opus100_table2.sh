#!/usr/bin/env bash
# Table 2 of Zhang et al. (2020), OPUS-100: from English by one-to-many models, BLEU over all
# directions and over four of them, win ratio against the 6-layer model.
#
#   scripts/tables/opus100_table2.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/opus100.sh"

row bilingual "bilingual"
row bilingual-deeper "bilingual, deeper"
row one-to-many/6-layers "6 layers"
row one-to-many/6-layers-matt "6 layers, MATT"
row one-to-many/6-layers-matt-laln "6 layers, MATT, LALN"
row one-to-many/6-layers-matt-lalt "6 layers, MATT, LALT"
row one-to-many/6-layers-matt-laln-lalt "6 layers, MATT, LALN, LALT"
row one-to-many/12-layers-matt "deeper, MATT"
row one-to-many/12-layers-matt-laln-lalt "deeper, MATT, LALN, LALT"
row one-to-many/24-layers-matt-laln-lalt "24 layers, MATT, LALN, LALT"
make_table table2 "en-*" "$@"
