"""Plain fetches of ranges of offsets, by topic id: whole record batches as they are in the log, nothing decoded.

Fetches read uncommitted, without fetch sessions. The next answer is requested while the caller works on one.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from shareq.client.admin import Admin
from shareq.client.config import ClientConfig
from shareq.client.core.tries import Tries
from shareq.client.errors import BrokerError, ClientError, Unreachable, is_transient
from shareq.client.network import Exchange, Network
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.generated.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from shareq.protocol.primitives import uuid_to_text
from shareq.protocol.records.batch import HEADER_SIZE, LENGTH_OVERHEAD, MAGIC

BY_TOPIC_ID: Final = 13
"""The first version of Fetch that names topics by id."""
CHUNK_BYTES: Final = 4 << 20
"""The most bytes of one answer. Larger ones are slower: client and broker have to get new memory from the system."""
MAX_WAIT_MS: Final = 500
LEAST_BYTES: Final = 64 << 10
GUESSED_BYTES: Final = 256
"""The assumed size of a record before the first answer of its partition."""
UNKNOWN_TOPIC_TRIES: Final = 6
"""The tries for a topic that a broker does not know yet."""

_PREFIX: Final = Struct(">qi").unpack_from  # base offset, length
_TAIL: Final = Struct(">bIhi").unpack_from  # magic, CRC, attributes, last offset delta
_TAIL_AT: Final = 16


class OffsetsGone(ClientError):
    """A request for offsets below the log's start or beyond its end. `log_start` and `log_end` are the current ones."""

    def __init__(self, partition: str, offset: int, log_start: int, log_end: int) -> None:
        super().__init__(f"{partition}: offset {offset} is not in the log, which has {log_start} to {log_end - 1}")
        self.partition = partition
        self.offset = offset
        self.log_start = log_start
        self.log_end = log_end

    def __reduce__(self) -> tuple[type[OffsetsGone], tuple[str, int, int, int]]:
        return type(self), (self.partition, self.offset, self.log_start, self.log_end)


class TopicGone(ClientError):
    """A topic id that does not exist, even if a topic of the same name does."""


class Fetched(NamedTuple):
    """Whole record batches; the first may begin before the requested range, and the last may end after it.

    `data` is never empty; it may lie completely after the range if compaction has removed the records in the range.
    """

    data: memoryview
    log_start_offset: int
    high_watermark: int


