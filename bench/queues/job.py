"""The job of every queue, and the journal in which it notes its end."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ADDRESS: Final = "QUEUES_ADDRESS"
JOURNAL: Final = "QUEUES_JOURNAL"
DEFAULTS: Final = "QUEUES_DEFAULTS"
PREFETCH: Final = 8  # taken ahead by one worker process, where a queue has a word for it
AT_ONCE: Final = 2  # jobs in one worker process


@dataclass(frozen=True, slots=True)
class Done:
    """One job that ended. Times in seconds of the system's monotonic clock, which all processes share."""

    number: int
    sent_s: float
    begun_s: float
    ended_s: float


def work(number: int, sent_s: float, seconds: float) -> None:
    """Sleep, and write one line; lines of several processes do not mix."""
    begun_s = time.monotonic()
    if seconds:
        time.sleep(seconds)
    with open(os.environ[JOURNAL], "ab", buffering=0) as file:
        file.write(f"{number} {sent_s} {begun_s} {time.monotonic()}\n".encode())


def read(journal: Path) -> list[Done]:
    """Return the jobs done so far, without a line that is just being written."""
    text = journal.read_text()
    lines = text[: text.rfind("\n") + 1].splitlines()
    return [Done(int(number), *map(float, times)) for number, *times in map(str.split, lines)]


def count(journal: Path) -> int:
    """Return how many jobs ended, repetitions included."""
    return journal.read_bytes().count(b"\n")
