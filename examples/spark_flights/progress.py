"""The progress events of the job's queries, read back from the file that its listener appends to."""

from __future__ import annotations

import json
from collections.abc import Iterable


class QueryProgress:
    """The progress of one query over all its runs: the rows of its micro-batches, and its source's counters."""

    def __init__(self) -> None:
        self.rows = 0
        self._totals: dict[str, dict[str, int]] = {}  # by run; the last event of a run has all that it counted

    def add(self, event: dict[str, object], totals: dict[str, int]) -> None:
        """Add the event of a micro-batch."""
        self.rows += int(str(event["numInputRows"]))
        self._totals[str(event["runId"])] = totals

    def total(self, counter: str) -> int:
        """Return the sum of a counter of the source, such as `swallowed`, over all runs that have reported it."""
        return sum(totals.get(counter, 0) for totals in self._totals.values())


def read_progress(lines: Iterable[str]) -> dict[str, QueryProgress]:
    """Return the queries by name. A line that a killed driver left half is passed over."""
    queries: dict[str, QueryProgress] = {}
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if "addBatch" in event["durationMs"]:  # else no micro-batch ran
            reported = event["sources"][0].get("latestOffset") or {}
            queries.setdefault(event["name"], QueryProgress()).add(event, reported.get("total", {}))
    return queries
