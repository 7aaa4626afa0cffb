"""The files behind an archive: the archive itself, or the parts that are fetched one by one."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from tdo_plugin.corpora.description.schema import Archive
from tdo_plugin.corpora.sources.integrity import Expected


@dataclass(frozen=True)
class SourceFile:
    """A file to fetch.

    Attributes:
        name: its name in the cache.
        kind: a name whose ending says what the first bytes must be.
        urls: mirrors, the best first.
        expected: what is known of it.
        source: where these facts were read.
    """

    name: str
    kind: str
    urls: tuple[str, ...]
    expected: Expected
    source: str

    def names(self) -> list[str]:
        """What a copy may be called: its name, or as it is at the end of an address."""
        return [self.name, *(unquote(urlsplit(url).path.rpartition("/")[2]) for url in self.urls)]

    def description(self) -> str:
        """Name, size and checksum."""
        expected = self.expected
        facts = [f"{expected.bytes:,} bytes"] if expected.bytes else []
        facts += [f"SHA-256 {expected.sha256}"] if expected.sha256 else []
        facts += [f"MD5 {expected.md5}"] if expected.md5 else []
        return self.name + (f" ({', '.join(facts)})" if facts else "")


def whole_file(archive: Archive) -> SourceFile:
    """The archive in one file, for which there are no addresses where it is kept in parts."""
    expected = Expected(archive.bytes, archive.sha256, archive.md5)
    return SourceFile(archive.name, archive.name, archive.urls, expected, archive.source)


def files_of(archive: Archive) -> list[SourceFile]:
    """What is to be fetched, in the order in which it is read."""
    if not archive.parts:
        return [whole_file(archive)]
    first, *others = archive.parts
    # what parts after the first begin with cannot be told from the archive's name
    kinds = [(first, archive.name), *((part, "") for part in others)]
    return [
        SourceFile(part.name, kind, part.urls, Expected(), archive.source) for part, kind in kinds
    ]
