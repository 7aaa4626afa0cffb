"""Stands for `tdo` in tests of the runner: makes what a command would, slowly, in two writes.

``python experiment_stand_in.py COMMAND ...`` notes in $NOTES what it was called with. What it makes
depends on its words and on its inputs. A training adds a line for each of its updates to a file,
and goes on behind those that are there; of the system $ENDS it ends once as by a signal. In $FAILS
are commands that fail, all of a NAME, or as NAME:PART those with PART among their words; in $PARTLY
those that make all and end with 1.
"""

import hashlib
import json
import os
import sys
import time
from itertools import pairwise
from pathlib import Path

from tdo_plugin.runtime.processes import end_with_parent


def main() -> int:
    end_with_parent()
    command, *words = sys.argv[1:]
    with open(os.environ["NOTES"], "a", encoding="utf-8") as notes:
        notes.write(json.dumps([command, *words]) + "\n")
    options = dict(pairwise(words))
    pause = float(os.environ.get("PAUSE", "0"))
    fails = (text.partition(":") for text in os.environ.get("FAILS", "").split())
    if any(command == name and part in " ".join(words) for name, _, part in fails):
        print("no memory")
        return 3
    if command == "train":
        pause = float(os.environ.get("TRAINS", pause))
        return train(Path(options["--save-dir"]), words, pause)
    out = Path(options.get("--out") or options.get("--out") or words[1])
    names = {"score": "scores.json", "report": "index.html"}
    file = out if out.suffix else out / names.get(command, "made")
    inputs = [word for word in words if "/" in word and not word.startswith(str(out))]
    text = digest("".join(map(content, inputs)))
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as stream:
        stream.write(text[:20])
        stream.flush()
        time.sleep(pause)
        stream.write(text[20:])
    print(f"made {file}")
    return int(command in os.environ.get("PARTLY", "").split())


def train(folder: Path, words: list[str], pause: float) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "checkpoint_last.pt"
    lines = file.read_text().splitlines() if file.is_file() else []
    print("+ fairseq-train stock", flush=True)
    ends = 5 if Path(words[0]).parent.name == os.environ.get("ENDS") else 10
    for update in range(len(lines), 10):
        time.sleep(pause / 10)
        lines.append(f"{update} {digest(settings(words[0]))} {digest(content(words[1]))}")
        partial = folder / "partial"
        partial.write_text("\n".join(lines))
        partial.replace(file)
        print(f"train_inner | loss=1.{update}, num_updates={update + 1}", flush=True)
        if update + 1 == ends < 10:
            return 143
    return 0


def settings(config: str) -> str:
    """A config but for its paths, which differ from run to run."""
    return "\n".join(line for line in content(config).splitlines() if "/" not in line)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def content(path: str) -> str:
    file = Path(path)
    file = file / "made" if (file / "made").is_file() else file
    return file.read_text() if file.is_file() else ""


if __name__ == "__main__":
    sys.exit(main())
