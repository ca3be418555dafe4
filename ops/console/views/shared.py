"""The common part of views: parameters of requests, pages of lists, and errors instead of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from shareq.client.admin import Admin
from shareq.client.admin.calls import Outcome, Partition, sum_known, total
from shareq.client.core.list_offsets import EARLIEST, LATEST, OffsetAt
from shareq.client.errors import ClientError

Json: TypeAlias = dict[str, Any]
Look: TypeAlias = Callable[[Admin], Json]
PAGE: Final = 50
MAX_ROWS: Final = 500
"""The most rows of a list without pages: partitions of a topic, members of a group."""
_MOST: Final = 10**9


class WrongRequest(Exception):
    """A parameter that is missing or invalid."""


class Page(NamedTuple):
    """One page of a list, and the length of the whole list."""

    rows: Sequence[str]
    total: int


def required(given: Mapping[str, str], name: str) -> str:
    """Return a required parameter. Raises WrongRequest."""
    value = given.get(name, "")
    if not value:
        raise WrongRequest(f"{name} is missing")
    return value


def number(given: Mapping[str, str], name: str, default: int, lowest: int = 0, highest: int = _MOST) -> int:
    """Return a whole number from `lowest` to `highest`, both included. Raises WrongRequest."""
    text = given.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and lowest <= int(text) <= highest):
        raise WrongRequest(f"{name} {text[:40]}: must be a whole number from {lowest} to {highest}")
    return int(text)


def page_of(names: Iterable[str], search: str, page: int, size: int = PAGE) -> Page:
    """Return a page of the sorted names that contain `search`, in any case; the first page is 0."""
    wanted = search.lower()
    found = sorted(name for name in names if wanted in name.lower())
    return Page(found[page * size : (page + 1) * size], len(found))


def error_of(outcome: Outcome[Any]) -> str | None:
    """Return the error in place of a value; None if there is a value."""
    return str(outcome) if isinstance(outcome, ClientError) else None


def summed_lag(lags: Iterable[int | None]) -> Json:
    """Return the sum of known lags, and the number of partitions with unknown lag."""
    lag, unknown = sum_known(lags)
    return {"lag": lag, "unknown": unknown}


def finished(rows: Iterable[Json]) -> int | None:
    """Return the number of finished offsets in partitions whose end and lag are known."""
    return total(None if row["end"] is None or row["lag"] is None else row["end"] - row["lag"] for row in rows)


NO_LAG: Final[Json] = {"lag": None, "unknown": 0}
"""The lag of a group whose positions are unavailable."""


def ends_of(admin: Admin, partitions: Sequence[Partition]) -> dict[Partition, tuple[int | None, int | None]]:
    """Return start and end (the high watermark) of logs; None if unavailable."""
    starts = admin.topics.offsets(dict.fromkeys(partitions, EARLIEST))
    ends = admin.topics.offsets(dict.fromkeys(partitions, LATEST))
    return {each: (offset_in(starts[each]), offset_in(ends[each])) for each in partitions}


def offset_in(outcome: Outcome[OffsetAt]) -> int | None:
    """Return an offset; None if unavailable."""
    return None if isinstance(outcome, ClientError) else outcome.offset
