"""Records as a share consumer hands them out, and how they are read from an answer. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple, Protocol

from shareq.client.errors import ClientError
from shareq.client.share.session import TopicIdPartition
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import CONTROL, BatchHeader, batch_headers, crc_matches, decode_records
from shareq.protocol.records.record_codec import Headers
from shareq.protocol.share import AcknowledgeType

ACCEPT: Final = AcknowledgeType.ACCEPT
RELEASE: Final = AcknowledgeType.RELEASE
REJECT: Final = AcknowledgeType.REJECT
RENEW: Final = AcknowledgeType.RENEW


class LockLost(ClientError):
    """The record is no longer this member's: its lock ran out, or the session with its broker ended.

    It comes again to some member of the group, unless its delivery limit is reached, or it was accepted and only the
    answer to that is missing.
    """


class State(Enum):
    """The state of a record, as this member sees it."""

    BUFFERED = auto()
    """Acquired, not handed out yet."""
    IN_HAND = auto()
    """Handed out by the consumer."""
    SETTLING = auto()
    """Acknowledged; the broker has not answered yet."""
    DONE = auto()
    """Acknowledged, and the broker has written that down."""
    LOST = auto()
    """No longer this member's; see `LockLost`."""


class Owner(Protocol):
    """The consumer that handed a record out, as the record sees it."""

    async def settle(self, record: ShareRecord, kind: AcknowledgeType, reason: str = "") -> None:
        """Acknowledge, and return when that is written down. Raises LockLost, BrokerError, UnsupportedApi."""


class ShareRecord:
    """A record that this member holds the lock of.

    `timestamp` is in ms since the epoch, -1 for none; `delivery_count` is 1 at the first delivery. `accept`, `release`
    and `reject` return when the broker has written the acknowledgement down; they raise LockLost when it came too late,
    and BrokerError when it was refused for another reason. After either the record may come again.
    """

    __slots__ = (
        "_owner",
        "deadline",
        "delivery_count",
        "headers",
        "held_since",
        "key",
        "offset",
        "partition",
        "state",
        "timestamp",
        "topic",
        "topic_id",
        "value",
    )

    def __init__(
        self,
        owner: Owner,
        topic: str,
        topic_id: bytes,
        partition: int,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        delivery_count: int,
        deadline: float,
    ) -> None:
        self._owner = owner
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers
        self.delivery_count = delivery_count
        self.deadline = deadline
        """The time at which the lock ends, on the event loop's clock (seconds)."""
        self.held_since = 0.0
        """The time at which the consumer handed it out, on the same clock."""
        self.state = State.BUFFERED

    @property
    def topic_partition(self) -> TopicIdPartition:
        return self.topic_id, self.partition

    def is_of(self, owner: Owner) -> bool:
        """Return True if this consumer handed it out."""
        return self._owner is owner

    async def accept(self) -> None:
        """Done: it never comes again."""
        await self._owner.settle(self, ACCEPT)

    async def release(self, reason: str = "") -> None:
        """Not now: to any member of the group, at once or after the group's redelivery delay. `reason` as of `reject`,
        for when this was its last delivery.
        """
        await self._owner.settle(self, RELEASE, reason)

    async def reject(self, reason: str = "") -> None:
        """No one can work on it: it is given up, and goes to the group's dead letters, if it has any.

        On shareq its letter says the `reason`, up to 500 bytes (`__dlq.errors.shareq.error`); others do not see it.
        """
        await self._owner.settle(self, REJECT, reason)

    async def renew(self) -> None:
        """Let the lock begin again (KIP-1222). UnsupportedApi for brokers before Apache Kafka 4.2."""
        await self._owner.settle(self, RENEW)

    def __repr__(self) -> str:
        return (
            f"ShareRecord({self.topic}-{self.partition}@{self.offset}, delivery {self.delivery_count}, "
            f"{self.state.name.lower()})"
        )


class Acquired(NamedTuple):
    """Offsets that were acquired together; both ends are included."""

    first: int
    last: int
    delivery_count: int


class Piece(NamedTuple):
    """The records of one record batch. Ranges include both ends.

    `records`: offset, timestamp, key, value, headers and delivery count of each. `missing` were acquired and are not in
    the log (compacted, or control records); `corrupt` cannot be read; `beyond` were not sent.
    """

    records: Sequence[tuple[int, int, bytes | None, bytes | None, Headers, int]] = ()
    missing: Sequence[tuple[int, int]] = ()
    corrupt: Sequence[tuple[int, int]] = ()
    beyond: Sequence[tuple[int, int]] = ()

    def parts(self, most: int) -> Iterator[Piece]:
        """Yield it in pieces of at most so many records each; the ranges are in the first."""
        yield self._replace(records=self.records[:most])
        for start in range(most, len(self.records), most):
            yield Piece(self.records[start : start + most])


def read_acquired(data: bytes | memoryview, acquired: Sequence[Acquired]) -> Iterator[Piece]:
    """Yield the acquired records batch by batch, so that a caller may give way in between. Each offset comes once."""
    left = _Left(acquired)
    for position, header in batch_headers(data):
        piece = _read_batch(memoryview(data)[position : position + header.size], header, left)
        if piece is not None:
            yield piece
    beyond = left.up_to(None)
    if beyond:
        yield Piece(beyond=[(first, last) for first, last, _ in beyond])


def _read_batch(batch: memoryview, header: BatchHeader, left: _Left) -> Piece | None:
    end = header.base_offset + header.last_offset_delta
    before = left.up_to(header.base_offset - 1)
    wanted = left.up_to(end)
    missing = [(first, last) for first, last, _ in before]
    if not wanted:
        return Piece(missing=missing) if missing else None
    if header.attributes & CONTROL:
        return Piece(missing=[*missing, *((first, last) for first, last, _ in wanted)])
    try:
        if not crc_matches(batch, 0, header):
            raise MalformedMessage("wrong CRC")
        found = decode_records(batch, first=wanted[0].first, last=wanted[-1].last)
    except MalformedMessage:
        return Piece(missing=missing, corrupt=[(first, last) for first, last, _ in wanted])
    records = []
    at = 0
    first, last, count = wanted[0]
    for offset, timestamp, key, value, headers in found:
        while offset > last and at + 1 < len(wanted):
            if first <= last:
                missing.append((first, last))
            at += 1
            first, last, count = wanted[at]
        if first <= offset <= last:
            if offset > first:
                missing.append((first, offset - 1))
            records.append((offset, timestamp, key, value, headers, count))
            first = offset + 1
    missing += [(low, high) for low, high in ((first, last), *(one[:2] for one in wanted[at + 1 :])) if low <= high]
    return Piece(records, missing)


class _Left:
    """Acquired ranges that are not looked at yet, ascending."""

    def __init__(self, acquired: Sequence[Acquired]) -> None:
        self._ranges = sorted(acquired, reverse=True)

    def up_to(self, end: int | None) -> list[Acquired]:
        """Take out what is left up to `end`, included; None: all."""
        taken: list[Acquired] = []
        while self._ranges and (end is None or self._ranges[-1].first <= end):
            one = self._ranges.pop()
            if end is not None and one.last > end:
                self._ranges.append(one._replace(first=end + 1))
                one = one._replace(last=end)
            taken.append(one)
        return taken
