from __future__ import annotations

from typing import NamedTuple

from shareq.protocol.generated.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.cluster.coordinators import CoordinatorKind
from tests.support.cluster_scripts.conversation import Conversation

TIMESTAMP_MS = 1_700_000_000_000
WAIT_MS = 30_000


class ProducerId(NamedTuple):
    id: int
    epoch: int


def batch(
    *values: bytes,
    producer: ProducerId | None = None,
    sequence: int = -1,
    transactional: bool = False,
    key: bytes | None = b"k",
    timestamp_ms: int = TIMESTAMP_MS,
) -> bytes:
    producer_id, epoch = producer or (-1, -1)
    return bytes(
        build_batch(
            [RecordData(key, value) for value in values],
            timestamp_ms=timestamp_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
    )


def produce(
    talk: Conversation,
    topic: str,
    records: bytes | None,
    *,
    partition: int = 0,
    acks: int = -1,
    transactional_id: str | None = None,
    version: int | None = None,
) -> PartitionProduceResponse:
    data = [TopicProduceData(topic, talk.id_of(topic), [PartitionProduceData(partition, records)])]
    answer = talk.ask(ProduceRequest(transactional_id, acks, WAIT_MS, data), ProduceResponse, version)
    return answer.responses[0].partition_responses[0]


def begin_producer(
    talk: Conversation, transactional_id: str | None = None, known: ProducerId | None = None
) -> ProducerId:
    if transactional_id is not None:
        talk.coordinated(transactional_id, CoordinatorKind.TRANSACTION)
    talk.until(
        "there are producer ids",
        lambda: not talk.quietly(InitProducerIdRequest(None, 60_000), InitProducerIdResponse).error_code,
    )
    producer_id, epoch = known or (-1, -1)
    request = InitProducerIdRequest(transactional_id, 60_000, producer_id, epoch)
    answer = talk.ask(request, InitProducerIdResponse)
    return ProducerId(answer.producer_id, answer.producer_epoch)


def fetch_of(
    talk: Conversation,
    topic: str,
    *partitions: FetchPartition,
    wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    committed: bool = False,
    session: tuple[int, int] = (0, -1),
) -> FetchRequest:
    """Return a fetch of one topic's partitions; `session` is its id and epoch."""
    topics = [FetchTopic(topic, talk.id_of(topic), list(partitions))] if partitions else []
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=int(committed),
        session_id=session[0],
        session_epoch=session[1],
        topics=topics,
    )


def part(
    offset: int = 0, partition: int = 0, max_bytes: int = 1 << 20, epoch: int = -1, last_epoch: int = -1
) -> FetchPartition:
    return FetchPartition(partition, epoch, offset, last_epoch, partition_max_bytes=max_bytes)


def fetch(talk: Conversation, topic: str, offset: int = 0, *, committed: bool = False) -> FetchResponse:
    return talk.ask(fetch_of(talk, topic, part(offset), committed=committed), FetchResponse)
