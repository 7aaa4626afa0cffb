#!/usr/bin/env bash
# Table 4 of Qu et al. (TDO): adaptation modules against as many parameters elsewhere, a wider model or
# larger feed-forward networks in both stages or in one; BLEU, means over directions.
#
#   scripts/tables/tdo_table4.sh [toy|multi30k|full] [OPTIONS]
#
# OPTIONS, and what the scales are:
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tdo.sh"

row ted19/tdo-prefix-adaptation "TED-19, N=6: TDO, adaptation, d=512, FFN 2048 and 2048"
row ted19/tdo-prefix@d-544 "TED-19, N=6: TDO, d=544, FFN 2048 and 2048"
row ted19/tdo-prefix@ffn-2432 "TED-19, N=6: TDO, d=512, FFN 2432 and 2432"
row ted19/tdo-prefix@stage-2-ffn-2816 "TED-19, N=6: TDO, d=512, FFN 2048 and 2816"
row ted19/tdo-prefix@stage-1-ffn-2816 "TED-19, N=6: TDO, d=512, FFN 2816 and 2048"
make_table table4 all "$@"
