"""Counters of the events of one share partition's records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shareq.broker.share.core.effects import GivenUpRange
from shareq.broker.share.core.values import AcquiredRange
from shareq.broker.share.core.window.record_state import GIVEN_UP
from shareq.broker.share.core.window.window import Run
from shareq.protocol.share import AcknowledgeType

_KINDS = len(AcknowledgeType)


class SharePartitionCounters:
    """Counts of records unless said otherwise; none decreases. They may outlive the share partition in memory.

    * `deliveries`: handed out, for the first time or again; `redeliveries`: handed out again.
    * `new_batches`: ranges of records that were put in flight together.
    * `acknowledged`: by acknowledge type, once it is durable. Clients acknowledge offsets without a record as GAP.
    * `lock_timeouts`: held until the acquisition lock ran out.
    * `session_releases`: given back because the share session of their holder ended.
    * `delays`: records that wait before their next delivery, counted once that is durable, or found waiting by a load;
      or records that wait for the time in their own header.
    * `expired`: rejected by the broker itself, because their time to live was over when they were read.
    * `dead_letters`: given up because the last delivery that is allowed failed, in whichever way.

    `oldest_since_ms` is not a count. It is set when the share partition leaves memory, to the time (monotonic) when its
    oldest unfinished record was put in flight.
    """

    __slots__ = (
        "acknowledged",
        "dead_letters",
        "delays",
        "deliveries",
        "expired",
        "lock_timeouts",
        "new_batches",
        "oldest_since_ms",
        "redeliveries",
        "session_releases",
    )

    def __init__(self) -> None:
        self.acknowledged = [0] * _KINDS
        self.deliveries = 0
        self.redeliveries = 0
        self.new_batches = 0
        self.lock_timeouts = 0
        self.session_releases = 0
        self.dead_letters = 0
        self.delays = 0
        self.expired = 0
        self.oldest_since_ms: int | None = None

    def add(self, other: SharePartitionCounters) -> None:
        """Add the counts of another share partition."""
        self.add_acknowledged(dict(enumerate(other.acknowledged)))
        self.deliveries += other.deliveries
        self.redeliveries += other.redeliveries
        self.new_batches += other.new_batches
        self.lock_timeouts += other.lock_timeouts
        self.session_releases += other.session_releases
        self.dead_letters += other.dead_letters
        self.delays += other.delays
        self.expired += other.expired

    def add_acknowledged(self, counts: Mapping[int, int]) -> None:
        """Count records by acknowledge type."""
        for kind, number in counts.items():
            self.acknowledged[kind] += number

    def add_dead_letters(self, given_up: Iterable[GivenUpRange]) -> None:
        """Count the records in ranges whose last delivery failed."""
        for first, last, _ in given_up:
            self.dead_letters += last - first + 1

    def add_deliveries(self, acquired: Iterable[AcquiredRange], new_batches: int) -> None:
        """Count the records handed out by one acquisition, and the batches that it put in flight."""
        deliveries = redeliveries = 0
        for first, last, delivery_count in acquired:
            deliveries += last - first + 1
            if delivery_count > 1:
                redeliveries += last - first + 1
        self.deliveries += deliveries
        self.redeliveries += redeliveries
        self.new_batches += new_batches


def records_in(runs: Iterable[Run]) -> int:
    """Return the number of offsets in the runs."""
    return sum(last - first + 1 for first, last, _ in runs)


def given_up(runs: Iterable[Run], start_offset: int) -> list[GivenUpRange]:
    """Return the runs that are given up because their last delivery failed.

    Runs below `start_offset` are left out: their records have left the log. No run reaches across it.
    """
    return [
        GivenUpRange(first, last, status.delivery_count)
        for first, last, status in runs
        if first >= start_offset and status.state in GIVEN_UP
    ]
