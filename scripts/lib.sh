# Shared by the scripts: sourced, never run.
# shellcheck shell=bash

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
# What follows may be used by scripts that source this file.
# shellcheck disable=SC2034
VENV="$ROOT/.venv"

# die MESSAGE...: one line on stderr, exit code 1.
die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}
