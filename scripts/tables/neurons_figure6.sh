#!/usr/bin/env bash
# Figure 6 of Xie et al. (2021), neuron allocation: gain in BLEU over the multilingual model when neurons
# are allocated to pairs, to source languages, to target languages, or to source languages in the encoder
# and target languages in the decoder; many-to-many.
#
#   scripts/tables/neurons_figure6.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" neurons figure6 "$@"
