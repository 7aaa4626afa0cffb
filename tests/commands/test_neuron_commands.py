"""`tdo neurons`, one after the other in processes of their own."""

from pathlib import Path

from support.neuron_files import importance_of

from tdo_plugin.neuron_files import Importance, Masks

PAIRS = ["it-en", "en-it", "ro-en", "en-ro"]


def test_from_importance_to_pictures(run, tmp_path):
    importance_of(PAIRS, 2, 16, 32).write(tmp_path / "importance")

    def tdo(*words: str) -> str:
        done = run("python", "-m", "tdo_plugin", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return done.stdout

    words = ("--by", "separate", "--general", "0.5", "--out", "masks")
    tdo("neurons", "allocate", "importance", *words)
    masks = Masks.read(tmp_path / "masks")
    assert masks.about["importance"] == Importance.read(tmp_path / "importance").digest
    # by source and by target language there are three groups each
    encoder, decoder = (f"{name}_layers.0.feed_forward.inner" for name in ("encoder", "decoder"))
    assert masks.modules[encoder][1].equal(masks.modules[encoder][3])
    assert masks.modules[decoder][0].equal(masks.modules[decoder][2])
    printed = tdo("neurons", "draw", "allocation", "masks", "--out", "a")
    printed += tdo("neurons", "draw", "importance", "importance", "--out", "b")
    named = [Path(line) for line in printed.splitlines() if line.startswith(str(tmp_path))]
    files = {path for name in "ab" for path in (tmp_path / name).iterdir() if path.name != ".lock"}
    assert set(named) == files and len(named) == len(files) == 10 + 7
