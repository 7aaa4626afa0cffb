# Sourced by scripts/tables/neurons_*.sh, never run.
#
#   scripts/tables/neurons_NAME.sh [toy|multi30k|full] [--smoke] [--rows A,B,...] [--seeds N]
#                                  [--inner after|before] [--from DIR] [--updates N] [--jobs N]
#                                  [--threads N] [--out RUN] [--fresh] [--dry-run]
#
#   toy         the embedded corpus: English with German, French, Spanish and Russian, both ways, in the
#               place of IWSLT17; English to these, Japanese and Turkish in that of Europarl; d = 96, 3
#               layers a side (default)
#   multi30k    Multi30k, its training set cut into three parts, one for each pair: English with German,
#               French and Czech, both ways and one way; d = 128, 3 layers a side
#   full        IWSLT17, Europarl and the paper's sizes on all GPUs of this machine or Slurm job; an
#               estimate of the GPU hours comes first
#   --smoke     two updates of every training on a tiny corpus, and no scores
#   --rows      some of the rows, by their names below RUN, or patterns such as "many-to-many/masked-*"
#   --seeds     trainings of each system, which differ in their seed: the report has means and spreads
#               (default 1)
#   --inner     where the rows AV measure inner neurons of feed-forward networks, after their ReLU (default)
#               or before it, as by the authors' code; such rows are systems of their own, whose names end
#               in -before. To TE it makes no difference
#   --from      folder with the archives of Multi30k, or IWSLT17 and Europarl, instead of a download
#   --updates   of the pre-training, a multiple of 500; training on takes half as many
#   --jobs      trainings at a time, and decodings on the CPU (default 2, or one a GPU; full: 1)
#   --threads   CPU threads of each training (default 1)
#   --out       where everything goes (default: runs/neurons-SCALE). Scripts with the same folder share
#               trainings, importance and masks.
#   --fresh     begin again with the data and this script's systems; otherwise whatever was interrupted
#               goes on, in each step, and whole results stay
#   --dry-run   only print the commands
#
# Three steps: a multilingual model is trained; the importance of its neurons is measured and they are
# allocated (RUN/CORPUS/neurons); the model is trained on with the masks. Beside it, which the paper does
# not have, the plain model is trained on for as many updates. Models of one direction share the
# multilingual vocabulary, where the paper's have their own; target-specific attention and adapters are
# trained from scratch, for as many updates as both of the method's trainings together.
#
# The multilingual row, the measured model and the start of what is trained on are one checkpoint, that
# with the best validation loss, so that a gain over the row is a gain of the training on.
set -euo pipefail
# shellcheck shell=bash
# shellcheck disable=SC2034
source "$(dirname "${BASH_SOURCE[0]}")/tables.sh"
source "$(dirname "${BASH_SOURCE[0]}")/corpora.sh"
source "$(dirname "${BASH_SOURCE[0]}")/seeds.sh"
source "$(dirname "${BASH_SOURCE[0]}")/neurons/scales.sh"
source "$(dirname "${BASH_SOURCE[0]}")/neurons/masks.sh"
source "$(dirname "${BASH_SOURCE[0]}")/neurons/individual.sh"

PAPER=neurons
OPTIONS=${BASH_SOURCE[0]}
BASELINE="*multilingual"
BEGIN=--finetune-from-model

VALUED+=(--inner)

# own_value OPTION VALUE: see `take_value`. The rows are there already.
own_value() {
  local index
  [[ $2 == after || $2 == before ]] || die "\`--inner\` must be after or before; it is $2"
  for index in "${!rows[@]}"; do
    [[ ${rows[index]} == *masked-absolute-* ]] || continue
    rows[index]=${rows[index]%-before} names[index]=${names[index]/AV before the ReLU/AV}
    [[ $2 == before ]] || continue
    rows[index]+=-before names[index]=${names[index]/AV/AV before the ReLU}
  done
}

# main_rows CORPUS: the rows of table 1 or 2, with the plain model trained on.
main_rows() {
  row "$1/individual" "individual"
  row "$1/multilingual" "multilingual"
  row "$1/continued" "multilingual, trained on"
  row "$1/target-specific" "multilingual + TS"
  row "$1/adapter" "multilingual + adapter"
  row "$1/$(masked absolute)" "neurons, AV"
  row "$1/$(masked taylor)" "neurons, TE"
}

# start_of SYSTEM: others go on with the checkpoint that is tested.
start_of() { checkpoint_of "$run/$1"; }

# make_start SYSTEM
make_start() {
  if [[ -n $dry ]]; then make_checkpoint "$run/$1"; else ready "$1"; fi
}

begun_from() {
  local seed=""
  if [[ $1 == *-seed-* ]]; then seed=-seed-${1##*-seed-}; fi
  case $1 in
    */expansion-masked*) echo "${1%%/*}/expansion$seed" ;;
    */masked* | */continued*) echo "${1%%/*}/multilingual$seed" ;;
  esac
}

# What a system takes beside its config (see pipeline.sh).
config_of() {
  local name=${2%-seed-*}
  case $name in
    */individual/*) name=${name%/*} ;;
    */expansion-masked-*) name=${name%%/*}/expansion-masked ;;
    */masked-*) name=${name%%/*}/masked ;;
  esac
  echo "$1/$name.conf"
}

own_flags() {
  small_flags "$1"
  seed_flags "$1"
  case $1 in
    */individual/*) printf '%s\n' --lang-pairs "$(direction_of "$1")" ;;
    *masked-*) printf '%s\n' --tdo-neuron-masks "$(masks_of "$1")" ;;
  esac
}

# make_checkpoint FOLDER LAST: that with the best validation loss.
make_checkpoint() {
  tdo average --inputs "$1/checkpoints" --best 1 --output "$(checkpoint_of "$1")" --force
}

# starts: what the second trainings go on with, each once.
starts() {
  local one
  for one in "${second[@]}"; do
    begun_from "$one"
  done | awk '!seen[$0]++'
}

between_trainings() {
  local base
  for base in $(starts); do
    make_start "$base"
  done
  make_masks
}

# own_key SYSTEM: where a training that goes on begins.
own_key() {
  local base
  base=$(begun_from "$1")
  [[ -z $base ]] || start_of "$base"
}

also_made() {
  local corpus
  for corpus in $(corpora); do
    echo "$corpus"/{data,text,multi30k,prepared,neurons}
  done
}
