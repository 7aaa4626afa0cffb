# Sourced by scripts/tables/opus100_*.sh, never run.
#
#   scripts/tables/opus100_NAME.sh [toy|multi30k|full] [--smoke] [--rows A,B,...] [--from DIR]
#                                  [--updates N] [--jobs N] [--threads N] [--out RUN] [--fresh]
#                                  [--dry-run]
#
#   toy         the embedded corpus in English, German, French and Spanish, with 12,000, 5,000 and
#               2,000 training pairs; d = 96, 2, 4 and 6 layers a side for 6, 12 and 24 (default)
#   multi30k    Multi30k in English, German, French and Czech, its training set cut into three parts,
#               one for each pair; d = 128, the same layers, 17 minutes a row of "6 layers" on two cores
#   full        OPUS-100 and the paper's sizes on all GPUs of this machine or Slurm job; an estimate
#               of the GPU hours comes first
#   --smoke     two updates of every row on a tiny corpus, and no scores
#   --rows      some of the table's rows, by their configs below configs/opus100-tables, or patterns
#   --from      folder with the archives of Multi30k or OPUS-100, instead of a download
#   --updates   of a row, also of a bilingual model; with ROBT a third more (toy: a multiple of 600,
#               multi30k: of 750)
#   --jobs      trainings at a time, and decodings on the CPU (default 2, or one a GPU; full: 1)
#   --threads   CPU threads of each training (default 1)
#   --out       where everything goes (default: runs/opus100-SCALE). Scripts with the same folder
#               share trainings: a system is trained once for all tables that it is in.
#   --fresh     begin again with the data and this table's systems; otherwise interrupted trainings
#               resume and whole results stay
#   --dry-run   only print the commands
#
# At toy and multi30k the last checkpoint is tested, at full the average of the last five, as the
# authors' code has it. LID=FILE has fastText's lid.176 tell languages apart, instead of a
# classifier trained on the corpus (toy, multi30k) or langdetect, which is the paper's (full).
#
# Figure 1 is measured at validations, with ROBT every 40, 50 or (full) 1,000 updates. Its first
# point is the end of the training without ROBT; at full, where that has no points, 1,000 updates
# of ROBT. There the sentences are 200 of each zero-shot test set, drawn once, since there are no
# validation sets, and all 20 checkpoints of a row with ROBT stay (12 bytes a parameter each).
set -euo pipefail
# shellcheck shell=bash
# shellcheck disable=SC2034
source "$(dirname "${BASH_SOURCE[0]}")/tables.sh"
source "$(dirname "${BASH_SOURCE[0]}")/opus100/scales.sh"
source "$(dirname "${BASH_SOURCE[0]}")/opus100/pivot.sh"

PAPER=opus100
OPTIONS=${BASH_SOURCE[0]}
BASELINE="6 layers" # win ratios are against it

# many_to_many: the twelve rows that tables 3, 4 and 6 have in common.
many_to_many() {
  BASELINE="without ROBT: 6 layers"
  local block suffix
  for block in without with; do
    suffix=$([[ $block == without ]] || echo -robt)
    row "many-to-many/6-layers$suffix" "$block ROBT: 6 layers"
    row "many-to-many/6-layers-matt$suffix" "$block ROBT: 6 layers, MATT"
    row "many-to-many/6-layers-matt-laln-lalt$suffix" "$block ROBT: 6 layers, MATT, LALN, LALT"
    row "many-to-many/12-layers-matt$suffix" "$block ROBT: 12 layers, MATT"
    row "many-to-many/12-layers-matt-laln-lalt$suffix" "$block ROBT: 12 layers, MATT, LALN, LALT"
    row "many-to-many/24-layers-matt-laln-lalt$suffix" "$block ROBT: 24 layers, MATT, LALN, LALT"
  done
}

# systems_of ROW DIRECTIONS: the row itself, or the bilingual models that it takes.
systems_of() {
  local language
  case $1 in
    pivot)
      for language in "${pivoted[@]}"; do
        echo "bilingual/$language-en" "bilingual/en-$language"
      done
      ;;
    bilingual*)
      for language in "${four[@]}"; do
        if [[ $2 == en-* ]]; then echo "$1/en-$language"; else echo "$1/$language-en"; fi
      done
      ;;
    *) echo "$1" ;;
  esac
}

# translate_row ROW DIRECTIONS: hypotheses of a row in RUN/ROW/output.
translate_row() {
  local system direction
  case $1 in
    pivot) translate_through_english ;;
    bilingual*)
      mkdir -p "$run/$1/output"
      for system in $(systems_of "$1" "$2"); do
        direction=${system#*/}
        translate "$system" --pairs "$direction"
        cp "$run/$system/output/$direction".{src,hyp,ref} "$run/$1/output/"
      done
      ;;
    *) translate "$1" --pairs "$2" ;;
  esac
}

# draw_figures TABLE DIRECTIONS: figure 1, zero-shot scores over the updates of ROBT, where there
# are any, behind those of the row that it goes on with.
draw_figures() {
  local index base before file
  local -a lines=()
  [[ $2 == zero-shot || $2 == all ]] || return 0
  for index in "${!rows[@]}"; do
    base=$(begun_from "${rows[index]}")
    before=$run/$base/checkpoints/validation.jsonl
    file=$run/${rows[index]}/checkpoints/validation.jsonl
    [[ -n $base && -f $file ]] || continue
    if [[ -f $before ]]; then file=$before:$file; fi
    lines+=("${names[index]#with ROBT: }=$file")
  done
  draw_curves "$run/$1/figure1" ${lines[@]+"${lines[@]}"}
}

also_made() { echo multi30k pivot; }
