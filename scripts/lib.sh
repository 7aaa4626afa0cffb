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

# print_help [FILE]: the comment at the head of the running script, or of another.
print_help() {
  sed -n '2,/^set -euo/{/^#/s/^# \{0,1\}//p}' "${1:-$0}"
}

# show COMMAND...: print a command so that a shell can read it.
show() {
  printf '+'
  printf ' %q' "$@"
  echo
}
