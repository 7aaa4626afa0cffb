"""Target text alone, from `tdo monolingual` to a training on it."""

import gzip
import json

import pytest
from support.auxiliary_data import monolingual
from support.covering import mostly_full
from support.data import CROSS_ENTROPY, TAG, TASK, TDO, TRAIN, built, iterate, temporary, train
from support.folders import snapshot
from support.prepared import LARGER, prepared
from support.prepared import TASK as PREPARED
from support.trainings import stopped_and_resumed
from support.workers import in_torch_s_wrapper

from tdo_plugin.cli import main
from tdo_plugin.data.segmentation import join_pieces

LANGUAGE_MODEL = ("--task", "tdo_translation", *TASK, *TRAIN, *TDO)
TERMS = ("--criterion", "label_smoothed_cross_entropy_terms", "--label-smoothing", "0.1")
TARGET = "--decoder-langtok"
PREFIX = ("--tdo-target-layer", "0", "--tdo-adaptation-dim", "0")
CAUSAL = ("--tdo-source-attention", "causal")


def lone(*flags):
    return (*LANGUAGE_MODEL, *flags, "--monolingual", str(monolingual()))


# --- training --------------------------------------------------------------------------------

SYSTEMS = {
    "TDO": (TARGET,),
    "TDO, the tag on the source": TAG,
    "prefix": (TARGET, *PREFIX),
    "causal": (TARGET, *PREFIX, *CAUSAL),
    "language-aware": (TARGET, "--tdo-laln", "both", "--tdo-lalt", "identity"),
    "cut residual": (TARGET, "--tdo-cut-residual", "1"),
    "tags for ends": (TARGET, "--lang-tok-replacing-bos-eos"),
    "an embedding for each side": (TARGET, "--tdo-share-embeddings", "none"),
}


@pytest.mark.parametrize("name", mostly_full(SYSTEMS, quick=3))
def test_every_system_learns_from_it(name, tmp_path):
    """In a batch's own log; the validation is of the pairs alone."""
    flags = (*TERMS, "--max-update", "60", "--no-save", "--monolingual-share", "0.7")
    losses = train(tmp_path, *lone(*SYSTEMS[name]), *flags)
    each = [batch["loss"] / batch["ntokens"] for batch in losses]
    assert sum(each[-10:]) < 0.9 * sum(each[:10])


@pytest.mark.full
def test_stop_and_resume(tmp_path):
    """With dropout, accumulation, virtual epochs that are keyed, and a stop within an epoch."""
    flags = (*lone(TARGET), *TERMS, "--update-freq", "2", "--virtual-epoch-size", "150")
    flags = (*flags, "--virtual-epoch-draw", "keyed", "--max-tokens", "60")
    first, second = stopped_and_resumed(tmp_path, *flags, stop=4, end=11)
    assert len(first + second) == 22


@pytest.mark.parametrize(
    ("more",), mostly_full([((),), (("--tdo-laln", "both", "--tdo-lalt", "xavier"),)])
)
def test_torch_s_own_wrapper(more, tmp_path):
    """Every parameter has a part in a batch without a source, if only with nothing to add."""
    task, model, criterion = built(*lone(TARGET), *TERMS, "--dropout", "0", *more)
    batches = iterate(task, "train", max_tokens=40)
    lengths = [batch["net_input"]["src_tokens"].size(1) for batch in batches]
    chosen = [lengths.index(0), lengths.index(max(lengths)), lengths.index(0)]

    def work(wrapped):
        for number in chosen:
            wrapped.zero_grad()
            criterion(wrapped, batches[number])[0].backward()
            below = model.core.stack.layers[0].parameters()
            assert any(parameter.grad.any() for parameter in below) == bool(lengths[number])

    in_torch_s_wrapper(model, work, tmp_path / "meeting")


# --- the folder ------------------------------------------------------------------------------


@pytest.fixture
def text(tmp_path):
    """German and French lines; some are the data's own validation and test text."""

    def write(name, lines):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    root = prepared().root
    held_out = [
        *(root / "reference" / "test.de").read_text(encoding="utf-8").split("\n")[:2],
        join_pieces((root / "pieces" / "valid.en-de.de").read_text("utf-8").split("\n")[0]),
    ]
    trained = (root / "pieces" / "train.en-de.de").read_text("utf-8").split("\n")[:9]
    german = [*map(join_pieces, trained[:8]), *held_out, "", "  ", "ein\x07Ton", "Haus " * 300]
    french = (root / "pieces" / "train.en-fr.fr").read_text("utf-8").split("\n")[:5]
    again = gzip.compress(f"{join_pieces(trained[3])}\n{join_pieces(trained[8])}".encode())
    (tmp_path / "more.gz").write_bytes(again)
    return {
        "de": write("german.txt", german),
        "more": tmp_path / "more.gz",
        "fr": write("french.txt", map(join_pieces, french)),
    }


def make(out, *words, code=0):
    arguments = ["monolingual", str(prepared().root), "--out", str(out), "--workers", "1"]
    assert main([*arguments, *map(str, words)]) == code


