"""Reads the records of partitions in rounds, without a group. Pure but for its `Network`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from shareq.client.admin.calls import Calls, Outcome, Partition
from shareq.client.admin.topics import Topics
from shareq.client.core.list_offsets import EARLIEST
from shareq.client.errors import BrokerError, ClientError, Unintelligible, Unreachable
from shareq.client.fetch import BY_TOPIC_ID, whole_batches
from shareq.client.network import Network
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from shareq.protocol.primitives import MalformedMessage, Message
from shareq.protocol.records.batch import BatchHeader, batch_headers, decode_records
from shareq.protocol.records.control import ControlType, read_control_record
from shareq.protocol.records.record_codec import Record

PARTITION_BYTES: Final = 1 << 20
TOTAL_BYTES: Final = 16 << 20
"""Bytes of one round, from each broker."""


class ReadRecord(NamedTuple):
    """A record and where it is."""

    topic: str
    partition: int
    record: Record


class _Part(NamedTuple):
    """The records of a partition from one round, and where the next round continues."""

    records: list[Record]
    position: int


class Reader:
    """A reader of partitions from positions on. `positions` are the offsets of the next records.

    With `committed_only` records of transactions that are open, or were aborted, are left out. A round brings whole
    batches, one at least: of each partition `partition_bytes` at most, or one that is larger.
    """

    def __init__(
        self,
        network: Network,
        positions: Mapping[Partition, int],
        *,
        committed_only: bool = False,
        partition_bytes: int = PARTITION_BYTES,
    ) -> None:
        self._network = network
        self._calls = Calls(network)
        self._committed_only = committed_only
        self._partition_bytes = partition_bytes
        self.positions = dict(positions)

    def read(self, max_wait_ms: int, partitions: Sequence[Partition] | None = None) -> Iterator[ReadRecord]:
        """Read once from all, or some, of the partitions. Yield the records by partition; wait up to `max_wait_ms`.

        A position below the log's start moves there. Raise BrokerError for a refusal.
        """
        asked = list(self.positions if partitions is None else partitions)
        found = self._calls.each_partition(
            asked, lambda some: self._request(some, max_wait_ms), self._take, min_version=BY_TOPIC_ID
        )
        for partition, part in found.items():
            if isinstance(part, ClientError):
                self._move(partition, part)
                continue
            self.positions[partition] = part.position
            for record in part.records:
                yield ReadRecord(*partition, record)

    def read_towards(
        self, ends: Mapping[Partition, int], max_wait_ms: int, wanted: Callable[[Partition], bool] = lambda _: True
    ) -> Iterator[ReadRecord]:
        """Read rounds until each wanted partition is at its end, exclusive; records behind it may come, too.

        Raises Unreachable when no position has moved for default.api.timeout.ms.
        """
        patience = self._network.tries()
        while left := [each for each, end in ends.items() if self.positions[each] < end and wanted(each)]:
            before = [self.positions[each] for each in left]
            yield from self.read(max_wait_ms, left)
            if before != [self.positions[each] for each in left]:
                patience = self._network.tries()
            elif patience.is_over:
                topic, number = left[0]
                where = f"{topic}-{number}: nothing comes at offset {before[0]}, and its end is {ends[left[0]]}"
                raise Unreachable(f"{where}; given up after {self._network.config.default_api_timeout_ms} ms")

    def _request(self, partitions: Sequence[Partition], max_wait_ms: int) -> Message:
        ids = self._network.topic_ids({name for name, _ in partitions})
        topics: dict[str, list[FetchPartition]] = {}
        most = self._partition_bytes
        for name, number in partitions:
            row = FetchPartition(number, fetch_offset=self.positions[name, number], partition_max_bytes=most)
            topics.setdefault(name, []).append(row)
        return FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=min(TOTAL_BYTES, self._network.config.fetch_max_bytes),
            isolation_level=int(self._committed_only),
            topics=[FetchTopic(topic_id=ids[name], partitions=rows) for name, rows in topics.items()],
        )

    def _take(self, answer: Message, asked: Sequence[Partition]) -> dict[Partition, Outcome[_Part]]:
        assert isinstance(answer, FetchResponse)
        if answer.error_code:
            raise BrokerError(answer.error_code, "Fetch")
        names = {topic_id: name for name, topic_id in self._network.topic_ids({name for name, _ in asked}).items()}
        found: dict[Partition, Outcome[_Part]] = {}
        for topic in answer.responses:
            for row in topic.partitions:
                partition = names[topic.topic_id], row.partition_index
                what = f"partition {partition[0]}-{partition[1]}"
                found[partition] = BrokerError(row.error_code, what) if row.error_code else self._part(partition, row)
        for partition in asked:  # an answer leaves out what it has nothing of
            found.setdefault(partition, _Part([], self.positions[partition]))
        return found

    def _part(self, partition: Partition, row: PartitionData) -> Outcome[_Part]:
        position = self.positions[partition]
        data = row.records or b""
        size, following = whole_batches(data)
        records: list[Record] = []
        aborted = row.aborted_transactions if self._committed_only else ()
        try:
            for at, header in _visible(memoryview(data)[:size], aborted):
                batch = data[at : at + header.size]
                records += decode_records(batch, first=position)
        except MalformedMessage as error:
            where = f"{partition[0]}-{partition[1]} from offset {position} on"
            return Unintelligible(f"{where}: records that cannot be read: {error}")
        return _Part(records, max(position, following))

    def _move(self, partition: Partition, error: ClientError) -> None:
        if not isinstance(error, BrokerError) or error.code != ErrorCode.OFFSET_OUT_OF_RANGE:
            raise error
        start = Topics(self._calls).offsets({partition: EARLIEST})[partition]
        if isinstance(start, ClientError) or start.offset is None or start.offset <= self.positions[partition]:
            raise error
        self.positions[partition] = start.offset


def _visible(data: memoryview, aborted: Sequence[AbortedTransaction] | None) -> Iterator[tuple[int, BatchHeader]]:
    """Yield batches with records for a reader: without markers, and without records of these aborted transactions."""
    left = sorted(aborted or (), key=lambda one: one.first_offset)
    aborting: set[int] = set()
    for at, header in batch_headers(data):
        while left and left[0].first_offset <= header.last_offset:
            aborting.add(left.pop(0).producer_id)
        if header.is_control:
            if header.records_count and read_control_record(data[at : at + header.size]).type == ControlType.ABORT:
                aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            yield at, header
