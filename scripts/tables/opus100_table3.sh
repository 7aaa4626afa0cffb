#!/usr/bin/env bash
# Table 3 of Zhang et al. (2020), OPUS-100: from English by many-to-many models, without and with
# ROBT; BLEU over all directions and over four of them, win ratio against the 6-layer model.
#
#   scripts/tables/opus100_table3.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/opus100.sh"

row bilingual "bilingual"
many_to_many
make_table table3 "en-*" "$@"
