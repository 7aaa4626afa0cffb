"""The beginning of a file, kept so that a later attempt can resume.

NAME.partial         the bytes so far
NAME.partial.json    the address they came from, the edition, and the total size
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from tdo_plugin.corpora.sources.integrity import Expected
from tdo_plugin.corpora.sources.web import Answer
from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json


@dataclass(frozen=True)
class Origin:
    """The file of which a partial file is the beginning."""

    url: str
    total: int | None
    edition: str

    def goes_on(self, answer: Answer, start: int, url: str) -> bool:
        """Whether an answer is the rest of this file from `start` on."""
        return (
            answer.status == 206
            and answer.start == start
            and answer.total == self.total
            and (url != self.url or answer.edition == self.edition)
        )


class Partial:
    """The bytes of a file so far.

    Args:
        target: the complete file.
    """

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(target.name + ".partial")
        self._about = target.with_name(target.name + ".partial.json")
        self._target = target

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def origin(self) -> Origin | None:
        try:
            return Origin(**read_json(self._about))
        except (OSError, ValueError, TypeError):
            return None

    def usable(self, url: str, expected: Expected) -> int:
        """The number of bytes that an address may continue.

        Bytes of another address only if a checksum verifies that the halves fit together.
        """
        origin = self.origin
        if origin is None or origin.total is None or self.size > origin.total:
            return 0
        if expected.bytes not in (None, origin.total):
            return 0
        return self.size if origin.url == url or expected.proves_content() else 0

    def begin(self, origin: Origin) -> None:
        """Start over, discarding earlier bytes."""
        self.path.write_bytes(b"")
        write_text(self._about, [json.dumps(asdict(origin))])

    def discard(self) -> None:
        """Remove everything."""
        self.path.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the file its name."""
        os.replace(self.path, self._target)
        self._about.unlink(missing_ok=True)
