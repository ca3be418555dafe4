"""The kinds of files in a data folder, and an example of each kind. A file of an unknown kind is an error."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

OF_THE_FOLDER: Final = {
    "shareq.data": "shareq.data (the marker)",
    "meta.db": "meta.db",
    "meta.db-wal": "meta.db-wal",
    "meta.db-shm": "meta.db-shm",
    "metadata.journal": "metadata.journal",
    ".lock": ".lock",
    "log-manifest": "log-manifest",
    "log-manifest.new": "log-manifest.new",
    "log-start-offset-checkpoint": "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint": "recovery-point-offset-checkpoint",
    "cleaner-offset-checkpoint": "cleaner-offset-checkpoint",
    "clean-shutdown": "clean-shutdown",
    "reserve": "reserve",
}
"""The kinds of files by name."""

LOGS: Final = {
    "orders-0": "a topic",
    "keyed-0": "a compacted topic",
    "__consumer_offsets-0": "__consumer_offsets",
    "__share_group_state-0": "__share_group_state",
    "__transaction_state-0": "__transaction_state",
}
"""The partitions whose files are damaged."""

NEVER_DAMAGED: Final = ("spare-0", "later-0", "gone-0")
TOPICS_NEVER_CLEANED: Final = ("orders-0", *NEVER_DAMAGED)

OF_A_PARTITION: Final = (
    ".log",
    ".index",
    ".timeindex",
    ".txnindex",
    ".snapshot",
    ".checksums",
    "partition.metadata",
    "leader-epoch-checkpoint",
    ".log.swap",
    ".log.cleaned",
    ".log.deleted",
    ".log.#.cut",
)
"""Names without the offset in front; # stands for a number."""

TRANSIENT: Final = (".swap", ".cleaned", ".deleted", ".cut", ".tmp", ".new")
FOLDER: Final = "whole folder"
DELETED_FOLDER: Final = re.compile(r"gone-0\.[0-9a-f]{32}-delete")
DELETED: Final = "a folder of a deleted topic"


class UnknownFile(Exception):
    """A file in the data folder whose kind the matrix does not know."""


@dataclass(frozen=True, order=True)
class Target:
    """The file or folder to damage: its kind, and its path below the data folder."""

    kind: str
    path: str

    @property
    def partition(self) -> str:
        """The folder of the target's partition; "" for a file of the data folder itself."""
        head, separator, _ = self.path.partition("/")
        return head if separator or self.kind.endswith(FOLDER) else ""

    @property
    def is_transient(self) -> bool:
        """True if the file exists only while a broker is in the middle of an operation."""
        return self.path.endswith(TRANSIENT) or self.kind.startswith(DELETED)


def targets(data: str) -> list[Target]:
    """Return one target of each kind in the folder. Raise UnknownFile."""
    found: list[Target] = []
    for name in sorted(os.listdir(data)):
        path = f"{data}/{name}"
        if os.path.isfile(path):
            found.append(Target(_kind_of(name), name))
        elif name in LOGS:
            found += _of_partition(path, name, LOGS[name])
        elif DELETED_FOLDER.fullmatch(name):
            found += _of_partition(path, name, DELETED)
        elif name not in NEVER_DAMAGED:
            raise UnknownFile(path)
    return found


def _kind_of(name: str) -> str:
    whole = name.removesuffix(".tmp")
    if whole not in OF_THE_FOLDER:
        raise UnknownFile(name)
    return OF_THE_FOLDER[whole] + name[len(whole) :]


def _of_partition(folder: str, partition: str, said: str) -> Iterator[Target]:
    names = sorted(os.listdir(folder))
    by_kind: dict[str, str] = {}
    for name in names:
        kind = suffix_of(name)
        if kind.removesuffix(".tmp") not in OF_A_PARTITION:
            raise UnknownFile(f"{folder}/{name}")
        by_kind[kind] = name
    for place, name in _places([name for name in names if name.endswith(".log")]):
        yield Target(f"{said}: .log, {place}", f"{partition}/{name}")
    if partition == "orders-0" or any(name.endswith(TRANSIENT) for name in names):
        for kind, name in by_kind.items():
            if kind != ".log":
                yield Target(f"{said}: {kind}", f"{partition}/{name}")
    yield Target(f"{said}: {FOLDER}", partition)


def suffix_of(name: str) -> str:
    """Return a file's name without the offset at its start, and with # for other numbers."""
    return re.sub(r"\d+", "#", name[20:] if name[:20].isdigit() else name)


def _places(segments: list[str]) -> Iterator[tuple[str, str]]:
    """Yield positions within a log (first, middle, last) and the segment at each."""
    if len(segments) < 2:
        yield from (("active segment", name) for name in segments)
        return
    yield "first segment", segments[0]
    if len(segments) > 2:
        yield "middle segment", segments[len(segments) // 2 - 1 or 1]
    if len(segments) > 3:
        yield "last sealed segment", segments[-2]
    yield "active segment", segments[-1]
