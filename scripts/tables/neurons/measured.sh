# Figures that take a plain model's importance and no translations. Sourced by neurons_figure2.sh and
# neurons_figure3.sh, after neurons.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034

translate_row() { :; }
score_rows() { :; }

# draw_figures FIGURE DIRECTIONS: of each corpus, into RUN/FIGURE/CORPUS.
draw_figures() {
  local corpus folder
  for corpus in $(corpora); do
    folder=$run/$corpus/neurons/multilingual
    make_start "$corpus/multilingual"
    importance_of "$corpus/multilingual" taylor "$folder"
    step mkdir -p "$run/$1"
    draw_of "$corpus" "$folder/taylor.importance" "$run/$1/$corpus"
  done
}

# shown_of CORPUS: three pairs, as in the paper; at other scales the first three.
shown_of() {
  case $kind-$1 in
    full-one-to-many) echo en-es,en-pt,en-fi ;;
    full-many-to-many) echo it-en,ro-it,en-ro ;;
    *) trained_directions "$1" | head -n 3 | paste -sd, ;;
  esac
}
