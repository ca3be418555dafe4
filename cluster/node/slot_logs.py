"""The logs of the slots that this node owns, as the coordinators find them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from shareq.broker.coordinator_runtime.ports import LOG_IS_OVER, CoordinatorLog
from shareq.broker.foundation.environment import Clock
from shareq.broker.log.append import AppendInfo, Batch, OnDurable, Origin
from shareq.broker.log.segments.reader import ReadResult
from shareq.cluster.membership.nodes import SlotId
from shareq.cluster.node.state_topics import NAMES, slot_of
from shareq.cluster.state.log import SlotLog
from shareq.cluster.state.slot import StateTopic
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import BatchHeader


class SlotLogs:
    """`CoordinatorLogs` of a node. `topics` are the state topics by the coordinators' names for them."""

    def __init__(self, clock: Clock, topics: Mapping[str, StateTopic]) -> None:
        self._clock: Final = clock
        self._topics: Final = topics
        self._logs: dict[SlotId, SlotLog] = {}

    def get(self, topic: str, partition: int) -> CoordinatorLog:
        """Return the log of a coordinator's partition. If this node does not own it, the log accepts nothing.

        Raises KeyError for a topic that belongs to no coordinator.
        """
        found = self._logs.get(slot_of(topic, partition)) if topic in NAMES else None
        return _NoLog(self._clock, self._topics[topic], partition) if found is None else found

    def of(self, slot: SlotId) -> SlotLog | None:
        """Return the log of an owned slot; None if this node does not own it."""
        return self._logs.get(slot)

    def put(self, slot: SlotId, log: SlotLog) -> None:
        """Add the log of a slot."""
        self._logs[slot] = log

    def remove(self, slot: SlotId) -> SlotLog | None:
        """Remove the log of a slot; return it, or None."""
        return self._logs.pop(slot, None)

    def all(self) -> Mapping[SlotId, SlotLog]:
        """Return the logs of all owned slots."""
        return self._logs


class _NoLog:
    """The `CoordinatorLog` of a slot that another node owns: it is over from the start."""

    log_start_offset: Final = 0
    log_end_offset: Final = 0
    high_watermark: Final = 0

    def __init__(self, clock: Clock, topic: StateTopic, partition: int) -> None:
        self.topic: Final = topic.name
        self.partition: Final = partition
        self.max_message_bytes: Final = topic.max_message_bytes
        self._clock: Final = clock

    def before_append(self, callback: Callable[[], None]) -> None:
        self._clock.call_soon(callback)

    def append(
        self, batch: Batch, *, origin: Origin, now_wall_ms: int, on_durable: OnDurable | None = None
    ) -> AppendInfo | ErrorCode:
        return LOG_IS_OVER

    def read(self, offset: int, max_bytes: int, *, upto: int, min_one_batch: bool = True) -> ReadResult | ErrorCode:
        return LOG_IS_OVER

    def unreadable_range(self, offset: int) -> tuple[int, int] | None:
        return None

    def next_header(self, offset: int) -> BatchHeader | None:
        return None
