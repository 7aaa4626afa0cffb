"""The files of an archive: the archive itself, or parts that are downloaded separately."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from tdo_plugin.corpora.description.schema import Archive
from tdo_plugin.corpora.sources.integrity import Expected


@dataclass(frozen=True)
class SourceFile:
    """A file to download.

    Attributes:
        name: its name in the cache.
        kind: a name whose ending determines the expected first bytes.
        urls: mirrors, the best first.
        expected: known size and checksums.
        source: where these facts were found.
    """

    name: str
    kind: str
    urls: tuple[str, ...]
    expected: Expected
    source: str

    def names(self) -> list[str]:
        """Accepted names of a copy: its name, or that at the end of an address."""
        return [self.name, *(unquote(urlsplit(url).path.rpartition("/")[2]) for url in self.urls)]

    def description(self) -> str:
        """Name, size and checksum."""
        expected = self.expected
        facts = [f"{expected.bytes:,} bytes"] if expected.bytes else []
        facts += [f"SHA-256 {expected.sha256}"] if expected.sha256 else []
        facts += [f"MD5 {expected.md5}"] if expected.md5 else []
        return self.name + (f" ({', '.join(facts)})" if facts else "")


def whole_file(archive: Archive) -> SourceFile:
    """The archive as one file, without addresses if it is stored in parts."""
    expected = Expected(archive.bytes, archive.sha256, archive.md5)
    return SourceFile(archive.name, archive.name, archive.urls, expected, archive.source)


def files_of(archive: Archive) -> list[SourceFile]:
    """The files to download, in the order in which they are read."""
    if not archive.parts:
        return [whole_file(archive)]
    first, *others = archive.parts
    # the first bytes of later parts cannot be derived from the archive's name
    kinds = [(first, archive.name), *((part, "") for part in others)]
    return [
        SourceFile(part.name, kind, part.urls, Expected(), archive.source) for part, kind in kinds
    ]
