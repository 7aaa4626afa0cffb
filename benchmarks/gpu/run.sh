#!/usr/bin/env bash
# Measures everything that the documents leave open for a GPU, in about ten minutes: speed, memory, cost of methods,
# first updates against a CPU, half precision, and a two-stage system of N = 6 and d = 512 that is trained for a
# minute, translated, scored, exported and served.
#
#   benchmarks/gpu/run.sh [--data DIR | --from DIR] [--out DIR] [--minutes N] [--parts A,B,...]
#                         [--device cuda|cpu] [--dry-run]
#
#   --data DIR      data folder of `tdo prepare multi30k`
#   --from DIR      folder with the archives of Multi30k, which are prepared first (default: the embedded corpus)
#   --out DIR       results: summary.md, JSON files, logs (default: runs/gpu); it must be new or empty
#   --minutes N     time limit of all parts together (default 10), of which each part has a share
#   --parts A,B     only these parts and the data; a wrong name lists all parts
#   --device cpu    rehearsal with tiny sizes: the numbers mean nothing
#   --dry-run       only print the commands
#
# A part that fails or exceeds its limit does not end the others; summary.md lists it. Nothing needs the network.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

data='' archives='' out=runs/gpu minutes=10 parts='' device=cuda dry=''
while (($#)); do
  case $1 in
    --data | --from | --out | --minutes | --parts | --device)
      [[ $# -gt 1 ]] || die "\`$1\` must have a value; it has none"
      ;;&
    --data) data=$2 && shift 2 ;;
    --from) archives=$2 && shift 2 ;;
    --out) out=$2 && shift 2 ;;
    --minutes) minutes=$2 && shift 2 ;;
    --parts) parts=$2 && shift 2 ;;
    --device) device=$2 && shift 2 ;;
    --dry-run) dry=yes && shift ;;
    -h | --help) print_help && exit ;;
    *) die "options must be those of --help; \`$1\` is not" ;;
  esac
done
[[ $minutes =~ ^[1-9][0-9]?$ ]] || die "\`--minutes\` must be a whole number from 1 to 99; it is $minutes"
[[ $device == cuda || $device == cpu ]] || die "\`--device\` must be cuda or cpu; it is $device"
[[ -z $data || -z $archives ]] || die "\`--from\` must be left out with --data; it is $archives"
[[ -z $archives || -d $archives ]] || die "\`--from\` must be a folder; it is $archives"
[[ -z $data || -f $data/prepared.json ]] || die "\`--data\` must be a data folder (tdo prepare); it is $data"
known=doctor,speed,first-updates,half-precision,training,translate-fp32,translate-fp16,translate-bf16,score,export
known+=,exported,serve,neuron_masks,disentangling,back_translation
for name in ${parts//,/ }; do
  [[ ,$known, == *",$name,"* ]] || die "\`--parts\` must be among $known; it has $name"
done
[[ -z $(ls -A "$out" 2>/dev/null) ]] || die "\`--out\` must be new or empty; it is $out"

python=$VENV/bin/python
timed=() # of parts that need only sentences, of which the embedded corpus has any number
[[ -z $data$archives ]] || timed=(--data "${data:-$out/data}")
tdo=("$python" -m tdo_plugin)
text=() pieces=2000 sizes=() shape=() machine=(--gpus 1) precisions=(fp32 fp16 bf16) rounds=2 updates=20 sentences=500
costs=(--size base --rounds 3) jobs=6
if [[ $device == cpu ]]; then
  text=(--train 300 --valid 20 --test 20) pieces=400 sizes=(--size small)
  shape=(--tdo-model-dim 16 --tdo-ffn-dim 32 --tdo-heads 2 --tdo-layers 4 --tdo-target-layer 2 --instrucl-layer 3
    --max-tokens 300 --update-freq 1 --max-update 2)
  machine=(--cpu) precisions=(fp32 bf16) rounds=1 updates=2 sentences=2
  costs=(--size small --rounds 1 --batch-tokens 100 --vocabulary 300 --sentence-length 12) jobs=2
fi
deadline=$((SECONDS + 60 * minutes))

# part NAME SECONDS COMMAND...: a command with its share of ten minutes as a limit, and a row about it.
part() {
  local name=$1 limit=$(($2 * minutes / 10)) left=$((deadline - SECONDS)) begin=$SECONDS state=done code=0
  shift 2
  [[ -z $parts || ",$parts,text,data," == *",$name,"* ]] || return 0
  show "$@"
  [[ -z $dry ]] || return 0
  ((limit <= left)) || limit=$left
  if ((left <= 0)); then
    state=skipped
  else
    timeout --kill-after 10 "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
    case $code in 0) ;; 124 | 137) state="cut off" ;; *) state=failed ;; esac
  fi
  printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$state" $((SECONDS - begin)) "$limit" "$*" >>"$out/parts.tsv"
  echo "$name: $state after $((SECONDS - begin)) s"
}