@pytest.mark.full
def test_from_text_to_a_training(text, tmp_path, capsys):
    out = tmp_path / "lone"
    words = ("--text", f"de={text['de']}", f"fr={text['fr']}", f"de={text['more']}")
    make(out, *words, "--max-pieces", "300")
    stderr = capsys.readouterr().err
    assert (
        "de: 17 lines, 9 kept (2 empty, 1 unreadable, 1 duplicates, 3 held-out, 1 too long)"
        in stderr
    )
    assert "fr: 5 lines, 5 kept\n" in stderr
    record = json.loads((out / "monolingual.json").read_text())
    assert record["sets"] == {"de-de": 9, "fr-fr": 5}
    pieces = (prepared().root / "pieces" / "train.en-de.de").read_text("utf-8").split("\n")[:9]
    assert (out / "pieces" / "train.de-de.de").read_text("utf-8").split("\n") == [*pieces, ""]
    folder = tmp_path / "model"
    flags = (*PREPARED, TARGET, *TRAIN, *TDO, *LARGER, *CROSS_ENTROPY, "--max-update", "6")
    flags = (*flags, "--monolingual", str(out), "--monolingual-share", "0.3")
    losses = train(folder, "--task", "tdo_translation", *flags, data=prepared().root)
    assert len(losses) == 6
    # what is trained decodes as ever, also where the folder is not
    out.rename(tmp_path / "elsewhere")
    model = folder / "checkpoint_last.pt"
    words = ("--path", model, "--cpu", "--pairs", "en-de", "--beam", "1", "--max-len-b", "8")
    arguments = (*words, "--out", tmp_path / "hypotheses", "--workers", "1")
    assert main(["translate", str(prepared().root), *map(str, arguments)]) == 0


def test_a_whole_folder_stays(refused, text, tmp_path, capsys):
    out, words = tmp_path / "lone", ("--text", f"fr={text['fr']}")
    make(out, *words)
    before = snapshot(out)
    make(out, *words)
    assert "is already complete" in capsys.readouterr().err
    other = ("--text", f"de={text['de']}")
    refused("monolingual", prepared().root, "--out", out, *other, names="--fresh")
    assert snapshot(out) == before
    make(out, *other, "--fresh")
    assert {path.name for path in out.glob("train.*.idx")} == {"train.de-de.de.idx"}
    assert json.loads((out / "monolingual.json").read_text())["sets"].keys() == {"de-de"}


@pytest.mark.parametrize("place", ["tdo_plugin.data.set_parts.binarise", "text"])
def test_a_stopped_run_goes_on(place, text, tmp_path, monkeypatch):
    words = ("--text", f"de={text['de']}", f"fr={text['fr']}")
    make(tmp_path / "whole", *words)
    out = tmp_path / "parts"

    def stop(*_):
        raise KeyboardInterrupt

    where = "tdo_plugin.corpora.monolingual_folder.make_further" if place == "text" else place
    with monkeypatch.context() as stopped:
        stopped.setattr(where, stop)
        make(out, *words, code=130 if place == "text" else 2)
    assert not (out / "monolingual.json").exists() and not list(out.glob("train.*"))
    kept = (out / "work" / "text" / "fr").stat().st_mtime_ns
    make(out, *words)
    assert (out / "work" / "text" / "fr").stat().st_mtime_ns == kept
    for path in (tmp_path / "whole").glob("*.*"):
        assert (out / path.name).read_bytes() == path.read_bytes(), path.name


def test_bad_input(refused, text, tmp_path):
    files = {
        "empty": b"\n \n",
        "latin": b"gut\nsch\xf6n\n",
        "cut.gz": gzip.compress(b"a\n" * 9)[:-4],
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    folder, taken, out = tmp_path / "folder", tmp_path / "file", temporary() / "lone"
    folder.mkdir()
    for path in (folder / "thesis.txt", taken):
        path.write_text("mine\n")
    data = snapshot(prepared().root)
    refused.rows(
        """
        monolingual {data} --workers 1 --out {out} --text
            nowhere.txt                 :: --text
            de=                         :: --text
            xx={french}                 :: en, de, fr; it is xx
            de={french} --max-pieces 0  :: --max-pieces
            de={french} --workers 0     :: --workers
            de={tmp}/empty              :: de: 2 lines, 0 kept (2 empty)
            fr={french} --max-pieces 1  :: not longer than 1 pieces
            de={tmp}/latin              :: latin` line 2
            de={tmp}/cut.gz             :: cut.gz
            fr={french} --out {folder}  :: --out
            fr={french} --out {taken}   :: --out
            fr={french} --out {data}    :: --out
        """,
        data=prepared().root,
        out=out,
        french=text["fr"],
        tmp=tmp_path,
        folder=folder,
        taken=taken,
    )
    assert not (out / "monolingual.json").exists()
    assert snapshot(prepared().root) == data
    assert (folder / "thesis.txt").read_text() == taken.read_text() == "mine\n"
