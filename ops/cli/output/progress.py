"""The progress of a long command: one line on the terminal's standard error, erased before any other output."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import Final

EVERY_S: Final = 0.2
BEGIN_AFTER_S: Final = 1.0
"""The seconds before the first line: a shorter command shows no progress."""


class Progress:
    """A line on a terminal that is written over itself; nothing is written to a pipe, a file or the log of a job.

    `beside_output`: the command prints while it works, so the line is shown only if the output goes elsewhere.
    """

    _shown = False  # of all of them: there is one terminal

    def __init__(self, *, beside_output: bool = False) -> None:
        self._is_on = sys.stderr.isatty() and not (beside_output and sys.stdout.isatty())
        self._due_s = time.monotonic() + BEGIN_AFTER_S

    def show(self, text: str) -> None:
        """Show the text, but not too often."""
        if not self._is_on or (now := time.monotonic()) < self._due_s:
            return
        self._due_s = now + EVERY_S
        visible = "".join(each if each.isprintable() else "?" for each in text)
        Progress._shown = True
        sys.stderr.write(f"\r\x1b[K{visible[: shutil.get_terminal_size().columns - 1]}")
        sys.stderr.flush()

    @staticmethod
    def clear() -> None:
        """Erase the line."""
        if Progress._shown:
            Progress._shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