[[ -n $dry ]] || mkdir -p "$out"
if [[ -n $archives ]]; then
  data=$out/data
  part data 120 "${tdo[@]}" prepare multi30k --from-file "$archives" --out "$data"
elif [[ -z $data ]]; then
  data=$out/data
  part text 30 "${tdo[@]}" corpus --out "$out/text" --languages en,de,fr "${text[@]}"
  part data 60 "${tdo[@]}" preprocess "$out/text" "$data" --vocab-size "$pieces"
fi
pair=$(head -n 1 "$data/test-pairs.txt" 2>/dev/null || echo en-de)

part doctor 15 "${tdo[@]}" doctor
part speed 230 "${tdo[@]}" bench --device "$device" "${timed[@]}" --rounds "$rounds" "${sizes[@]}" \
  --json "$out/speed.json"
part first-updates 100 bash "$ROOT/benchmarks/gpu/first_updates.sh" "$data" "$out/first-updates" "$updates" "$jobs" \
  "${precisions[@]}" -- "${machine[@]}"
part half-precision 30 "${tdo[@]}" bench half-precision --device "$device" "${sizes[@]}" \
  --json "$out/half-precision.json"

model=$out/model hours=$(printf '0.%04d' $((25 * minutes)))
part training 110 "${tdo[@]}" train tdo/ted19/tdo-prefix+instrucl "$data" --scale multi30k-paper --save-dir "$model" \
  "${machine[@]}" "${shape[@]}" --stop-time-hours "$hours" --num-workers 0 --no-epoch-checkpoints
systems=()
for precision in "${precisions[@]}"; do
  part "translate-$precision" 20 "${tdo[@]}" translate "$data" --path "$model/checkpoint_last.pt" --pairs "$pair" \
    --out "$out/translated-$precision" --precision "$precision" "${machine[@]}"
  systems+=("$precision=$out/translated-$precision")
done
part score 15 "${tdo[@]}" score "${systems[@]}" --data "$data" --directions "$pair" --metrics bleu \
  --samples 0 --out "$out/scores"
part export 20 "${tdo[@]}" export "$model/checkpoint_last.pt" "$out/exported" --to hf
part exported 20 "$python" "$ROOT/benchmarks/export_equality.py" "$out/exported" "$out/translated-fp32/$pair.jsonl" \
  --limit "$sentences" --trust-remote-code --device "$device"
part serve 25 "$python" "$ROOT/benchmarks/serve_load.py" "$model/checkpoint_last.pt" "$out/translated-fp32/$pair.src" \
  --source "${pair%-*}" --sentences "$sentences" --device "$device"

for cost in neuron_masks disentangling back_translation; do
  part "$cost" 35 "$python" "$ROOT/benchmarks/$cost.py" --device "$device" "${timed[@]}" "${costs[@]}" \
    --json "$out/$cost.json"
done

show "$python" "$ROOT/benchmarks/gpu/summary.py" "$out"
[[ -n $dry ]] || "$python" "$ROOT/benchmarks/gpu/summary.py" "$out"
