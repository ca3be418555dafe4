"""Records as a share consumer returns them, and their reading from an answer. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple, Protocol, overload

from shareq.client.errors import ClientError
from shareq.client.share.session import TopicIdPartition
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.records.batch import (
    CODEC_MASK,
    CONTROL,
    BatchHeader,
    batch_headers,
    crc_matches,
    decode_columns,
)
from shareq.protocol.records.record_codec import Columns, Headers
from shareq.protocol.share import AcknowledgeType

ACCEPT: Final = AcknowledgeType.ACCEPT
RELEASE: Final = AcknowledgeType.RELEASE
REJECT: Final = AcknowledgeType.REJECT
RENEW: Final = AcknowledgeType.RENEW
MOST_DELAY_S: Final = 604_800.0
"""The longest delay that a group may have: a week."""


class LockLost(ClientError):
    """A lock that this member has lost: it ran out, or the session with its broker ended.

    The record is delivered again to some member of the group, unless its delivery limit is reached, or it was accepted
    and only the answer was lost.
    """


class State(Enum):
    """The state of a record, as this member sees it."""

    BUFFERED = auto()
    """Acquired, but not yet returned to the application."""
    IN_HAND = auto()
    """Returned to the application."""
    SETTLING = auto()
    """Acknowledged; the broker has not answered yet."""
    DONE = auto()
    """Acknowledged, and stored by the broker."""
    LOST = auto()
    """No longer this member's; see `LockLost`."""


class Owner(Protocol):
    """The consumer that returned a record, as the record sees it."""

    async def settle(self, record: ShareRecord, kind: AcknowledgeType, reason: str = "") -> None:
        """Acknowledge a record, and return when the broker has stored that.

        Raises LockLost, BrokerError, UnsupportedApi.
        """


class BatchOwner(Owner, Protocol):
    """The consumer that returned a batch, as the batch sees it."""

    async def settle_all(self, records: Sequence[ShareRecord], kind: AcknowledgeType, reason: str = "") -> None:
        """Settle the records that are still in hand. Raises the first error once all are answered."""


class ShareRecord:
    """A record whose lock this member holds.

    `timestamp` is in ms since the epoch, -1 for none; `delivery_count` is 1 at the first delivery. `accept`, `release`
    and `reject` return when the broker has stored the acknowledgement; they raise LockLost when it came too late, and
    BrokerError when it was refused for another reason. After either error the record may be delivered again.
    """

    __slots__ = (
        "_owner",
        "deadline",
        "delivery_count",
        "headers",
        "held_since",
        "key",
        "later_ms",
        "offset",
        "partition",
        "session",
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
        self.later_ms = 0
        """The delay that `release` was given, in milliseconds."""
        self.session: object = None
        """The session that holds it, as its consumer has noted; the consumer's own."""

    @property
    def topic_partition(self) -> TopicIdPartition:
        return self.topic_id, self.partition

    def is_of(self, owner: Owner) -> bool:
        """Return True if this consumer returned the record."""
        return self._owner is owner

    async def accept(self) -> None:
        """Accept the record: it is never delivered again."""
        await self._owner.settle(self, ACCEPT)

    async def release(self, reason: str = "", *, delay_s: float = 0.0) -> None:
        """Release the record to any member of the group, at once or after the group's redelivery delay.

        `reason` is used as by `reject` if this was the last delivery. With `delay_s` the broker (shareq only, in a
        group with `shareq.delay.enable`) keeps the record for so many seconds. Elsewhere that is refused
        (UnsupportedApi; BrokerError where the group has no delays, or none that long), and the record is still in hand.
        """
        if not 0 <= delay_s <= MOST_DELAY_S:
            raise ClientError(f"delay_s is {delay_s!r}: must be 0 to {MOST_DELAY_S:g} seconds")
        self.later_ms = math.ceil(delay_s * 1000)
        await self._owner.settle(self, RELEASE, reason)

    async def reject(self, reason: str = "") -> None:
        """Reject the record, which no one can process; it becomes a dead letter if the group has a queue.

        On shareq the letter has the `reason`, up to 500 bytes (`__dlq.errors.shareq.error`); other brokers ignore it.
        """
        await self._owner.settle(self, REJECT, reason)

    async def renew(self) -> None:
        """Let the lock's time begin again (KIP-1222). UnsupportedApi for brokers before Apache Kafka 4.2."""
        await self._owner.settle(self, RENEW)

    def __repr__(self) -> str:
        return (
            f"ShareRecord({self.topic}-{self.partition}@{self.offset}, delivery {self.delivery_count}, "
            f"{self.state.name.lower()})"
        )


class ShareBatch(Sequence[ShareRecord]):
    """Records of one partition, ascending, that were delivered together.

    `accept` and its siblings apply to all records still in hand: those acknowledged before stay unchanged. They return
    when everything is answered, and then raise the first error; the records' `state` shows which are affected.
    """

    __slots__ = ("_owner", "_records")

    def __init__(self, owner: BatchOwner, records: Sequence[ShareRecord]) -> None:
        self._owner = owner
        self._records = records

    @property
    def topic(self) -> str:
        return self._records[0].topic

    @property
    def partition(self) -> int:
        return self._records[0].partition

    async def accept(self) -> None:
        """Accept all records: none is delivered again."""
        await self._owner.settle_all(self._records, ACCEPT)

    async def release(self, reason: str = "") -> None:
        """Release all records; see `ShareRecord.release`."""
        await self._owner.settle_all(self._records, RELEASE, reason)

    async def reject(self, reason: str = "") -> None:
        """Reject all records; see `ShareRecord.reject`."""
        await self._owner.settle_all(self._records, REJECT, reason)

    async def renew(self) -> None:
        """Let the locks' times begin again; see `ShareRecord.renew`."""
        await self._owner.settle_all(self._records, RENEW)

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, at: int) -> ShareRecord: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[ShareRecord]: ...

    def __getitem__(self, at: int | slice) -> ShareRecord | Sequence[ShareRecord]:
        return self._records[at]

    def __iter__(self) -> Iterator[ShareRecord]:
        return iter(self._records)

    def __repr__(self) -> str:
        ends = f"{self._records[0].offset} to {self._records[-1].offset}"
        return f"ShareBatch({self.topic}-{self.partition}@{ends}, {len(self)} records)"


