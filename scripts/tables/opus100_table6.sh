#!/usr/bin/env bash
# Table 6 of Zhang et al. (2020), OPUS-100: zero-shot directions by many-to-many models, without and
# with ROBT, and by bilingual models through English; BLEU, language accuracy, their correlation.
# Below RUN/table6 is figure 1, too: zero-shot BLEU over the updates of ROBT.
#
#   scripts/tables/opus100_table6.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/opus100.sh"

row pivot "pivot by bilingual models"
many_to_many
make_table table6 zero-shot "$@"
