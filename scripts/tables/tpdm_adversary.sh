#!/usr/bin/env bash
# What it takes for L_d of Chen et al. (2023), TPDM, to take positions out of the semantic embedding, which
# no table of theirs asks: small models on MultiUN, from one without L_d to those with more and more
# changes to the game with its generator; zero-shot BLEU, and how much of the tokens' positions a probe
# reads from each layer at the last update.
#
#   scripts/tables/tpdm_adversary.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tpdm adversary "$@"
