"""The catalog of one backup, a file of lines. Pure.

    {"backup": 1, "cluster_id": "...", "taken_ms": ..., "release": "0.1.0", "warnings": [...]}
    {"path": "orders-0/00000000000000000000.log", "size": 1048576, "sha256": ..., "object": ..., "at": 0, "seen": [...]}
    ...
    {"files": 12, "sha256": "..."}       of every byte before this line

`path` is relative to the data folder, in the order in which a restore makes the files: the marker of a data folder
comes last. The content is `size` bytes at `at` of the object with that SHA-256; small files share one object. `seen`
are the attributes of the copied file: a file that still has them need not be read again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

CATALOG_FORMAT: Final = 1
_HASH_LETTERS: Final = 64


class CatalogError(ValueError):
    """Error: the catalog is invalid, is damaged, or is of a newer release."""


class Entry(NamedTuple):
    """One file of a backup. `seen` is empty for files that the backup has made itself."""

    path: str
    size: int
    sha256: str
    object: str
    at: int = 0
    seen: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalog:
    """One backup. `taken_ms` is the moment of its content, as wall-clock time in milliseconds."""

    cluster_id: str
    taken_ms: int
    release: str
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The bytes of all files together."""
        return sum(entry.size for entry in self.entries)

    def to_bytes(self) -> bytes:
        head = {
            "backup": CATALOG_FORMAT,
            "cluster_id": self.cluster_id,
            "taken_ms": self.taken_ms,
            "release": self.release,
            "warnings": list(self.warnings),
        }
        lines = [head, *(entry._asdict() for entry in self.entries)]
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        return body + json.dumps({"files": len(self.entries), "sha256": sha256(body).hexdigest()}).encode() + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> Catalog:
        """Return the catalog in these bytes. Raise CatalogError if a byte has changed, or a newer release wrote it."""
        body, newline, tail = data.rstrip(b"\n").rpartition(b"\n")
        body += newline
        try:
            end = json.loads(tail)
            head, *lines = [json.loads(line) for line in body.split(b"\n")[:-1]]
            if end != {"files": len(lines), "sha256": sha256(body).hexdigest()}:
                raise CatalogError("its checksum does not match")
            if head["backup"] > CATALOG_FORMAT:
                raise CatalogError(f"format {head['backup']} is newer than this release, which reads {CATALOG_FORMAT}")
            entries = tuple(Entry(**{**line, "seen": tuple(line["seen"])}) for line in lines)
            catalog = cls(
                str(head["cluster_id"]), int(head["taken_ms"]), str(head["release"]), entries, tuple(head["warnings"])
            )
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            if isinstance(error, CatalogError):
                raise
            raise CatalogError("it is damaged") from error
        if not all(map(_is_sound, entries)):
            raise CatalogError("it is damaged")
        return catalog


def is_safe_path(path: str) -> bool:
    """Return True if the path stays below the folder to which it is relative."""
    parts = path.split("/")
    return bool(path) and "\0" not in path and not any(part in ("", ".", "..") for part in parts)


def _is_sound(entry: Entry) -> bool:
    hashes = (entry.sha256, entry.object)
    return (
        is_safe_path(entry.path)
        and entry.size >= 0
        and entry.at >= 0
        and all(len(each) == _HASH_LETTERS and set(each) <= set("0123456789abcdef") for each in hashes)
    )
