#!/usr/bin/env bash
# Table 6 of Zhang et al. (2020), OPUS-100: zero-shot directions by many-to-many models, without and
# with ROBT, and by bilingual models through English; BLEU, language accuracy, their correlation.
# Below RUN/table6 is figure 1, too: zero-shot BLEU over the updates of ROBT.
#
#   scripts/tables/opus100_table6.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" opus100 table6 "$@"
