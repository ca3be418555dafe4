"""The file that tasks write to, named in the environment."""

from __future__ import annotations

import os
import time


def note(word: str, number: int) -> None:
    """Write one line; processes do not mix lines. The process group is what a kill of the worker kills."""
    with open(os.environ["CELERY_KILLS_JOURNAL"], "ab", buffering=0) as file:
        file.write(f"{word} {number} {os.getpgrp()} {time.monotonic()}\n".encode())
