#!/usr/bin/env bash
# Reproduces tables and figures of five papers: data, training, translation, scores, reports, figures.
#
#   scripts/reproduce.sh PAPER TABLE [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
#   scripts/reproduce.sh --scale toy|multi30k|full [--whole] [--papers A,B,...] [OPTIONS]
#   scripts/reproduce.sh --smoke [--papers A,B,...] [OPTIONS]
#
# Without PAPER: the main rows of each paper's headline table (--whole: all rows), and one page with all of
# these tables. --smoke: every table and figure, with two updates per row on tiny corpora. Completed steps
# are skipped, and an interrupted run is resumed. LID=FILE identifies languages with fastText's lid.176
# instead of a classifier trained on the corpus (lid.176.bin or .ftz in the clone is found by itself).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ ${1:--} == -* ]]; then set -- all "$@"; fi
words=(reproduce "$1")
shift
while (($#)) && [[ $1 != -* ]]; do
  case $1 in
    toy | multi30k* | full | smoke) words+=(--scale "$1") ;;
    *) words+=("$1") ;;
  esac
  shift
done
door "${words[@]}" "${@/#--smoke/--scale=smoke}"
