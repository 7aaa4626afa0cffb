"""Digests of data folders that cost next to nothing."""

from support.data import databin
from support.prepared import prepared

from tdo_plugin.recording.origins import SAMPLE, data_identity


def test_a_prepared_folder_has_noted_its_digests():
    root = prepared().root
    whole, shard = data_identity([root, root / "shard2"]).values()
    assert whole == shard and whole["by"] == "prepared.json" and whole["files"] > 10


def test_another_folder_is_sampled(tmp_path):
    (plain,) = data_identity([databin()]).values()
    assert plain["by"] == "samples" and plain["files"] > 10

    def digest(content: bytes) -> str:
        (tmp_path / "train.en-de.en.bin").write_bytes(content)
        (identity,) = data_identity([tmp_path]).values()
        assert identity["bytes"] == len(content)
        return identity["digest"]

    large = bytearray(9 * SAMPLE)
    digests = {digest(bytes(large))}
    for place in (0, len(large) // 2, len(large) - 1):
        changed = bytearray(large)
        changed[place] = 1
        digests.add(digest(bytes(changed)))
    assert len(digests | {digest(b"")}) == 5
