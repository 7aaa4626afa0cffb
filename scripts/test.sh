#!/usr/bin/env bash
# Runs set-up if needed, linting, formatting and type checks, and the tests (docs/design/testing.md).
#
#   scripts/test.sh [--unit | --full] [--dry-run] [ARGUMENT...]
#
#   --unit     unit and parity tests only, without type checks
#   --full     all tests, including every row of every table
#   --dry-run  only print the commands
#
# The default is the quick tier, which must pass before every commit. Other arguments are passed to
# pytest, for example `scripts/test.sh -k instrucl`.
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
# with the evaluation packages: the tests use the real libraries
run bash "$ROOT/scripts/setup.sh" --eval
ready=$SECONDS
cd "$ROOT"
export OMP_NUM_THREADS=1
# Tests start hundreds of Python processes: each reads the bytecode that set-up and the first one made.
unset PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX
# They make and remove tens of thousands of files: in memory, where 4 GB are free and programs may run.
if [[ -z ${TMPDIR:-} && $(df -k --output=avail /dev/shm 2>/dev/null | tail -1) -gt 4000000 ]] &&
  ! grep -q ' /dev/shm .*noexec' /proc/mounts; then
  export TMPDIR=/dev/shm
fi
run .venv/bin/ruff check .
run .venv/bin/ruff format --check .
types="" failed=0
if [[ $tier != unit ]]; then
  run .venv/bin/mypy & # beside the tests, some of which wait
  types=$!
  [[ -z $dry ]] || wait "$types"
fi
# worksteal: otherwise one worker would be left with the long tests at the end
run .venv/bin/python -m pytest -n 2 --dist worksteal ${tests[@]+"${tests[@]}"} "$@" || failed=$?
[[ -z $types ]] || wait "$types" || { echo "mypy failed, above the tests" && failed=1; }
[[ -n $dry ]] || echo "the $tier tier took $((SECONDS - ready)) seconds, after $((ready - began)) of set-up"
exit "$failed"
