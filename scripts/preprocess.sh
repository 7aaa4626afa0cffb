#!/usr/bin/env bash
# Turns parallel text into binarised data for fairseq.
#
#   scripts/preprocess.sh TEXT DATA [--vocab-size N | --model-type bpe --bpe-operations N]
#                         [--workers N] [--casing cased|lowercased|truecased] [--join-valid N] ...
#
# TEXT has train.X-Y.{X,Y}, one sentence per line, and valid.X-Y.{X,Y} and test.X-Y.{X,Y} or, if
# parallel in all languages, valid.X and test.X; a pair may lack some of them. A joint SentencePiece
# model is trained on the training text, all text is split into its pieces, and fairseq-preprocess
# binarises every pair, including pairs without training text, with one joint dictionary. The
# commands are printed; --dry-run only prints them.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door preprocess "$@"
