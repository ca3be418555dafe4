"""The calls of `commit_sync` in the journals of the campaign's consumers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Call(NamedTuple):
    """A call: its start and duration in seconds (None: it never returned). `error` is "" without one."""

    began_s: float
    took_s: float | None
    error: str = ""


def calls(journals: Iterable[str]) -> list[Call]:
    """Return the calls of all journals (`cluster_kills/journal.py`), except one in progress at the end."""
    return [call for journal in journals for call in _calls(journal)]


def _calls(journal: str) -> Iterator[Call]:
    """Yield calls: each begins with its last A and ends with the next C or E. If a D comes first, it never returned."""
    began_s: float | None = None
    for line in journal.split("\n")[:-1]:
        kind, time, what = line.split(" ", 2)
        match kind:
            case "A":
                began_s = float(time)
            case "C" | "E" if began_s is not None:
                error = what.removeprefix("commit ") if kind == "E" else ""
                yield Call(began_s, float(time) - began_s, error)
                began_s = None
            case "D" if began_s is not None:
                yield Call(began_s, None)
                began_s = None
