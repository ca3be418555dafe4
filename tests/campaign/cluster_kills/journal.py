"""A consumer's journal, a line for each step, with the monotonic time, which all processes of a machine share:

D TIME PARTITION OFFSET       delivered
A TIME PARTITION OFFSET,...   about to be confirmed
C TIME PARTITION OFFSET,...   confirmed
E TIME WHAT                   an error that the client got

Each life of a consumer has a file of its own, journal-NUMBER-LIFE-CLIENT.txt, so that a line that its end cut off is
the file's last.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.campaign.cluster_kills.judge import Place, Seen, by_partition


class Journal:
    """A file to which each line is written at once."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", buffering=1)  # noqa: SIM115 - closed by `__exit__`

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def note(self, kind: str, what: str) -> None:
        self._file.write(f"{kind} {time.monotonic():.4f} {what}\n")

    def delivered(self, partition: int, offset: int) -> None:
        self.note("D", f"{partition} {offset}")

    def tried(self, places: Iterable[Place]) -> None:
        self._note_all("A", places)

    def confirmed(self, places: Iterable[Place]) -> None:
        self._note_all("C", places)

    def _note_all(self, kind: str, places: Iterable[Place]) -> None:
        for partition, offsets in by_partition(places).items():
            self.note(kind, f"{partition} {','.join(map(str, offsets))}")


class Journals:
    """All journals of a folder, read further on each access."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = Seen()
        self._read: dict[Path, int] = {}

    def seen(self) -> Seen:
        """Return the entries of all journals so far, always in the same object."""
        for path in sorted(self._folder.glob("journal-*.txt")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                whole = file.read().rpartition(b"\n")[0]
            if whole:
                self._seen.read(whole.decode().split("\n"), path.stem.rpartition("-")[2])
                self._read[path] = self._read.get(path, 0) + len(whole) + 1
        return self._seen