class Acquired(NamedTuple):
    """Offsets that were acquired together; both ends are included."""

    first: int
    last: int
    delivery_count: int


NO_RECORDS: Final = Columns([], [], [], [], [])


class Piece(NamedTuple):
    """The records of one record batch. Ranges include both ends.

    `counts`: the delivery count of each of `records`. `missing` were acquired and are not in the log (compacted, or
    control records); `corrupt` cannot be read; `beyond` were not sent.
    """

    records: Columns = NO_RECORDS
    counts: Sequence[int] = ()
    missing: Sequence[tuple[int, int]] = ()
    corrupt: Sequence[tuple[int, int]] = ()
    beyond: Sequence[tuple[int, int]] = ()

    def parts(self, most: int) -> Iterator[Piece]:
        """Yield pieces of at most this many records each; the first piece has all ranges."""
        if len(self.counts) <= most:
            yield self
            return
        for start in range(0, len(self.counts), most):
            some = slice(start, start + most)
            offsets, times, keys, values, headers = self.records
            records = Columns(offsets[some], times[some], keys[some], values[some], headers[some])
            counts = self.counts[some]
            yield Piece(records, counts) if start else self._replace(records=records, counts=counts)


class Unread(NamedTuple):
    """A record batch of an answer, not opened yet. `before`: acquired offsets that are in no batch."""

    batch: memoryview
    header: BatchHeader
    before: Sequence[tuple[int, int]]
    wanted: Sequence[Acquired]
    beyond: Sequence[tuple[int, int]] = ()

    @property
    def most_bytes(self) -> int:
        """The most bytes of records that the opened batch may have."""
        return len(self.batch) * (EXPANSION if self.header.attributes & CODEC_MASK else 1)

    def piece(self) -> Piece:
        """Decode the batch."""
        header, wanted, missing = self.header, self.wanted, list(self.before)
        if not wanted:
            return Piece(missing=missing, beyond=self.beyond)
        if header.attributes & CONTROL:
            return Piece(missing=[*missing, *(one[:2] for one in wanted)])
        try:
            if not crc_matches(self.batch, 0, header):
                raise MalformedMessage("wrong CRC")
            found = decode_columns(self.batch, first=wanted[0].first, last=wanted[-1].last)
        except MalformedMessage:
            return Piece(missing=missing, corrupt=[one[:2] for one in wanted])
        first, last, count = wanted[0]
        whole = len(wanted) == 1 and len(found.offsets) == last + 1 - first  # an answer may name 2^63 of them
        if whole and found.offsets == list(range(first, last + 1)):
            return Piece(found, [count] * len(found.offsets), missing)
        return _chosen(found, wanted, missing)


EXPANSION: Final = 1032
"""The most bytes of records to which one byte of a compressed batch may expand."""
_NO_BATCH: Final = BatchHeader(*[0] * 13)


def unread(data: bytes | memoryview, acquired: Sequence[Acquired]) -> Iterator[Unread]:
    """Yield the batches that have acquired records, to be opened one by one. Each offset comes once."""
    left = _Left(acquired)
    for position, header in batch_headers(data):
        before = [(first, last) for first, last, _ in left.up_to(header.base_offset - 1)]
        wanted = left.up_to(header.base_offset + header.last_offset_delta)
        if before or wanted:
            yield Unread(memoryview(data)[position : position + header.size], header, before, wanted)
    if beyond := left.up_to(None):
        yield Unread(memoryview(b""), _NO_BATCH, (), (), [(first, last) for first, last, _ in beyond])


def _chosen(found: Columns, wanted: Sequence[Acquired], missing: list[tuple[int, int]]) -> Piece:
    """Return the records that were acquired."""
    places: list[int] = []
    counts: list[int] = []
    at = 0
    first, last, count = wanted[0]
    for place, offset in enumerate(found.offsets):
        while offset > last and at + 1 < len(wanted):
            if first <= last:
                missing.append((first, last))
            at += 1
            first, last, count = wanted[at]
        if first <= offset <= last:
            if offset > first:
                missing.append((first, offset - 1))
            places.append(place)
            counts.append(count)
            first = offset + 1
    missing += [(low, high) for low, high in ((first, last), *(one[:2] for one in wanted[at + 1 :])) if low <= high]
    chosen = Columns(
        [found.offsets[place] for place in places],
        [found.timestamps[place] for place in places],
        [found.keys[place] for place in places],
        [found.values[place] for place in places],
        [found.headers[place] for place in places],
    )
    return Piece(chosen, counts, missing)


class _Left:
    """The acquired ranges that remain to be processed, ascending."""

    def __init__(self, acquired: Sequence[Acquired]) -> None:
        self._ranges = sorted(acquired, reverse=True)

    def up_to(self, end: int | None) -> list[Acquired]:
        """Remove and return the ranges up to `end`, included; None: all."""
        taken: list[Acquired] = []
        while self._ranges and (end is None or self._ranges[-1].first <= end):
            one = self._ranges.pop()
            if end is not None and one.last > end:
                self._ranges.append(one._replace(first=end + 1))
                one = one._replace(last=end)
            taken.append(one)
        return taken
