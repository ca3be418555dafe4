"""Numbers in the simulated cluster's answers that Apache Kafka's transcripts record only as equal or different."""

from __future__ import annotations

from devtools.clients.requests import TIMESTAMP_MS, produce_request
from shareq.protocol.generated.produce import PartitionProduceResponse, ProduceResponse
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.world import ClusterWorld

_OLD, _NEW = (7, 0), (7, 1)


class _Broker:
    def __init__(self) -> None:
        self.world = ClusterWorld(ClusterSettings(brokers=(1,)))
        self.topic_id = self.world.cluster.create_topic("orders", 2, 1, {}).topic_id

    def produce(self, producer: tuple[int, int], sequence: int, *, ago_ms: int = 0) -> PartitionProduceResponse:
        records = build_batch(
            [RecordData(b"k", b"v")],
            timestamp_ms=self.world.clock.wall_ms() - ago_ms,
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
        )
        return self.send(bytes(records))

    def send(self, records: bytes) -> PartitionProduceResponse:
        request = produce_request(records, topic="orders", topic_id=self.topic_id, acks=-1)
        found = self.world.ask(1, request)
        assert isinstance(found, ProduceResponse), found
        return found.responses[0].partition_responses[0]


def test_what_the_log_refuses_says_where_it_begins() -> None:
    broker = _Broker()
    broker.produce(_NEW, 0)
    broker.world.cluster.log("orders").delete_before(1)
    for row in (broker.produce(_OLD, 1), broker.produce(_NEW, 5)):
        assert (row.base_offset, row.log_start_offset) == (-1, 1)
    assert broker.send(b"").log_start_offset == -1


def test_a_batch_that_comes_again_has_its_own_time_and_first_offset() -> None:
    broker = _Broker()
    broker.produce(_OLD, 0, ago_ms=5)
    records = build_batch(
        [RecordData(b"k", b"v")], timestamp_ms=TIMESTAMP_MS, producer_id=7, producer_epoch=0, base_sequence=1
    )
    assert broker.send(bytes(records)).log_append_time_ms == -1
    again = broker.send(bytes(records))
    assert (again.base_offset, again.log_append_time_ms) == (1, TIMESTAMP_MS)
