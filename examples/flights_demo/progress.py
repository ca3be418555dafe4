"""The demo's output while it runs: a line that rewrites itself on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import sys
import time

PLAIN_INTERVAL_S = 2.0


class Progress:
    """The progress display. `step` prints a permanent line; `show` the line that changes."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._tty = sys.stdout.isatty()
        self._shown = 0.0
        self._open_line = False

    def step(self, text: str) -> None:
        """Print a line that stays."""
        self.end()
        print(self._stamped(text), flush=True)

    def show(self, text: str) -> None:
        """Show the progress; may be dropped if called too often."""
        now = time.monotonic()
        if now - self._shown < (0.1 if self._tty else PLAIN_INTERVAL_S):
            return
        self._shown = now
        if self._tty:
            print(f"\r\x1b[K{self._stamped(text)}", end="", flush=True)
            self._open_line = True
        else:
            print(self._stamped(text), flush=True)

    def end(self) -> None:
        """Close the moving line."""
        if self._open_line:
            print(flush=True)
            self._open_line = False

    def _stamped(self, text: str) -> str:
        return f"{time.monotonic() - self._started:6.1f} s  {text}"
