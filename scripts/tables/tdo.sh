# Sourced by scripts/tables/tdo_table*.sh and scripts/figures/tdo_figure*.sh, never run.
#
#   scripts/.../tdo_NAME.sh [toy|multi30k|full] [--smoke] [--rows A,B,...] [--seeds N]
#                           [--form shared|disjoint] [--size small|paper]
#                           [--losses paper|authors|recipe] [--from DIR] [--originals DIR] [--encoder LAYERS]
#                           [--updates N] [--jobs N] [--threads N] [--out RUN] [--fresh] [--dry-run]
#
#   toy         the embedded corpus: English with German, Spanish and French in the place of TED-19, with
#               these, Japanese, Russian and Turkish in that of OPUS-100; N = 3 for the paper's 6 and 4 for
#               its 12, d = 96 and 160 (default)
#   multi30k    Multi30k in the place of either: English with German, French and Czech; N = 3 and 4, d = 128
#               and 192, pre-norm
#   full        TED-19, OPUS-100 and the paper's sizes on all GPUs of this machine or Slurm job; an
#               estimate of the GPU hours comes first
#   --smoke     two updates of every row on a tiny corpus; then translations of three tokens, the report and
#               the pictures of the first two rows
#   --rows      some of the rows, by their names below RUN or patterns such as "ted19/*"
#   --seeds     trainings of each system, which differ in their seed: the report has means and spreads
#               (default 1)
#   --form      of multi30k: all English sentences in all three pairs (shared, the default), or the training
#               set cut into three parts, one for each pair (disjoint); each needs a folder of its own
#   --size      of multi30k: the sizes above, for a CPU (small, the default), or the paper's own, N = 6 and 12,
#               d = 512 and 1024, for a GPU (paper); each needs a folder of its own
#   --losses    paper, InstruCL as the sum of equation 9; authors, InstruCL with the weights and the scale of their
#               code (full has each row with InstruCL in both forms by default, the latter as ROW-authors); recipe,
#               what small budgets need (the default of toy and multi30k, better there than either:
#               docs/results.md; at full as ROW-recipe; at the small scales each needs a folder of its own):
#               InstruCL in the authors' form with a sharp contrast, and for two-stage models that are trained from
#               scratch a first stage that begins as the identity and predicts the target's words at first
#               (configs/shared/recipe.conf)
#   --from      folder with the archives of Multi30k, or TED-19 and OPUS-100, instead of a download
#   --originals folder with m2m-418m, nllb-600m and m2m-1.2b in Hugging Face's format, for table 2 in full;
#               at the small scales an encoder-decoder of fairseq's own, trained on all directions, stands
#               for M2M-418M, the only one
#   --encoder   layers that the encoder of table 2's baseline takes, as `tdo convert --encoder` says: decoder
#               for the decoder's first N, or such as decoder:1-6 (the paper does not say; default: encoder)
#   --updates   of a row, a multiple of 250
#   --jobs      trainings at a time, and decodings on the CPU (default 2, or one a GPU; full: 1)
#   --threads   CPU threads of each training (default 1)
#   --out       where everything goes (default: runs/tdo-SCALE). Scripts with the same folder share
#               trainings: a system is trained once for all tables and figures that it is in.
#   --fresh     begin again with the data and this script's systems; otherwise interrupted trainings resume
#               and whole results stay
#   --dry-run   only print the commands
#
# Tested is what the paper tests: on TED-19 the average of the five best checkpoints by validation loss, on
# OPUS-100 the best one; at the small scales the last one. LID=FILE has fastText's lid.176 tell languages
# apart, instead of a classifier trained on the corpus; full takes lid.176, the paper's detector, wherever
# fasttext-langdetect or `tdo score --download` has left it, and says which one it takes.
set -euo pipefail
# shellcheck shell=bash
# shellcheck disable=SC2034
source "$(dirname "${BASH_SOURCE[0]}")/tables.sh"
source "$(dirname "${BASH_SOURCE[0]}")/corpora.sh"
source "$(dirname "${BASH_SOURCE[0]}")/seeds.sh"
source "$(dirname "${BASH_SOURCE[0]}")/tdo/options.sh"
source "$(dirname "${BASH_SOURCE[0]}")/tdo/scales.sh"
source "$(dirname "${BASH_SOURCE[0]}")/tdo/variants.sh"
source "$(dirname "${BASH_SOURCE[0]}")/tdo/originals.sh"

PAPER=tdo
OPTIONS=${BASH_SOURCE[0]}
BASELINE="*encoder-decoder"
SMOKE_ROWS=2

# A row is called SETTING/SYSTEM or SETTING/SYSTEM@VARIANT; the settings are those of the tables' blocks.
declare -A BLOCKS=(
  [ted19]="TED-19, N=6, d=512"
  [opus100-deep]="OPUS-100, N=12, d=512"
  [opus100-wide]="OPUS-100, N=6, d=1024"
  [m2m-418m]="M2M-418M"
  [nllb-600m]="NLLB-600M"
  [m2m-1.2b]="M2M-1.2B"
)

# block_row ROW NAME: a row of a table by its name in the block.
block_row() { row "$1" "${BLOCKS[${1%%/*}]}: $2"; }

block_of() { echo "${1%%/*}"; }

# Both sizes of OPUS-100 are of one corpus.
corpus_name() { echo "${1%-deep}" | sed 's/-wide$//'; }
corpora() {
  local one
  for one in "${rows[@]%%/*}"; do
    corpus_name "$one"
  done | sort -u
}
data_of() {
  if [[ $2 == */original ]]; then
    echo "$run/${2%/*}/original-data"
  else
    echo "$run/$(corpus_name "${2%%/*}")/data"
  fi
}

config_of() {
  local name
  name=$(plain_of "$2") # losses_flags has the losses
  case $name in
    */original) echo "$1/original.conf" ;;
    m2m-* | nllb-*) echo "$ROOT/configs/ted19-tuned/$(system_of "$name").conf" ;;
    *) echo "$ROOT/configs/$(system_of "$name").conf" ;;
  esac
}

# system_of ROW: without its variant.
system_of() { echo "${1%%@*}"; }

# plain_of ROW: without its seed, and what its name says of the losses.
plain_of() {
  local name=${1%-seed-*}
  name=${name%-authors}
  echo "${name%-recipe}"
}

# sweep_of ROW: the system whose variant it is, or with InstruCL where its config has it.
sweep_of() { system_of "$(plain_of "$1")" | sed 's/-instrucl$//'; }

own_flags() {
  if ((${#small[@]})); then
    small_flags "$1"
  fi
  variant_flags "$1"
  losses_flags "$1"
  own_start "$1"
  seed_flags "$1"
}

# make_checkpoint FOLDER LAST
make_checkpoint() {
  local -a chosen=(--last "$2")
  if [[ $scale == full ]]; then
    chosen=(--best 5)
    if [[ ${1#"$run/"} == opus100-* ]]; then chosen=(--best 1); fi
  fi
  tdo average --inputs "$1/checkpoints" "${chosen[@]}" --output "$(checkpoint_of "$1")" --force
}

also_made() {
  local corpus
  for corpus in $(corpora); do
    echo "$corpus"/{data,text,text-en,text-de,text-es,original-text,original-data,converted,prepared,cut}
  done
}
