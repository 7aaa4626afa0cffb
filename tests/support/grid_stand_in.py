"""Stands for `tdo` in tests of the runner: takes its words, and does what the config's flags say.

It notes each call in $CALLS. `--breaks` fails, `--waits` waits for the file $GATE.
"""

import json
import os
import sys
import time
from pathlib import Path

action, *words = sys.argv[1:]
place = Path(words[0]) if action == "train" else Path(words[words.index("--out") + 1])
call = {"action": action, "name": place.parent.name, "words": words, "pid": os.getpid()}
call["gpus"], call["threads"] = (
    os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")
)
with open(os.environ["CALLS"], "a", encoding="utf-8") as stream:
    stream.write(json.dumps(call) + "\n")
flags = (place.parent / "cell.conf").read_text()
if action == "translate":
    if "--breaks-late" in flags:
        sys.exit(1)
    place.mkdir(exist_ok=True)
    (place / "de-en.hyp").write_text("a\n")
    sys.exit()
print("now | INFO | main | num. shared model params: 1,234,567 (num. trained: 1,234,567)")
print("now | INFO | train_inner | epoch 001: 5 / 9 loss=4.25, nll_loss=3.1, num_updates=50, lr=1")
print("now | INFO | train_inner | epoch 001: 6 / 9 loss=4.12, nll_loss=3.0, num_updates=60, lr=1")
sys.stdout.flush()
while "--waits" in flags and not Path(os.environ["GATE"]).exists():
    time.sleep(0.02)
if "--breaks-early" in flags:
    print("out of luck\n")
    sys.exit(3)
print("now | INFO | main | done training in 1.0 seconds")
