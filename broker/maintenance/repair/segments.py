"""A rewritten `.log` file: with repaired headers, and empty batches in place of lost ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import File, Fs
from shareq.broker.maintenance.verify.findings import HealHeader, LoseBatches, LoseTail
from shareq.broker.maintenance.verify.segments import chunks, empty_batches

_TEMPORARY_SUFFIX: Final = ".tmp"

Change = HealHeader | LoseBatches | LoseTail


class _Piece(NamedTuple):
    """A change: the bytes from `position` to `end` (None: the end of the file) become `content`."""

    position: int
    end: int | None
    content: bytes


def rewrite_segment(fs: Fs, path: str, changes: Sequence[Change]) -> None:
    """Replace the file by one with these changes, on stable storage. After an OSError the file is unchanged."""
    pieces = sorted(_piece(change) for change in changes)
    source = fs.open(path)
    try:
        write_new(fs, path, _changed(source, pieces))
    finally:
        source.close()


def write_new(fs: Fs, path: str, chunks: Iterator[bytes]) -> None:
    """Write a file with that content, to stable storage. Raise OSError."""
    target = fs.open(path + _TEMPORARY_SUFFIX, create=True)
    try:
        target.truncate(0)
        for chunk in chunks:
            target.append([chunk])
        target.sync()
    finally:
        target.close()
    fs.rename(path + _TEMPORARY_SUFFIX, path)
    fs.sync_dir(path.rpartition("/")[0])


def _piece(change: Change) -> _Piece:
    match change:
        case HealHeader(_, position, content):
            return _Piece(position, position + len(content), content)
        case LoseBatches(_, position, end, first_offset, next_offset):
            return _Piece(position, end, empty_batches(first_offset, next_offset))
        case LoseTail(_, position):
            return _Piece(position, None, b"")


def _changed(source: File, pieces: Sequence[_Piece]) -> Iterator[bytes]:
    size = source.size()
    position = 0
    for piece in pieces:
        yield from chunks(source.read_at, position, min(piece.position, size))
        if piece.content:
            yield piece.content
        position = size if piece.end is None else piece.end
    yield from chunks(source.read_at, position, size)
