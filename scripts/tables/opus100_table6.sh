#!/usr/bin/env bash
# Table 6 of Zhang et al. (2020), OPUS-100: zero-shot directions with many-to-many models, without and
# with ROBT, and with bilingual models that pivot through English; BLEU, language accuracy, and their
# correlation. RUN/report/table6 also has figure 1: zero-shot BLEU over updates of ROBT.
#
#   scripts/tables/opus100_table6.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" opus100 table6 "$@"
