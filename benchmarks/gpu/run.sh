#!/usr/bin/env bash
# Measures everything that the documents leave open for a GPU, in about ten minutes; --help lists the options.
#
#   benchmarks/gpu/run.sh [--data DIR | --from DIR] [--out DIR] [--minutes N] [--parts A,B,...]
#                         [--device cuda|cpu] [--dry-run]
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
[[ -x $VENV/bin/python ]] || die "\`.venv\` must be set up; it is not (bash scripts/setup.sh)"
exec "$VENV/bin/python" "$ROOT/benchmarks/gpu/measure.py" "$@"
