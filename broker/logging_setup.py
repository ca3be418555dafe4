"""Log lines on standard error: time, level, logger, message. Records, keys and secrets never reach a log."""

from __future__ import annotations

import logging
import sys
from typing import TextIO


def configure(level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send the log lines of this process to `stream` (standard error)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
