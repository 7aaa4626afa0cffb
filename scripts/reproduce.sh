#!/usr/bin/env bash
# Tables and figures of five papers: data, trainings, translations, scores, reports, pictures.
#
#   scripts/reproduce.sh PAPER TABLE [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
#   scripts/reproduce.sh --scale toy|multi30k|full [--whole] [--papers A,B,...] [OPTIONS]
#   scripts/reproduce.sh --smoke [--papers A,B,...] [OPTIONS]
#
# Without PAPER the headline table of each, those of its rows that show what the paper found (--whole: all),
# then one page with all of them; --smoke: every table and figure with two updates of each row, on tiny
# corpora. What is whole is not done again; an interrupted run goes on. LID=FILE has fastText's lid.176 tell
# languages apart (also: lid.176.bin or .ftz in the clone), instead of a classifier trained on the corpus.
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
