#!/usr/bin/env bash
# Which adversary makes L_d of Chen et al. (2023), TPDM, remove positions from the semantic embedding (not
# a table of the paper): small models on MultiUN, first without L_d, then with more and more changes to the
# adversarial training of the generator; zero-shot BLEU, and how well a probe predicts the tokens'
# positions from each layer at the last update.
#
#   scripts/tables/tpdm_adversary.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" tpdm adversary "$@"
