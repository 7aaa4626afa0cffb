"""Files of importance and of masks: what is read is what was written, and what else is refused."""

import pytest
import torch

from tdo_plugin.errors import UserError
from tdo_plugin.neuron_files import Importance, Masks, digest_of, place_of

NAMES = ("decoder_layers.2.cross_attention.key", "encoder_layers.0.feed_forward.inner")
THETA = {name: torch.rand(2, 3 + at, dtype=torch.float64) for at, name in enumerate(NAMES)}
ON = {name: theta > 0.5 for name, theta in THETA.items()}
PAIRS = ("de-en", "en-de")


def importance(**changed):
    sides = dict.fromkeys(NAMES, "target")
    values = {"method": "taylor", "pairs": PAIRS, "modules": THETA, "sides": sides}
    return Importance(**{**values, "checkpoint": "abc", "about": {"split": "train"}, **changed})


def masks(**changed):
    values = {
        "pairs": PAIRS,
        "modules": ON,
        "general": {name: mask[0] for name, mask in ON.items()},
    }
    return Masks(**{**values, "checkpoint": "abc", "about": {}, **changed})


@pytest.mark.parametrize("make", [importance, masks])
def test_read_as_written(make, tmp_path):
    make().write(tmp_path / "file")
    stored = type(make()).read(tmp_path / "file")
    assert list(stored.modules) == list(NAMES), "the model's order, not the file's"
    for field in ("pairs", "checkpoint", "about", "method", "sides"):
        assert getattr(stored, field, None) == getattr(make(), field, None)
    for part in ("modules", "general"):
        for name, tensor in getattr(make(), part, {}).items():
            assert torch.equal(getattr(stored, part)[name], tensor)
            assert getattr(stored, part)[name].dtype == tensor.dtype
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    (tmp_path / "other").touch()  # whoever reads the user's other files reads these
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_the_digest_is_of_the_content(tmp_path):
    def digest(**changed):
        masks(**changed).write(tmp_path / "file")
        return Masks.read(tmp_path / "file").digest

    first = digest()
    assert digest(about={"made": "later"}) == first
    assert digest(pairs=PAIRS[::-1]) != first
    assert digest(modules={name: ~mask for name, mask in ON.items()}) != first
    assert digest(general={name: mask[1] for name, mask in ON.items()}) != first


def test_a_writing_that_fails_leaves_nothing(tmp_path):
    importance().write(tmp_path / "file")
    before = (tmp_path / "file").read_bytes()
    with pytest.raises(TypeError):
        importance(about={"unwritable": object()}).write(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    with pytest.raises(UserError, match=r"`--out` must be a file that can be .*: No such file or"):
        importance().write(tmp_path / "no folder" / "file")


def test_what_is_refused(refused, tmp_path):
    file = tmp_path / "file"
    cases = {
        "nothing": (Masks, lambda: None),
        "zeros": (Importance, lambda: file.write_bytes(b"\0" * 100)),
        "the other kind": (Masks, importance().write),
        "cut": (Importance, lambda: file.write_bytes(file.read_bytes()[:-8])),
        "a row less": (Importance, importance(modules={n: t[:1] for n, t in THETA.items()}).write),
        "infinite": (Importance, importance(modules={n: t / 0 for n, t in THETA.items()}).write),
        "more pairs": (Masks, masks(pairs=(*PAIRS, "en-fr")).write),
    }
    for case, (kind, make) in cases.items():
        make(file) if getattr(make, "__name__", "") == "write" else make()
        with refused.raised(case, names="--option"):
            kind.read(file, "--option")


def test_digests_of_parameters():
    parameters = {"a": torch.arange(6.0), "b": torch.tensor(3)}
    assert digest_of(parameters) == digest_of(dict(reversed(parameters.items())))
    assert digest_of(parameters) != digest_of({**parameters, "a": parameters["a"].view(2, 3)})
    assert digest_of(parameters) != digest_of({**parameters, "a": parameters["a"].half()})
    assert digest_of(parameters) != digest_of({"a": parameters["a"], "c": parameters["b"]})


def test_places():
    assert place_of(NAMES[0]) == ("decoder", 3, "cross_attention", "key")
    assert place_of("layers.11.attention.out") == ("layers", 12, "attention", "out")
    with pytest.raises(ValueError, match=r"entry\.0 is not a module with neurons"):
        place_of("entry.0")
