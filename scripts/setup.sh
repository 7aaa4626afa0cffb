#!/usr/bin/env bash
# Makes .venv with everything that training, decoding and their reports need. Running it again
# when nothing changed takes a moment and installs nothing.
#
#   --eval     also what `tdo score` needs beyond BLEU, chrF++ and TER: BERTScore, COMET, language
#              detectors, the tokenizers of Japanese and Korean (1 GB). Later runs keep it: it is
#              remembered in .venv, and goes with .venv
#   --dry-run  only print the commands
#
#   PYTHON     the Python to use, 3.10 to 3.13 (default: the first one found; remove .venv to change)
#   TDO_TORCH  another torch, as pip arguments; it is remembered in .venv. For example
#              TDO_TORCH="torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu"
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

dry=""
evaluation=""
for option in "$@"; do
  case $option in
    --dry-run) dry=1 ;;
    --eval) evaluation=eval ;;
    --help | -h)
      print_help
      exit 0
      ;;
    *) die "\`$option\` is not an option of this script; --help lists them" ;;
  esac
done
cd "$ROOT"

DEFAULT_TORCH=$(grep '^torch==' constraints.txt)
STAMP=.venv/set-up-is-complete
CHOSEN_TORCH=.venv/chosen-torch
CHOSEN_EVAL=.venv/chosen-eval
LOG=.venv/setup.log
# Not the command of this name, which fails where a package has files for another Python.
BYTECODE='import compileall; compileall.compile_dir(".venv/lib", quiet=2)'
EXTRAS=report,tensorboard,corpora,completion,pretrained,export,serve,docs,dev
TORCH_PIN='from importlib.metadata import version; print("torch==" + version("torch"))'

evaluation=${evaluation:-$(cat "$CHOSEN_EVAL" 2>/dev/null || true)}
torch=${TDO_TORCH:-$(cat "$CHOSEN_TORCH" 2>/dev/null || echo "$DEFAULT_TORCH")}
key=$({ echo "$ROOT $torch $evaluation"; cat pyproject.toml constraints.txt scripts/setup.sh; } | cksum)

is_complete() {
  [[ -x .venv/bin/python && -f $STAMP && "$(cat "$STAMP")" == "$key" ]]
}

is_good_python() {
  "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

find_python() {
  local name
  if [[ -n ${PYTHON:-} ]]; then
    is_good_python "$PYTHON" || die "PYTHON must be a Python from 3.10 to 3.13; it is $PYTHON"
    return
  fi
  for name in python3 python python3.13 python3.12 python3.11 python3.10; do
    if is_good_python "$name"; then
      PYTHON=$name
      return
    fi
  done
  die "no Python from 3.10 to 3.13 found: install one (Debian, Ubuntu: apt-get install python3 python3-venv python3-dev) or name it with PYTHON=..."
}

make_venv() {
  "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null ||
    die "$PYTHON cannot make virtual environments: install its venv module (Debian, Ubuntu: apt-get install python3-venv)"
  echo "set-up: virtual environment .venv ($("$PYTHON" --version))"
  if [[ -n $dry ]]; then
    show "$PYTHON" -m venv --clear .venv
    return
  fi
  "$PYTHON" -m venv --clear .venv || die "could not make the virtual environment $VENV"
}

# step TEXT COMMAND...: a progress line, the command's noise into the log.
step() {
  local text=$1
  shift
  echo "set-up: $text"
  if [[ -n $dry ]]; then
    show "$@"
  elif ! "$@" >>"$LOG" 2>&1; then
    tail -n 5 "$LOG" >&2
    die "set-up failed at: $text; all of it is in $ROOT/$LOG"
  fi
}

install_all() {
  local -a torch_arguments
  read -ra torch_arguments <<<"$torch"
  local pins=.venv/constraints.txt
  # The chosen torch takes the place of the pinned one. Another index may lack the pinned versions
  # of what torch needs, so a chosen torch comes in first and freely.
  if [[ -n $dry ]]; then
    echo "$pins: constraints.txt, with the torch that is installed"
  else
    grep -v '^torch==' constraints.txt >"$pins"
  fi
  local -a pip=(.venv/bin/python -m pip) project=(-c "$pins")
  local -a install=("${pip[@]}" install --no-compile) # bytecode is made below
  if [[ $torch == "$DEFAULT_TORCH" ]]; then
    project+=("${torch_arguments[@]}")
  else
    step "torch ($torch)" env -u PIP_CONSTRAINT "${install[@]}" "${torch_arguments[@]}"
    [[ -n $dry ]] || .venv/bin/python -c "$TORCH_PIN" >>"$pins"
  fi
  step "torch, this project and its dependencies" \
    "${install[@]}" "${project[@]}" -e ".[$EXTRAS${evaluation:+,eval}]"
  # One core makes it while another compiles fairseq.
  echo "set-up: bytecode, beside the next step"
  if [[ -n $dry ]]; then
    show .venv/bin/python -c "$BYTECODE"
  else
    .venv/bin/python -c "$BYTECODE" 9>&- & # without this set-up's lock
    bytecode=$!
    trap 'kill "$bytecode" 2>/dev/null || true' EXIT
  fi
  # `tdo setup` installs what pip cannot resolve, and ends with `tdo doctor`
  step "fairseq${evaluation:+, COMET}, and a check" \
    .venv/bin/python -m tdo_plugin setup ${evaluation:+--eval}
  [[ -n $dry ]] || wait "$bytecode"
}

is_complete && exit 0
if [[ -z $dry ]] && command -v flock >/dev/null 2>&1; then
  exec 9>.venv-lock
  flock 9 # another set-up of this folder may be under way
  is_complete && exit 0
fi
find_python
# What was interrupted is begun again; what was complete is brought up to date.
if [[ -f $STAMP && -x .venv/bin/python ]] && is_good_python .venv/bin/python; then
  [[ -n $dry ]] || rm "$STAMP"
else
  make_venv
fi
if [[ -z $dry ]]; then
  : >"$LOG"
  # a compiler that is missing is named before anything is downloaded
  .venv/bin/python -m tdo_plugin setup --dry-run >"$LOG" || exit 1
fi
# Versions for isolated builds as well: older pips read the first variable, newer ones the second.
# The path is relative because pip splits these variables at spaces.
export PIP_CONSTRAINT=.venv/constraints.txt PIP_BUILD_CONSTRAINT=.venv/constraints.txt
[[ -z $dry ]] || show export PIP_CONSTRAINT="$PIP_CONSTRAINT" PIP_BUILD_CONSTRAINT="$PIP_CONSTRAINT"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0
install_all
[[ -z $dry ]] || exit 0
echo "$torch" >"$CHOSEN_TORCH"
echo "$evaluation" >"$CHOSEN_EVAL"
echo "$key" >"$STAMP"
echo "set-up: done"
