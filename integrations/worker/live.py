"""The status line of a worker: on a terminal, one line that changes; elsewhere, a new line from time to time if there
is a change.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from typing import Final, Protocol, TextIO

from shareq.worker.counts import Counts

TERMINAL_S: Final = 0.5
ELSEWHERE_S: Final = 10.0
ERASE: Final = "\r\x1b[K"


class Looked(Protocol):
    """A lane, as the status line sees it."""

    def look(self) -> Counts: ...


class Shown(Protocol):
    """A run, as the status line sees it."""

    @property
    def lanes(self) -> Sequence[Looked]: ...


class LiveLine:
    """A status line that is written to `stream` until cancelled."""

    def __init__(self, stream: TextIO, terminal: bool | None = None) -> None:
        self._stream = stream
        self._terminal = stream.isatty() if terminal is None else terminal
        self._finished: dict[str, int] = {}
        self._last = ""

    async def show(self, run: Shown, every_s: float | None = None) -> None:
        """Show a line each `every_s` seconds."""
        pause_s = every_s or (TERMINAL_S if self._terminal else ELSEWHERE_S)
        try:
            while True:
                await asyncio.sleep(pause_s)
                self.write([lane.look() for lane in run.lanes], pause_s)
        finally:
            self.end([lane.look() for lane in run.lanes])

    def write(self, all_counts: Sequence[Counts], since_s: float) -> None:
        """Write one line; outside a terminal, only if it differs from the last one."""
        parts = []
        for counts in all_counts:
            finished = counts.finished
            parts.append(counts.line((finished - self._finished.get(counts.name, 0)) / since_s))
            self._finished[counts.name] = finished
        text = " | ".join(parts)
        if self._terminal:
            self._stream.write(ERASE + text[: shutil.get_terminal_size().columns - 1])
        elif text != self._last:
            self._stream.write(text + "\n")
        self._last = text
        self._stream.flush()

    def end(self, all_counts: Sequence[Counts]) -> None:
        """Show the sums in a last line."""
        sums = " | ".join(
            f"{each.name}: {each.done} done, {each.retried} retried, {each.rejected} rejected, {each.lost} lost"
            for each in all_counts
        )
        self._stream.write((ERASE if self._terminal else "") + sums + "\n")
        self._stream.flush()
