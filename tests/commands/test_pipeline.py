"""Functions that the scripts share (pipeline.sh), with stand-ins for what they start."""

from pathlib import Path

from support.scripts import script

LID = """
set -euo pipefail
source "$(dirname "$0")/pipeline.sh"
tdo() { echo "$@"; }
choose_lid
report_systems /run /data one
"""


def test_lid_176_is_taken_where_its_file_is(clone: Path, tmp_path: Path) -> None:
    (clone / "scripts" / "report.sh").write_text(LID)
    words = "score one=/run/one/output --data /data --out /run/report"
    shown = script(clone, "report.sh").stdout
    assert shown.startswith(f"{words}\nreport /run/report/scores.json --out /run/report\n")
    model = tmp_path / "lid 176.bin"
    wrong = script(clone, "report.sh", code=1, LID=model)
    assert f"`LID` must name fastText's lid.176; {model} is no file" in wrong.stderr
    model.touch()
    (tmp_path / "fasttext.py").write_text("raise ImportError")
    variables = {"LID": model, "PYTHONPATH": tmp_path}
    missing = script(clone, "report.sh", code=1, **variables).stderr
    assert "pip install fasttext-predict" in missing
    (tmp_path / "fasttext.py").write_text("")
    scored = script(clone, "report.sh", **variables).stdout
    assert scored.startswith(f"{words} --lid {model}\n")
    (clone / "lid.176.ftz").touch()
    output = script(clone, "report.sh", PYTHONPATH=tmp_path).stdout
    (clone / "lid.176.ftz").unlink()
    assert output.startswith(f"{words} --lid {clone / 'lid.176.ftz'}\n")


TRAINING = """
set -euo pipefail
source "$(dirname "$0")/pipeline.sh"
tdo() { [[ $1 == flags ]] && echo "--lr $LR" || true; }
mkdir -p "$RUN/bin"
cat >"$RUN/bin/python" <<'END'
#!/usr/bin/env bash
[[ $2 == *.gpus ]] && { echo 0; exit; }
while (($#)); do [[ $1 == --save-dir ]] && save=$2; shift; done
mkdir -p "$save"
echo begin >>"$save/updates"
[[ $save != *$FAIL* ]] || { echo "no luck"; exit 3; }
END
chmod +x "$RUN/bin/python"
VENV=$RUN
echo made >"$RUN/prepared.json"
train_systems "$RUN" "$RUN" /configs 2 1 one two -- --seed 1
"""


def test_trainings_resume_and_begin_anew_when_something_changed(
    clone: Path, tmp_path: Path
) -> None:
    """`train_systems` with a stand-in for fairseq that notes each start in its save-dir."""
    (clone / "scripts" / "try.sh").write_text(TRAINING)

    def train(lr: str, fail: str, code: int = 0) -> tuple[int, int]:
        result = script(clone, "try.sh", code=code, RUN=tmp_path, LR=lr, FAIL=fail)
        assert ("training of two failed" in result.stderr) == (code != 0)
        files = [tmp_path / name / "checkpoints" / "updates" for name in ("one", "two")]
        first, second = (len(path.read_text().splitlines()) for path in files)
        return first, second

    assert train("1", fail="two/", code=1) == (1, 1)
    first, second = train("1", fail="nobody")  # what failed goes on in the same save-dir
    assert second == 2 and first in (1, 2)  # the other may have been ended with it
    assert train("1", fail="nobody") == (first, second)  # all is trained
    assert "no luck" in (tmp_path / "two" / "train.log").read_text()  # nor is its log lost
    assert train("2", fail="nobody") == (1, 1)  # another config begins anew
    assert "no luck" not in (tmp_path / "two" / "train.log").read_text()


GPUS = """
set -euo pipefail
source "$(dirname "$0")/pipeline.sh"
running=()
free_gpu 3
running=([one]=1 [two]=2) gpu_of=([one]=0 [two]=1 [gone]=2)
free_gpu 3
running[three]=3 gpu_of[three]=2
free_gpu 3
unset 'running[two]'
free_gpu 3
CUDA_VISIBLE_DEVICES=5,7 running=([one]=1) gpu_of=([one]=5)
free_gpu 2
"""


def test_trainings_side_by_side_take_gpus_of_their_own(clone: Path, tmp_path: Path) -> None:
    (clone / "scripts" / "free.sh").write_text(GPUS)
    assert script(clone, "free.sh").stdout.split() == ["0", "2", "0", "1", "7"]
    body = TRAINING.replace("echo 0; exit", "echo 2; exit").replace(
        'echo begin >>"$save/updates"', 'echo "$CUDA_VISIBLE_DEVICES" >>"$save/updates"; sleep 3'
    )
    (clone / "scripts" / "try.sh").write_text(body)
    script(clone, "try.sh", RUN=tmp_path, LR="1", FAIL="nobody")
    files = [tmp_path / name / "checkpoints" / "updates" for name in ("one", "two")]
    assert [path.read_text() for path in files] == ["0\n", "1\n"]
