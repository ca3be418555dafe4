"""Random histories of a share partition of a group with delays: records with a delivery time, and delayed releases.

The judge checks the time of each delivery and the number of waiting records.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from shareq.broker.share.core.dates import DatedRange
from shareq.broker.share.core.effects import WriteState
from shareq.broker.share.core.partition import AckBatch, RangeView
from shareq.coordinator.ports import RecordDelays
from shareq.protocol.ack_delays import Later
from tests.support.models.order_world import OrderBroken, OrderWorld
from tests.support.models.share_partition import RELEASE, Span

LONGEST_MS = 2_000
WAITS = (1, 20, 150, LONGEST_MS)


class TooEarly(AssertionError):
    """An error: a record was delivered before its time, or too many wait."""


class DatedWorld(OrderWorld):
    def __init__(self, seed: int, *, failures: bool = True) -> None:
        self.dates: dict[int, int] = {}  # by the sender, by offset
        self.given: dict[int, int] = {}  # by who gave it back, or by the group, since that is durable
        self.chance = Random(f"dates {seed}")
        super().__init__(seed, failures=failures)
        self.settings = self.settings._replace(
            delay=RecordDelays(True, LONGEST_MS), order_by_key=self.chance.random() < 0.5
        )
        self.core.settings = self.settings

    def append(self) -> None:
        first = len(self.log)
        super().append()
        for offset in range(first, len(self.log)):
            if self.chance.random() < 0.4:
                self.dates[offset] = self.now_ms + self.chance.choice(WAITS)

    def _dated(self, spans: Sequence[Span]) -> Sequence[DatedRange]:
        return [
            DatedRange(offset, offset, self.dates[offset])
            for span in spans
            for offset in range(span.base_offset, span.last_offset + 1)
            if self.dates.get(offset, 0) > self.now_ms and not self.log[offset].gone
        ]

    def _later(self, acks: Sequence[AckBatch]) -> Sequence[Later]:
        released = [each.first_offset for each in acks if each.acknowledge_types[0] == RELEASE]
        return [Later(each, each, self.chance.choice(WAITS)) for each in released if self.chance.random() < 0.5]

    def _persist(self, write: WriteState) -> None:
        super()._persist(write)
        for first, last, time, _ in write.delays:
            self.given.update(dict.fromkeys(range(first, last + 1), time))

    def _judge_delivery(self, offset: int, before: dict[int, RangeView]) -> None:
        super()._judge_delivery(offset, before)
        time = max(self.dates.get(offset, 0) if not self.log[offset].gone else 0, self.given.pop(offset, 0))
        if time > self.now_ms:
            raise TooEarly(f"{offset} is handed out at {self.now_ms}, its time is {time}")

    def judge(self) -> None:
        super().judge()
        new = 0
        for view in self._views():
            if view.not_before_ms is not None and view.last_offset >= self.core.start_offset:
                size = view.last_offset - max(view.first_offset, self.core.start_offset) + 1
                new += size if view.delivery_count == 0 else 0
                if view.not_before_ms > self.now_ms + LONGEST_MS:
                    raise TooEarly(f"{view} waits for too long")
        most = self.settings.partition_max_record_locks // 2
        if self.settings.order_by_key:  # what waited for its key, and then for its time, has entered before
            most = self.core.in_flight_records
        if new > most:
            raise OrderBroken(f"{new} records wait that were never delivered: more than half of the window")
        counted = sum(v.last_offset - v.first_offset + 1 for v in self._views() if v.not_before_ms is not None)
        if counted != self.core.delayed_records:
            raise OrderBroken(f"{counted} records wait, {self.core.delayed_records} are counted")
