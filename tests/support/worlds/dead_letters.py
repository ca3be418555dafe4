"""A broker in memory whose group `g` has a dead-letter queue, a member of it, and access to queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from devtools.clients.requests import produce_request
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.records.batch import Compression, Record, RecordData, build_batch, decode_records
from tests.support.clients.share_client import REJECT, RELEASE, Place, ShareClient, configure, from_the_start

QUEUE: Final = "dlq.t"
MESSAGES: Final[dict[int, bytes]] = {
    REJECT: b"Offset rejected by client.",
    RELEASE: b"Offset delivery count exceeded the threshold.",
}


class DeadLetterWorld:
    """Topic `t`, and group `g` whose queue `dlq.t` is created on first use, with copies of dead records."""

    def __init__(
        self,
        partitions: int = 1,
        *,
        creates: bool = True,
        properties: Mapping[str, str] | None = None,
        **of_group: str,
    ) -> None:
        own = {"errors.deadletterqueue.auto.create.topics.enable": str(creates).lower(), **(properties or {})}
        self.world = BrokerWorld(own)
        self.topic_id = self.world.create_topic("t", partitions).topic_id
        self.place: Place = (self.topic_id, 0)
        from_the_start(self.world)
        defaults = {
            "errors_deadletterqueue_topic_name": QUEUE,
            "errors_deadletterqueue_copy_record_enable": "true",
            "share_delivery_count_limit": "2",
        }
        configure(self.world, "g", **{**defaults, **of_group})
        self.member = ShareClient(self.world)

    def produce(
        self,
        *records: RecordData | bytes,
        topic: str = "t",
        partition: int = 0,
        compression: Compression = Compression.NONE,
    ) -> None:
        data = [RecordData(b"k", each) if isinstance(each, bytes) else each for each in records]
        batch = build_batch(data, timestamp_ms=self.world.clock.wall_ms(), compression=compression)
        request = produce_request(bytes(batch), topic=topic, partition=partition)
        answer = self.world.connect().call(request, 9, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE

    def take(self, *, partition: int = 0) -> list[tuple[int, int, int]]:
        if not self.member.member_epoch:
            self.member.join("t")
        return self.member.acquire((self.topic_id, partition))

    def end(self, kind: int, first: int, last: int, *, partition: int = 0) -> None:
        place = (self.topic_id, partition)
        assert self.member.acknowledge(place, (first, last, kind)) is ErrorCode.NONE
        self.settle()

    def settle(self, ms: int = 0) -> None:
        self.world.clock.advance(ms)
        self.world.clock.run_until_idle()

    def letters(self, queue: str = QUEUE, partition: int = 0) -> list[Record]:
        return [record for batch in self.batches(queue, partition) for record in decode_records(batch)]

    def batches(self, queue: str = QUEUE, partition: int = 0) -> list[bytes]:
        if self.world.services.metadata.topic(queue) is None:
            return []
        log = self.world.folder.logs.get(queue, partition)
        found: list[bytes] = []
        offset = log.log_start_offset
        while offset < log.high_watermark:
            read = log.read(offset, 1 << 20, upto=log.high_watermark)
            assert isinstance(read, ReadResult)
            found += [read.records[span.position : span.position + span.size] for span in read.batches]
            offset = read.batches[-1].last_offset + 1
        return found

    def offsets(self, queue: str = QUEUE, partition: int = 0) -> list[int]:
        return [int(header_of(letter, "__dlq.errors.offset") or b"-1") for letter in self.letters(queue, partition)]

    def start_offset(self, partition: int = 0) -> int:
        key = SharePartitionKey("g", self.topic_id, partition)
        return self.world.services.share.partitions.get_or_load(key, "t").core.start_offset

    def configure(self, kind: str, name: str, **properties: str) -> None:
        """Set properties of a topic, a group or the brokers (""), with underscores for dots."""
        resource = ResourceName(kind, name)
        changes = [PutConfig(resource, key.replace("_", "."), value) for key, value in properties.items()]
        self.world.services.metadata.alter_configs(changes)


def header_of(record: Record, name: str) -> bytes | None:
    return next((value for key, value in reversed(record.headers) if key == name), None)


def expected_headers(
    offset: int, count: int = 1, kind: int = REJECT, *, topic: str = "t", partition: int = 0, group: str = "g"
) -> Sequence[tuple[str, bytes]]:
    """Return the six headers of Apache Kafka 4.4.0, in order."""
    return (
        ("__dlq.errors.topic", topic.encode()),
        ("__dlq.errors.partition", b"%d" % partition),
        ("__dlq.errors.offset", b"%d" % offset),
        ("__dlq.errors.group", group.encode()),
        ("__dlq.errors.delivery.count", b"%d" % count),
        ("__dlq.errors.message", MESSAGES[kind]),
    )
