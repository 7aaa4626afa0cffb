#!/usr/bin/env bash
# Set-up if needed, formatting, linting, types, tests. Arguments go to pytest; with --dry-run before
# them the commands are only printed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

run() {
  "$@"
}
if [[ ${1:-} == --dry-run ]]; then
  shift
  run() {
    show "$@"
  }
fi
# with the evaluation, because the tests run the real libraries
run bash "$ROOT/scripts/setup.sh" --eval
cd "$ROOT"
export OMP_NUM_THREADS=1
run .venv/bin/ruff check .
run .venv/bin/ruff format --check .
run .venv/bin/mypy
# the slow tests come first: without stealing one worker would be given a share of nothing else
run .venv/bin/python -m pytest -n 2 --dist worksteal "$@"
