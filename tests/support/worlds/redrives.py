"""A broker in memory with a queue `dlq.t` of letters of topic `t`, redrives of it, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from devtools.clients.requests import produce_request
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.log.segments.reader import ReadResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.cancel_redrive import CancelRedriveRequest, CancelRedriveResponse
from shareq.protocol.generated.describe_redrives import (
    DescribedRedrive,
    DescribeRedrivesRequest,
    DescribeRedrivesResponse,
)
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.generated.start_redrive import StartRedriveRequest, StartRedriveResponse
from shareq.protocol.records.batch import Compression, Headers, Record, RecordData, build_batch, decode_records

TOPIC: Final = "t"
QUEUE: Final = "dlq.t"
FAST: Final = 1_000_000


class RedriveWorld:
    """Topic `t` and queue `dlq.t` with so many partitions each. Connections open on first use."""

    def __init__(
        self,
        partitions: int = 1,
        queue_partitions: int = 1,
        properties: Mapping[str, str] | None = None,
        **of_topic: str,
    ) -> None:
        self.world = BrokerWorld(properties)
        self.world.create_topic(TOPIC, partitions, **of_topic)
        self.world.create_topic(QUEUE, queue_partitions)

    @classmethod
    def over(cls, world: BrokerWorld) -> RedriveWorld:
        made = cls.__new__(cls)
        made.world = world
        return made

    # -- letters

    def produce(
        self, topic: str, *records: RecordData, partition: int = 0, compression: Compression = Compression.NONE
    ) -> None:
        batch = build_batch(records, timestamp_ms=self.world.clock.wall_ms(), compression=compression)
        request = produce_request(bytes(batch), topic=topic, partition=partition)
        answer = self.world.connect().call(request, 9, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE

    def bury(self, *letters: RecordData, partition: int = 0, compression: Compression = Compression.NONE) -> None:
        self.produce(QUEUE, *letters, partition=partition, compression=compression)

    # -- redrives

    def start(self, name: str = "again", *, client: MockConnection | None = None, **fields: Any) -> ErrorCode:
        """Start a redrive at full speed, and run its first round, if any.

        Without `target` letters go back to their own topics.
        """
        return ErrorCode(self.start_answer(name, client=client, **fields).error_code)

    def start_answer(
        self, name: str = "again", *, client: MockConnection | None = None, **fields: Any
    ) -> StartRedriveResponse:
        request = StartRedriveRequest(name, QUEUE, records_per_second=FAST)
        for field, value in fields.items():
            assert field in StartRedriveRequest.FIELDS
            setattr(request, field, value)
        return (client or self.world.connect()).call(request, 0, StartRedriveResponse)

    def run(self, name: str = "again", **fields: Any) -> DescribedRedrive:
        assert self.start(name, **fields) is ErrorCode.NONE
        return self.finish(name)

    def finish(self, name: str = "again", *, within_ms: int = 600_000) -> DescribedRedrive:
        for _ in range(within_ms // 100):
            found = self.describe(name)
            if found.state != "RUNNING":
                return found
            self.world.clock.advance(100)
        raise AssertionError(f"{name} does not end: {found.trouble}")

    def describe(self, name: str = "again") -> DescribedRedrive:
        request = DescribeRedrivesRequest([name])
        (found,) = self.world.connect().call(request, 0, DescribeRedrivesResponse).redrives
        return found

    def all_redrives(self, client: MockConnection | None = None) -> dict[str, str]:
        connection = client or self.world.connect()
        answer = connection.call(DescribeRedrivesRequest(None), 0, DescribeRedrivesResponse)
        assert answer.error_code == ErrorCode.NONE
        return {each.name: each.state for each in answer.redrives}

    def cancel(self, name: str = "again", client: MockConnection | None = None) -> ErrorCode:
        connection = client or self.world.connect()
        return ErrorCode(connection.call(CancelRedriveRequest(name), 0, CancelRedriveResponse).error_code)

    # -- what is in logs

    def records(self, topic: str = TOPIC, partition: int = 0) -> list[Record]:
        """Return a partition's records without markers; none if the topic does not exist."""
        if self.world.services.metadata.topic(topic) is None:
            return []
        log = self.world.folder.logs.get(topic, partition)
        found: list[Record] = []
        offset = log.log_start_offset
        while offset < log.high_watermark:
            read = log.read(offset, 1 << 20, upto=log.high_watermark)
            assert isinstance(read, ReadResult)
            for span in read.batches:
                batch = read.records[span.position : span.position + span.size]
                found += decode_records(batch, exact=True)
            offset = read.batches[-1].last_offset + 1
        return found

    def values(self, topic: str = TOPIC, partition: int = 0) -> list[bytes | None]:
        return [record.value for record in self.records(topic, partition)]


def letter(
    value: bytes | None,
    offset: int,
    *,
    key: bytes | None = b"k",
    topic: str = TOPIC,
    partition: int = 0,
    group: str = "g",
    message: str = "Offset rejected by client.",
    own: Headers = (),
    more: Headers = (),
) -> RecordData:
    """Return a dead letter as Apache Kafka writes it, with `own` headers in front and `more` after them."""
    headers: Headers = (
        ("__dlq.errors.topic", topic.encode()),
        ("__dlq.errors.partition", b"%d" % partition),
        ("__dlq.errors.offset", b"%d" % offset),
        ("__dlq.errors.group", group.encode()),
        ("__dlq.errors.delivery.count", b"1"),
        ("__dlq.errors.message", message.encode()),
    )
    return RecordData(key, value, (*own, *headers, *more))


def kept(value: bytes | None, offset: int, *, own: Headers = (), died_ms: int = 5, **fields: str) -> RecordData:
    more = (("__dlq.errors.disposition", b"CLIENT_REJECTED"), ("__dlq.errors.timestamp", b"%d" % died_ms))
    return letter(value, offset, own=own, more=more, **fields)  # type: ignore[arg-type]


def counts_of(redrive: DescribedRedrive) -> dict[str, int]:
    return {row.what: row.records for row in redrive.counts}


def header(record: Record, name: str) -> Sequence[bytes | None]:
    return [value for key, value in record.headers if key == name]
