"""The kinds of files in a data folder, and one file of each kind there is."""

from __future__ import annotations

import os
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
    "log-start-offset-checkpoint": "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint": "recovery-point-offset-checkpoint",
    "cleaner-offset-checkpoint": "cleaner-offset-checkpoint",
    "clean-shutdown": "clean-shutdown",
    "reserve": "reserve",
}
"""By name."""

LOGS: Final = {
    "orders-0": "a topic",
    "keyed-0": "a compacted topic",
    "__consumer_offsets-0": "__consumer_offsets",
    "__share_group_state-0": "__share_group_state",
    "__transaction_state-0": "__transaction_state",
}
"""The partitions whose files are damaged. Others, `spare-0` and `later-0`, never are."""

TOPICS_NEVER_CLEANED: Final = ("orders-0", "spare-0", "later-0", "gone-0")

TRANSIENT: Final = (".swap", ".cleaned", ".deleted")
FOLDER: Final = "whole folder"


@dataclass(frozen=True, order=True)
class Target:
    """One file, or the folder, that is damaged: its kind, and its path below the data folder."""

    kind: str
    path: str

    @property
    def partition(self) -> str:
        """The folder of its partition; "" for a file of the data folder itself."""
        head, separator, _ = self.path.partition("/")
        return head if separator or self.kind.endswith(FOLDER) else ""


def targets(data: str) -> list[Target]:
    """One of each kind in the folder."""
    found = [Target(OF_THE_FOLDER.get(name, name), name) for name in sorted(os.listdir(data)) if _is_file(data, name)]
    for partition, said in LOGS.items():
        if os.path.isdir(f"{data}/{partition}"):
            found += _of_partition(data, partition, said)
    return found


def _is_file(data: str, name: str) -> bool:
    return os.path.isfile(f"{data}/{name}")


def _of_partition(data: str, partition: str, said: str) -> Iterator[Target]:
    names = sorted(os.listdir(f"{data}/{partition}"))
    segments = [name for name in names if name.endswith(".log")]
    for place, name in _places(segments):
        yield Target(f"{said}: .log, {place}", f"{partition}/{name}")
    if partition == "orders-0" or any(name.endswith(TRANSIENT) for name in names):
        others = [name for name in names if not name.endswith(".log")]
        for suffix in dict.fromkeys(_suffix(name) for name in others):
            name = [each for each in others if _suffix(each) == suffix][-1]
            yield Target(f"{said}: {suffix}", f"{partition}/{name}")
    yield Target(f"{said}: {FOLDER}", partition)


def _suffix(name: str) -> str:
    """What a file is, without the offset that it is named by."""
    return name[20:] if name[:20].isdigit() else name


def _places(segments: list[str]) -> Iterator[tuple[str, str]]:
    """Which segment stands for which place in the log."""
    if len(segments) == 1:
        yield "active segment", segments[0]
        return
    yield "first segment", segments[0]
    if len(segments) > 2:
        yield "middle segment", segments[len(segments) // 2 - 1 or 1]
    if len(segments) > 3:
        yield "last sealed segment", segments[-2]
    yield "active segment", segments[-1]
