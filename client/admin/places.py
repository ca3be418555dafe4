"""Places in logs, as a user writes them: `earliest`, `latest`, an offset, a time or an age; and their offsets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final, NamedTuple

from shareq.client.admin.calls import Outcome, Partition
from shareq.client.core.list_offsets import EARLIEST, LATEST
from shareq.client.errors import ClientError

if TYPE_CHECKING:
    from shareq.client.admin.client import Admin

FORMS: Final = "earliest, latest, an offset, a time as 2026-03-01T12:00 (UTC without a zone), or an age as -90m"
_UNITS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"(\d{1,12})([smhd])")
_LONGEST_OFFSET: Final = 19


class Place(NamedTuple):
    """A place: a number of `kind` offset or time (milliseconds, or EARLIEST and LATEST)."""

    kind: str
    value: int


def parse_place(text: str, now_ms: int) -> Place:
    """Read a place, ages back from `now_ms`. Raises ValueError for an invalid one."""
    if text in ("earliest", "latest"):
        return Place("time", EARLIEST if text == "earliest" else LATEST)
    if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_OFFSET:
        return Place("offset", int(text))
    if text.startswith("-"):
        return Place("time", max(0, now_ms - parse_duration(text[1:])))
    return Place("time", parse_moment(text))


def parse_duration(text: str) -> int:
    """Read a duration such as 90s, 5m, 2h or 7d, and return milliseconds. Raises ValueError for any other text."""
    found = _DURATION.fullmatch(text)
    if found is None or not text.isascii():
        raise ValueError(f"{text}: must be a duration as 5m")
    return int(found[1]) * _UNITS[found[2]]


def parse_moment(text: str) -> int:
    """Read a time, and return milliseconds since the epoch. Raises ValueError for any other text."""
    read = datetime.fromisoformat(text)
    aware = read if read.tzinfo is not None else read.replace(tzinfo=timezone.utc)  # noqa: UP017
    return int(aware.timestamp() * 1000)


def offsets_of(admin: Admin, at: Place, partitions: Sequence[Partition]) -> dict[Partition, Outcome[int]]:
    """Return the offsets of a place in partitions. A place beyond the end counts as the end, one below the start as the
    start.
    """
    if at.kind == "time" and at.value < 0:
        plain = admin.topics.offsets(dict.fromkeys(partitions, at.value))
        return {each: one if isinstance(one, ClientError) else one.offset or 0 for each, one in plain.items()}
    starts = admin.topics.offsets(dict.fromkeys(partitions, EARLIEST))
    ends = admin.topics.offsets(dict.fromkeys(partitions, LATEST))
    times = admin.topics.offsets(dict.fromkeys(partitions, at.value)) if at.kind == "time" else {}
    found: dict[Partition, Outcome[int]] = {}
    for each in partitions:
        start, end, by_time = starts[each], ends[each], times.get(each)
        if isinstance(start, ClientError):
            found[each] = start
        elif isinstance(end, ClientError):
            found[each] = end
        elif isinstance(by_time, ClientError):
            found[each] = by_time
        else:
            wanted = at.value if by_time is None else by_time.offset
            last = end.offset or 0
            found[each] = last if wanted is None else min(max(wanted, start.offset or 0), last)
    return found
