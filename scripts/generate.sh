#!/usr/bin/env bash
# Decodes test sets with the stock fairseq-generate, every direction unless told otherwise.
#
#   scripts/generate.sh DATA --path CHECKPOINT --out OUT [--pairs all|supervised|zero-shot|en-de,...]
#                       [--beam N] [--workers N] [--cpu | --gpus N] [--precision fp32|fp16|bf16]
#                       [flags of fairseq-generate] [--dry-run]
#
# It is `tdo translate --engine fairseq`. The commands are printed; --dry-run only prints them. What
# fairseq wrote is OUT/fairseq/SOURCE-TARGET/generate-test.txt; OUT/SOURCE-TARGET.hyp and what lies
# beside it is made of that. What is there already for this checkpoint is not decoded again. `tdo
# score` reads OUT.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door translate --engine fairseq "$@"
