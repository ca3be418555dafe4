"""The report of a query on itself: `latestOffset` in its progress events.

    {"lag": 1200, "locksHeld": 800, "unconfirmed": 0,
     "acquired": 800, "redelivered": 0, "swallowed": 0, "accepted": 750, "rejected": 0, "renewed": 0, "lost": 0,
     "total": {"acquired": 90800, ...}}

All of them count offsets. `lag` is how many records the share group has not finished yet, null while unknown;
`locksHeld` how many this query holds locked now; `unconfirmed` how many earlier micro-batches held without a leader's
confirmation that they are accepted. The others count since the micro-batch before this one was handed to Spark; `total`
since this run of the query began.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(slots=True)
class Counters:
    """Counts of offsets by outcome."""

    acquired: int = 0  # handed out to this query for the first time or again, whatever became of them
    redelivered: int = 0  # of those, new to this query and delivered before, to whomever
    swallowed: int = 0  # of those, already part of an earlier micro-batch: acknowledged, not emitted again
    accepted: int = 0
    rejected: int = 0  # by maxDeliveryCount
    renewed: int = 0  # locks renewed; a range counts each time
    lost: int = 0  # locks that ended before their records were acknowledged

    def since(self, earlier: Counters) -> dict[str, int]:
        """Return the differences, by name."""
        return {row.name: getattr(self, row.name) - getattr(earlier, row.name) for row in fields(self)}


class Progress:
    """Counters of a run and of the time since the last micro-batch. Written by the driver alone."""

    __slots__ = ("_before", "_next", "counters", "lag")

    def __init__(self) -> None:
        self.counters = Counters()
        self.lag: int | None = None
        self._before = Counters()
        self._next = Counters()

    def handed_out(self) -> None:
        """Hand a micro-batch to Spark: counts reported so far belong to it, later ones to the next one."""
        self._before = self._next
        self._next = replace(self.counters)

    def report(self, *, locks_held: int, unconfirmed: int) -> dict[str, object]:
        """Return the form described above, for `json.dumps`."""
        return {
            "lag": self.lag,
            "locksHeld": locks_held,
            "unconfirmed": unconfirmed,
            **self.counters.since(self._before),
            "total": self.counters.since(Counters()),
        }
