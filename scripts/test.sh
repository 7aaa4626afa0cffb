#!/usr/bin/env bash
# Set-up if needed, formatting, linting, types, tests (docs/design/testing.md).
#
#   scripts/test.sh [--unit | --full] [--dry-run] [ARGUMENT...]
#
#   --unit     the inner loop: unit and parity tests alone, without types
#   --full     everything, every row of every table included
#   --dry-run  only print the commands
#
# Without --unit or --full it is the quick tier, which is to pass before every commit. Arguments go to
# pytest: `scripts/test.sh -k instrucl`, for example.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

tier=quick dry=""
run() { if [[ -n $dry ]]; then show "$@"; else "$@"; fi; }
while (($#)); do
  case $1 in
    --unit | --full) tier=${1#--} ;;
    --dry-run) dry=1 ;;
    --help)
      print_help
      exit 0
      ;;
    *) break ;;
  esac
  shift
done
declare -a tests
case $tier in
  unit) tests=(tests/unit tests/parity -m "not full") ;;
  quick) tests=(-m "not full") ;;
  full) tests=() ;;
esac

began=$SECONDS
# with the evaluation, because the tests run the real libraries
run bash "$ROOT/scripts/setup.sh" --eval
ready=$SECONDS
cd "$ROOT"
export OMP_NUM_THREADS=1
# Tests start hundreds of Pythons. Where none may leave bytecode beside the code, each would compile
# this project anew; theirs goes with .venv.
export PYTHONPYCACHEPREFIX=$VENV/bytecode
unset PYTHONDONTWRITEBYTECODE
run .venv/bin/ruff check .
run .venv/bin/ruff format --check .
if [[ $tier != unit ]]; then run .venv/bin/mypy; fi
# without stealing, the worker that has the long tests would be left with them at the end
run .venv/bin/python -m pytest -n 2 --dist worksteal ${tests[@]+"${tests[@]}"} "$@"
[[ -n $dry ]] || echo "the $tier tier took $((SECONDS - ready)) seconds, after $((ready - began)) of set-up"
