"""Progress events read back: JSON lines to micro-batches, by query."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Final, NamedTuple

from shareq.spark.query.progress import Counters

COUNTERS: Final = tuple(row.name for row in fields(Counters))
"""In the order in which they are shown."""


class Mark(NamedTuple):
    """Something that happened outside of the query, to be shown with it. `at_ms` since 1970, UTC."""

    at_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch. Times in milliseconds, `start_ms` since 1970, UTC."""

    run: str
    batch_id: int
    start_ms: int
    duration_ms: int
    rows: int
    phases: Mapping[str, int]  # Spark's durationMs
    lag: int | None = None  # None: not reported
    locks_held: int | None = None
    unconfirmed: int | None = None
    counters: Mapping[str, int] = field(default_factory=dict)  # since the batch before
    totals: Mapping[str, int] = field(default_factory=dict)  # since the run began

    @property
    def end_ms(self) -> int:
        return self.start_ms + self.duration_ms


@dataclass(slots=True)
class QueryEvents:
    """All micro-batches of one query, over all its runs, by time."""

    query_id: str
    name: str
    batches: list[Batch] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(batch.rows for batch in self.batches)

    @property
    def restarts(self) -> list[Batch]:
        """The first micro-batch of every run but the first."""
        pairs = zip(self.batches, self.batches[1:], strict=False)
        return [later for earlier, later in pairs if later.run != earlier.run]

    @property
    def untold(self) -> int:
        """Micro-batches between others that have no event: the driver was killed before it had written one."""
        seen = {batch.batch_id for batch in self.batches}
        return max(seen) - min(seen) + 1 - len(seen) if seen else 0

    def totals(self) -> dict[str, int]:
        """Each counter over all runs, as far as the last event of each run has it."""
        last = {batch.run: batch.totals for batch in self.batches if batch.totals}
        return {name: sum(totals.get(name, 0) for totals in last.values()) for name in COUNTERS}


def read_events(lines: Iterable[str]) -> tuple[list[QueryEvents], int]:
    """The queries of a progress log in the order in which they appear, and how many lines could not be read.

    A driver that is killed may leave half a line; events in which no micro-batch ran are passed over.
    """
    queries: dict[str, QueryEvents] = {}
    unreadable = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            event = json.loads(line)
            batch = _batch(event)
            query_id = str(event["id"])
            name = event.get("name") or query_id
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            unreadable += 1
            continue
        query = queries.setdefault(query_id, QueryEvents(query_id, str(name)))
        if batch is not None:
            query.batches.append(batch)
    for query in queries.values():
        query.batches.sort(key=lambda batch: (batch.start_ms, batch.batch_id))
    return [query for query in queries.values() if query.batches], unreadable


def _batch(event: dict[str, object]) -> Batch | None:
    phases = _dict(event["durationMs"])
    if "addBatch" not in phases:
        return None
    offsets = [
        offset
        for source in _dicts(event.get("sources"))
        if "locksHeld" in (offset := _dict(source.get("latestOffset")))
    ]
    lags = [lag for one in offsets if (lag := _number(one, "lag")) is not None]
    return Batch(
        run=str(event["runId"]),
        batch_id=int(str(event["batchId"])),
        start_ms=parse_time(str(event["timestamp"])),
        duration_ms=int(str(phases.get("triggerExecution", 0))),
        rows=int(str(event["numInputRows"])),
        phases={name: int(str(value)) for name, value in phases.items()},
        lag=sum(lags) if lags else None,
        locks_held=_sum(offsets, "locksHeld") if offsets else None,
        unconfirmed=_sum(offsets, "unconfirmed") if offsets else None,
        counters={name: _sum(offsets, name) for name in COUNTERS} if offsets else {},
        totals={name: _sum([_dict(one.get("total")) for one in offsets], name) for name in COUNTERS} if offsets else {},
    )


def parse_time(text: str) -> int:
    """Milliseconds since 1970 of an ISO time; without a zone it is UTC. ValueError when it is none."""
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        when = datetime.fromisoformat(text + "+00:00")
    return round(when.timestamp() * 1000)


def _sum(offsets: list[dict[str, object]], name: str) -> int:
    return sum(number for one in offsets if (number := _number(one, name)) is not None)


def _number(offset: dict[str, object], name: str) -> int | None:
    value = offset.get(name)
    return value if isinstance(value, int) else None


def _dict(value: object) -> dict[str, object]:
    """Spark hands out the JSON of a source; of other sources it may be anything."""
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, object]]:
    return [_dict(one) for one in value] if isinstance(value, list) else []