class RangeFetcher:
    """A fetcher of ranges from their leaders. One thread at a time; connections stay open for the next range."""

    def __init__(self, config: ClientConfig) -> None:
        self._most_bytes = min(config.fetch_max_bytes, config.max_partition_fetch_bytes, CHUNK_BYTES)
        self._network = Network(config, tries_again=False)
        self._admin = Admin(self._network)
        self._sizes: dict[tuple[bytes, int], float] = {}  # bytes that an offset takes in the log, by what came last

    def fetch(self, topic_id: bytes, topic: str, partition: int, first: int, last: int) -> Iterator[Fetched]:
        """Yield the batches that hold the offsets `first` to `last`, both included.

        The leader is followed, and connections are made again, within `default.api.timeout.ms` without progress. Raises
        Unreachable after that, OffsetsGone, TopicGone, and BrokerError for a permanent refusal.
        """
        target = _NamedPartition(topic_id, topic, partition)
        position = first
        reply = self._ask(target, position, last)
        while True:
            answer, size, following = self._answer(target, position, last, reply)
            self._sizes[topic_id, partition] = size / (following - position)
            position = following
            if position <= last:
                reply = self._ask(target, position, last)
            assert answer.records is not None
            yield Fetched(memoryview(answer.records)[:size], answer.log_start_offset, answer.high_watermark)
            if position > last:
                return

    def close(self) -> None:
        """Close the connections."""
        self._network.close()

    def _ask(self, target: _NamedPartition, position: int, last: int) -> Exchange | ClientError:
        """Send a fetch, and return it, or the error that prevented it."""
        limit = self._limit(target, last - position + 1)
        row = FetchPartition(target.partition, fetch_offset=position, partition_max_bytes=limit)
        request = FetchRequest(
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=limit,
            topics=[FetchTopic(topic_id=target.topic_id, partitions=[row])],
        )
        try:
            leader = self._network.leader(target.topic_id, target.partition)
            if leader is None:
                self._network.partitions(target.topic_id)  # raises when there is no such topic
                return Unreachable(f"{target} has no leader")
            return self._network.submit(leader, request, min_version=BY_TOPIC_ID)
        except ClientError as error:
            return error

    def _limit(self, target: _NamedPartition, offsets: int) -> int:
        """Return little more than the needed bytes: brokers fill an answer with the records that follow."""
        size = self._sizes.get((target.topic_id, target.partition), GUESSED_BYTES)
        return min(self._most_bytes, max(LEAST_BYTES, int(offsets * size * 1.1)))

    def _answer(
        self, target: _NamedPartition, position: int, last: int, reply: Exchange | ClientError
    ) -> tuple[PartitionData, int, int]:
        """Return an answer that goes beyond `position`, the size of its whole batches, and the offset after them."""
        tries = Tries(self._network.config, self._network.config.default_api_timeout_ms, time.monotonic)
        unknown = 0
        while True:
            try:
                answer = _partition_of(reply, target)
                size, following = whole_batches(answer.records or b"")
                if following > position:
                    return answer, size, following
                # What was acquired lies below the high watermark, but for a new leader that has yet to hear of it.
                failure: ClientError = OffsetsGone(
                    str(target), position, answer.log_start_offset, answer.high_watermark
                )
            except ClientError as error:
                failure = self._meaning_of(error, target, position)
                unknown += isinstance(failure, BrokerError) and failure.code == ErrorCode.UNKNOWN_TOPIC_ID
                if unknown == UNKNOWN_TOPIC_TRIES:
                    failure = TopicGone(
                        f"{target}: there is no topic with the id {uuid_to_text(target.topic_id)} any more"
                    )
                if not is_transient(failure):
                    raise failure from None
                self._look_up(target)
            time.sleep(_pause_s(tries, failure))
            reply = self._ask(target, position, last)

    def _look_up(self, target: _NamedPartition) -> None:
        with contextlib.suppress(Unreachable):
            self._network.refresh([target.topic_id])

    def _meaning_of(self, error: ClientError, target: _NamedPartition, position: int) -> ClientError:
        """Return the error; for an offset out of range OffsetsGone, with the log's start and end as asked for now."""
        if not isinstance(error, BrokerError) or error.code != ErrorCode.OFFSET_OUT_OF_RANGE:
            return error
        try:
            log = self._admin.topics.log_ranges({target.topic: [target.partition]})[target.topic, target.partition]
        except ClientError as failure:
            return failure
        return OffsetsGone(str(target), position, log.start, log.end)


class _NamedPartition(NamedTuple):
    topic_id: bytes
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"partition {self.topic}-{self.partition}"


def _pause_s(tries: Tries, failure: ClientError) -> float:
    """Return the pause before the next try. Raises `failure` if no time is left for one."""
    try:
        return tries.failed(failure)
    except Unreachable:
        raise failure from None


def _partition_of(reply: Exchange | ClientError, target: _NamedPartition) -> PartitionData:
    """Return the one partition of an answer. Raise its error, or BrokerError."""
    if isinstance(reply, ClientError):
        raise reply
    answer = reply.result()
    assert isinstance(answer, FetchResponse)
    partition = answer.responses[0].partitions[0] if answer.responses else PartitionData()
    if error := answer.error_code or partition.error_code:
        raise BrokerError(error, f"{target}: Fetch")
    return partition


def whole_batches(data: bytes | memoryview) -> tuple[int, int]:
    """Return how many bytes at the start are whole batches, and the offset after the last; (0, -1) without any.

    A fetch's answer may end within a batch. Raise MalformedMessage for a length that no batch has.
    """
    at, size, whole = 0, len(data), -1
    while size - at >= HEADER_SIZE:
        length: int = _PREFIX(data, at)[1]
        if length < HEADER_SIZE - LENGTH_OVERHEAD:
            raise MalformedMessage(f"record batch of {length} bytes")
        end = at + LENGTH_OVERHEAD + length
        if end > size:
            break
        whole, at = at, end
    if whole < 0:
        return 0, -1
    magic, _, _, delta = _TAIL(data, whole + _TAIL_AT)
    if magic != MAGIC:
        raise MalformedMessage(f"record batch of magic {magic}: only {MAGIC} is read")
    return at, _PREFIX(data, whole)[0] + delta + 1
