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

DEFAULT_TORCH="torch==2.13.0"
FAIRSEQ="fairseq==0.12.2"
COMET="unbabel-comet==2.2.7"
STAMP=.venv/set-up-is-complete
CHOSEN_TORCH=.venv/chosen-torch
CHOSEN_EVAL=.venv/chosen-eval
LOG=.venv/setup.log
FAIRSEQ_LOG=.venv/setup-fairseq.log
WHEELS=.venv/wheels
# Sets of packages that pip resolves without a complaint may still fail to be imported.
EVAL_CHECK='import bert_score, comet, fasttext, langdetect, sacremoses, sentencepiece.sentencepiece_model_pb2; '\
'from sacrebleu.tokenizers import tokenizer_ja_mecab as ja, tokenizer_ko_mecab as ko; '\
'ja.TokenizerJaMecab(), ko.TokenizerKoMecab()'
# Not the command of this name, which fails where a package has files for another Python.
BYTECODE='import compileall; compileall.compile_dir(".venv/lib", quiet=2, workers=0)'
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

# fairseq has three C++ extension modules.
check_compiler() {
  local name cxx="" version include
  for name in "${CXX:-c++}" c++ g++ clang++; do
    if command -v "${name%% *}" >/dev/null 2>&1; then
      cxx=$name
      break
    fi
  done
  [[ -n $cxx ]] || die "no C++ compiler found: install one (Debian, Ubuntu: apt-get install g++)"
  version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  include=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
  [[ -f $include/Python.h ]] ||
    die "the headers of Python $version are missing: install them (Debian, Ubuntu: apt-get install python$version-dev)"
  name=$("$PYTHON" -c 'import sysconfig; print((sysconfig.get_config_var("CC") or "cc").split()[0])')
  # A Python that was built with another compiler would look for that one.
  command -v "${CC:-$name}" >/dev/null 2>&1 || export CC="$cxx" CXX="$cxx"
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

# build_fairseq: its wheel, half a minute of a core, while other packages come in. pip keeps it for the
# next set-up.
build_fairseq() {
  local -a command=("${pip[@]}" wheel --no-deps --wheel-dir "$WHEELS" "$FAIRSEQ")
  echo "set-up: $FAIRSEQ (is compiled meanwhile)"
  if [[ -n $dry ]]; then
    show "${command[@]}"
    return
  fi
  "${command[@]}" >"$FAIRSEQ_LOG" 2>&1 &
  building=$!
}

await_fairseq() {
  [[ -z $dry ]] || return 0
  wait "$building" && return
  tail -n 5 "$FAIRSEQ_LOG" >&2
  die "set-up failed at: $FAIRSEQ; all of it is in $ROOT/$FAIRSEQ_LOG"
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
  local -a install=("${pip[@]}" install --no-compile) # bytecode is made at the end, on all cores
  build_fairseq
  if [[ $torch == "$DEFAULT_TORCH" ]]; then
    project+=("${torch_arguments[@]}")
  else
    step "torch ($torch)" env -u PIP_CONSTRAINT "${install[@]}" "${torch_arguments[@]}"
    [[ -n $dry ]] || .venv/bin/python -c "$TORCH_PIN" >>"$pins"
  fi
  local extras="report,tensorboard,corpora,completion,dev"
  [[ -z $evaluation ]] || extras+=",eval"
  step "torch, this project and what it imports" "${install[@]}" "${project[@]}" -e ".[$extras]"
  await_fairseq
  step "$FAIRSEQ${evaluation:+, $COMET}" \
    "${install[@]}" --no-deps "$WHEELS"/fairseq-*.whl ${evaluation:+"$COMET"}
  step "bytecode" .venv/bin/python -c "$BYTECODE"
  if [[ -n $evaluation ]]; then
    step "check of the evaluation" .venv/bin/python -W ignore -c "$EVAL_CHECK"
  fi
  step "check" .venv/bin/python -m tdo_plugin doctor
}

is_complete && exit 0
if [[ -z $dry ]] && command -v flock >/dev/null 2>&1; then
  exec 9>.venv-lock
  flock 9 # another set-up of this folder may be under way
  is_complete && exit 0
fi
find_python
check_compiler
# What was interrupted is begun again; what was complete is brought up to date.
if [[ -f $STAMP && -x .venv/bin/python ]] && is_good_python .venv/bin/python; then
  [[ -n $dry ]] || rm "$STAMP"
else
  make_venv
fi
[[ -n $dry ]] || : >"$LOG"
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
