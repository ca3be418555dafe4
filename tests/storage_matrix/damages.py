"""The damages of a file: a flipped bit, a cut end, zeros, removal, an older copy in its place.

Each also returns which bytes it hit, from which the judge derives what may be missing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tests.storage_matrix.kinds import Target

HEADER_PLACES: Final = {
    "BaseOffset": 7,
    "Length": 11,
    "PartitionLeaderEpoch": 15,
    "Magic": 16,
    "CRC": 18,
    "LastOffsetDelta": 26,
    "RecordsCount": 60,
}
"""Bytes of a batch's header, by their field."""

Hit = tuple[int, int]  # bytes of the file as it was: from, to (exclusive)
Everything: Final[Hit] = (0, 1 << 62)


@dataclass(frozen=True)
class Damage:
    """A damage of a file or folder. `do` takes the path, and returns the bytes hit; None if nothing changed."""

    name: str
    variant: str
    do: Callable[[str], Hit | None]
    copy: str = ""  # what is put in its place


def damages(target: Target, data: str, older: Sequence[str]) -> list[Damage]:
    path = f"{data}/{target.path}"
    missing = Damage("missing", "", _remove)
    copies = [
        Damage("older copy", os.path.basename(folder), _replacing(copy), copy)
        for folder in older
        if os.path.exists(copy := f"{folder}/{target.path}")
    ]
    if os.path.isdir(path):
        return [missing, *copies]
    size = os.path.getsize(path)
    found = [missing, *copies]
    if size:
        found += _flips(path, size)
        found += [Damage("cut", f"to {to}", _cutting(to)) for to in sorted({0, size // 2, size - 1})]
        spans = sorted({(0, size), (0, size // 2), (size // 2, size)})
        found += [Damage("zeroed", f"{start} to {end}", _zeroing(start, end)) for start, end in spans if start < end]
    return found


def _flips(path: str, size: int) -> Iterator[Damage]:
    places = {f"byte {at}": at for at in sorted({0, size // 3, size // 2, size - 1})}
    if path.endswith(".log"):
        second = _second_batch(path)
        places |= {f"{field} of a batch": second + at for field, at in HEADER_PLACES.items() if second + at < size}
    for said, at in places.items():
        yield Damage("bit flip", said, _flipping(at))


def _second_batch(path: str) -> int:
    """Return the position of a segment's second batch, or of the first one if there is no other."""
    with open(path, "rb") as file:
        head = file.read(12)
        size = 12 + int.from_bytes(head[8:12], "big")
        return size if size < os.path.getsize(path) else 0


def _flipping(at: int) -> Callable[[str], Hit]:
    def flip(path: str) -> Hit:
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 0x04]))
        return at, at + 1

    return flip


def _cutting(to: int) -> Callable[[str], Hit]:
    def cut(path: str) -> Hit:
        os.truncate(path, to)
        return to, Everything[1]

    return cut


def _zeroing(start: int, end: int) -> Callable[[str], Hit]:
    def zero(path: str) -> Hit:
        with open(path, "r+b") as file:
            file.seek(start)
            file.write(bytes(end - start))
        return start, end

    return zero


def _remove(path: str) -> Hit:
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
    return Everything


def _replacing(copy: str) -> Callable[[str], Hit | None]:
    """Return a damage that replaces the file by a copy, such as a backup may have had."""

    def replace(path: str) -> Hit | None:
        if os.path.isdir(copy):
            shutil.rmtree(path)
            shutil.copytree(copy, path)
            return Everything
        if _read(copy) == _read(path):
            return None
        before, after = _read(path), _read(copy)
        shutil.copyfile(copy, path)
        same = next((at for at, (was, is_now) in enumerate(zip(before, after, strict=False)) if was != is_now), None)
        return (min(len(before), len(after)) if same is None else same), Everything[1]

    return replace


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
