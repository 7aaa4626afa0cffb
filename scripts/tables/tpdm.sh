# Sourced by scripts/tables/tpdm_*.sh, never run.
#
#   scripts/tables/tpdm_NAME.sh [toy|multi30k|full] [--smoke] [--rows A,B,...] [--seeds N] [--from DIR]
#                               [--updates N] [--jobs N] [--threads N] [--out RUN] [--fresh]
#                               [--dry-run]
#
#   toy         the embedded corpus: English with Japanese, Russian and Turkish in the place of
#               MultiUN, with German and French in that of Europarl; 10,000 training pairs each, of the
#               same English sentences, as Europarl's mostly are; d = 96, 3 and 6 layers a side for small
#               and base (default)
#   multi30k    Multi30k, its training set cut into three parts, one for each pair: English with German,
#               French and Czech in the place of MultiUN, without Czech in that of Europarl; d = 128, the
#               same layers, about an hour a row on a CPU core
#   full        MultiUN, Europarl and the paper's sizes on all GPUs of this machine or Slurm job; an
#               estimate of the GPU hours comes first
#   --smoke     two updates of every row on a tiny corpus, and no scores
#   --rows      some of the table's rows, by their configs below configs/tpdm-tables, or
#               CORPUS/piv-m-SIZE, the model of CORPUS/mnmt-SIZE through English
#   --seeds     trainings of each system, which differ in their seed: the report has means and spreads
#               (default 1)
#   --from      folder with the archives of Multi30k, or MultiUN and Europarl, instead of a download
#   --updates   of a row, a multiple of 250
#   --jobs      trainings at a time, and decodings on the CPU (default 2, or one a GPU; full: 1)
#   --threads   CPU threads of each training (default 1)
#   --out       where everything goes (default: runs/tpdm-SCALE). Scripts with the same folder share
#               trainings: a system is trained once for all tables that it is in.
#   --fresh     begin again with the data and this table's systems; otherwise interrupted trainings
#               resume and whole results stay
#   --dry-run   only print the commands
#
# The checkpoint with the best BLEU on validation sets of the zero-shot directions is tested, as in the
# scripts that the paper follows; at the small scales, of the last third of the updates. There L_d has a
# tenth of its weight, begins half-way, and does not reach positional embeddings, unless L_p is left out;
# the generator takes five steps (configs/tpdm-tables/scales/adversary.conf); and base models start
# depth-scaled. LID=FILE has fastText's lid.176 tell languages apart, instead of a classifier trained on
# the corpus; the paper does not.
set -euo pipefail
# shellcheck shell=bash
# shellcheck disable=SC2034
source "$(dirname "${BASH_SOURCE[0]}")/tables.sh"
source "$(dirname "${BASH_SOURCE[0]}")/corpora.sh"
source "$(dirname "${BASH_SOURCE[0]}")/seeds.sh"
source "$(dirname "${BASH_SOURCE[0]}")/tpdm/scales.sh"

PAPER=tpdm
OPTIONS=${BASH_SOURCE[0]}
BASELINE="*: MNMT-base"

# paper_row CORPUS NAME: a row by its names in the paper's tables, which name its config as well.
paper_row() {
  local system=${2,,}
  system=${system//[,()]/}
  row "${1,,}/${system// /-}" "$1: $2"
}

# main_rows CORPUS: the rows that tables 1, 6 and 7 have in common.
main_rows() {
  local size kind
  for size in small base; do
    for kind in MNMT MNMT-RC MNMT-TPDM MNMT-GTPDM; do
      paper_row "$1" "$kind-$size"
    done
  done
}

# systems_of ROW DIRECTIONS: its trainings; a pivot's are those of the model that is taken twice.
systems_of() { seeded "${1/piv-m/mnmt}"; }

# translate_row ROW DIRECTIONS: hypotheses in the folders of `runs_of`.
translate_row() {
  local one system
  for one in $(seeded "$1"); do
    system=${one/piv-m/mnmt}
    if [[ $one == "$system" ]]; then
      translate "$system" --pairs "$2"
      continue
    fi
    ready "$system"
    mkdir -p "$run/$one"
    once "$run/$one/made" "$(cat "$run/$system/averaged")" rm -rf "$run/$one/output"
    translate "$system" --pairs "$2" --pivot en --out "$run/$one/output"
  done
}

draw_figures() { draw_scores "$1"; }

# draw_scores TABLE: figure 1's left half, zero-shot scores over updates, for each corpus.
draw_scores() {
  local corpus index one
  local -a lines own
  for corpus in $(corpora); do
    lines=()
    for index in "${!rows[@]}"; do
      [[ ${rows[index]} == "$corpus"/* && ${rows[index]} != *piv-m* ]] || continue # it trains none
      mapfile -t own < <(runs_of "${rows[index]}" "${names[index]}")
      for one in "${own[@]}"; do
        lines+=("${one%/output}/checkpoints/validation.jsonl")
      done
    done
    draw_curves "$run/$1/figure1-$corpus" ${lines[@]+"${lines[@]}"}
  done
}

# What a system takes beside its config (see pipeline.sh).
config_of() { echo "$1/${2%-seed-*}.conf"; }

own_flags() {
  if ((${#small[@]})); then
    small_flags "$1"
  fi
  seed_flags "$1"
}

# make_checkpoint FOLDER LAST: the checkpoint that validation chose is tested as it is.
make_checkpoint() {
  tdo average --inputs "$1/checkpoints" --best 1 --from-update "$(chosen_from "${1#"$run"/}")" \
    --output "$(checkpoint_of "$1")" --force
}
