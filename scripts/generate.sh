#!/usr/bin/env bash
# Decodes test sets with the stock fairseq-generate; by default all directions.
#
#   scripts/generate.sh DATA --path CHECKPOINT --out OUT [--pairs all|supervised|zero-shot|en-de,...]
#                       [--beam N] [--workers N] [--cpu | --gpus N] [--precision fp32|fp16|bf16]
#                       [flags of fairseq-generate] [--dry-run]
#
# The same as `tdo translate --engine fairseq`. The commands are printed; --dry-run only prints them.
# fairseq's output is kept as OUT/fairseq/SOURCE-TARGET/generate-test.txt; OUT/SOURCE-TARGET.hyp and
# the other files for `tdo score` are extracted from it. Directions already decoded with this
# checkpoint are skipped.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door translate --engine fairseq "$@"
