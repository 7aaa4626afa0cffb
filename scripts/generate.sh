#!/usr/bin/env bash
# Decodes test sets with the stock fairseq-generate, every direction unless told otherwise.
#
#   scripts/generate.sh CONFIG DATA CHECKPOINT OUT [--directions all|supervised|zero-shot|en-de,...]
#                       [--beam N] [--jobs N] [--threads N] [--cpu | --gpus N]
#                       [--precision fp32|fp16|bf16] [flags of fairseq-generate] [--dry-run]
#
# CONFIG is the one that the model was trained with. OUT/SOURCE-TARGET/generate-test.txt is what
# fairseq wrote; what is there already for this checkpoint is not decoded again. The commands are
# printed; --dry-run only prints them. `tdo report` scores OUT.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
door generate "$@"
