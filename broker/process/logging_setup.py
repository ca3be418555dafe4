"""Log lines on standard error: time, level, logger, message. Records, keys and secrets never reach a log."""

from __future__ import annotations

import logging
import sys
from typing import Final, TextIO

# Control characters, and what else some readers take for the end of a line.
_ESCAPED: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))} | {
    0x2028: r"\u2028",
    0x2029: r"\u2029",
}


class _Lines(logging.Formatter):
    """One line for each message: names that clients choose cannot forge another."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message.translate(_ESCAPED)
        return super().formatMessage(record)


def configure(level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send the log lines of this process to `stream` (standard error)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_Lines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
