# Sourced by scripts/tables/tlm_table{6,7,8}.sh and, for tables 2 to 5 and 9, tlm/grid.sh; never run.
#
#   scripts/tables/tlm_NAME.sh [toy|multi30k|full] [--smoke] [--rows A,B,...] [--from DIR]
#                              [--updates N] [--jobs N] [--threads N] [--out RUN] [--fresh]
#                              [--dry-run]
#
#   toy         the embedded corpus: German to English with 10,000 training pairs for IWSLT 2014 and WMT
#               2019, German, Spanish and French for news-commentary; d = 96, 2 layers a side or 5 of one
#               stack for 6 and 15 (default)
#   multi30k    Multi30k, German to English for IWSLT 2014 and WMT 2019, and English with Czech, German
#               and French for news-commentary, six directions as there; d = 128, the same layers
#   full        IWSLT 2014 German to English, WMT 2019 Chinese to English, news-commentary v16 and the
#               paper's sizes on all GPUs of this machine or Slurm job; an estimate of the GPU hours
#               comes first
#   --smoke     two updates of every row on a tiny corpus, and no scores
#   --rows      some of the table's rows, as they stand in `tlm_NAME.sh`
#   --from      folder with the archives of Multi30k, or of the paper's corpora, instead of a download
#   --updates   of a row, a multiple of 250
#   --jobs      trainings at a time, and decodings on the CPU (default 2, or one a GPU; full: 1)
#   --threads   CPU threads of each training (default 1)
#   --out       where everything goes (default: runs/tlm-SCALE). Scripts with the same folder share
#               trainings: a system is trained once for all tables that it is in.
#   --fresh     begin again with the data and this table's systems; otherwise interrupted trainings
#               resume and whole results stay
#   --dry-run   only print the commands
#
# The checkpoint with the best perplexity on the validation set is tested.
set -euo pipefail
# shellcheck shell=bash
# shellcheck disable=SC2034
source "$(dirname "${BASH_SOURCE[0]}")/tables.sh"
source "$(dirname "${BASH_SOURCE[0]}")/corpora.sh"
source "$(dirname "${BASH_SOURCE[0]}")/tlm/scales.sh"

PAPER=tlm
OPTIONS=${BASH_SOURCE[0]}

# config_of CONFIGS SYSTEM: of IWSLT's rows they lie in CONFIGS itself.
config_of() { echo "$1/${2#de-en/}.conf"; }

own_flags() {
  local corpus=${1%%/*}
  if [[ -n ${direction[$corpus]:-} ]]; then
    printf '%s\n' --lang-pairs "${direction[$corpus]}"
  fi
  if ((${#small[@]})); then
    small_flags "$1"
  fi
}

# make_checkpoint FOLDER LAST: the checkpoint that validation chose is tested as it is.
make_checkpoint() {
  tdo average --inputs "$1/checkpoints" --best 1 --output "$(checkpoint_of "$1")" --force
}
