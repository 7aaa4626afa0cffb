#!/usr/bin/env bash
# Figure 6 of Xie et al. (2021), neuron allocation: BLEU over the multilingual model's where neurons are
# allocated to pairs, to source languages, to target languages, or, of the encoder to source and of the
# decoder to target languages; many-to-many.
#
#   scripts/tables/neurons_figure6.sh [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]
source "$(dirname "${BASH_SOURCE[0]}")/../reproduce.sh" neurons figure6 "$@"
