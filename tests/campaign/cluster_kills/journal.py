"""A consumer's journal, a line for each step, with the monotonic time, which all processes of a machine share:

D TIME PARTITION OFFSET       delivered A TIME PARTITION OFFSET,...   about to be confirmed C TIME PARTITION OFFSET,...
confirmed E TIME WHAT                   an error that the client got
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from tests.campaign.cluster_kills.judge import Place, by_partition


class Journal:
    """A file that has each line as soon as it is written."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", buffering=1)  # noqa: SIM115 - closed by `__exit__`

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def note(self, kind: str, what: str) -> None:
        """Write a line."""
        self._file.write(f"{kind} {time.monotonic():.4f} {what}\n")

    def delivered(self, partition: int, offset: int) -> None:
        """Note a record that was handed out."""
        self.note("D", f"{partition} {offset}")

    def tried(self, places: Iterable[Place]) -> None:
        """Note records that are about to be confirmed."""
        self._note_all("A", places)

    def confirmed(self, places: Iterable[Place]) -> None:
        """Note records whose confirmation came."""
        self._note_all("C", places)

    def _note_all(self, kind: str, places: Iterable[Place]) -> None:
        for partition, offsets in by_partition(places).items():
            self.note(kind, f"{partition} {','.join(map(str, offsets))}")
