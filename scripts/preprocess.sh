#!/usr/bin/env bash
# From parallel text to data that fairseq trains on.
#
#   scripts/preprocess.sh TEXT DATA [--vocab-size N | --model-type bpe --bpe-operations N]
#                         [--workers N] [--casing cased|lowercased|truecased] [--join-valid N] ...
#
# TEXT holds train.X-Y.{X,Y}, one sentence a line, and valid.X-Y.{X,Y} and test.X-Y.{X,Y} or,
# parallel over all languages, valid.X and test.X; a pair need not have each. A joint SentencePiece
# model is trained on the training sides, all text is cut into its pieces, and fairseq-preprocess
# binarises every pair, those without training text too, with one joint dictionary. Its commands
# are printed; --dry-run only prints them.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door preprocess "$@"
