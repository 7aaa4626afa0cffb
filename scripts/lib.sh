# Functions shared by the scripts; sourced, never run.
# shellcheck shell=bash
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
# Used by scripts that source this file.
# shellcheck disable=SC2034
VENV="$ROOT/.venv"

# die MESSAGE...: one line on stderr, exit code 1.
die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# print_help: the comment at the head of the running script.
print_help() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
}

# show COMMAND...: print a command so that a shell can read it.
show() {
  printf '+'
  printf ' %q' "$@"
  echo
}

# door COMMAND...: run setup.sh, then replace this process with `tdo COMMAND`. --help prints the
# script's help and, if .venv exists, that of the command.
door() {
  if [[ " $* " == *" --help "* || " $* " == *" -h "* ]]; then
    print_help
    [[ -x $VENV/bin/python ]] || exit 0
    echo
  else
    bash "$ROOT/scripts/setup.sh"
  fi
  exec "$VENV/bin/python" -m tdo_plugin "$@"
}
