"""One slot, a partition of a state topic in the cluster, and the requests to the broker that leads it.

Answers are values: the result, or a `Refused` with the reason. Nothing is sent again here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from shareq.broker.foundation.pending import Pending, completed
from shareq.cluster.link.ports import Failure, Link, LinkFailure, Purpose
from shareq.cluster.state.fencing import Producer
from shareq.protocol.errors import ErrorCode, error_of
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from shareq.protocol.primitives import Message

T = TypeVar("T")
M = TypeVar("M", bound=Message)

ALL_REPLICAS: Final = -1
EARLIEST: Final = -2
TRANSACTIONAL_ID: Final = 1
"""The key type of transactional ids in FindCoordinator."""
SEVERAL_KEYS: Final = 4
"""The first version of FindCoordinator with a list of keys."""
WITH_LOG_START: Final = 5
"""The first version of Produce whose answer has the log start offset."""
MOST_BYTES: Final = 1 << 20
"""The bytes that a fetch asks for, all that a reader holds of the log at a time unless one batch is larger."""
TRANSACTION_TIMEOUT_MS: Final = 60_000
"""The transaction timeout in InitProducerId, which is never used, since owners begin no transaction. The cluster limits
it (`transaction.max.timeout.ms`).
"""


@dataclass(slots=True)
class StateTopic:
    """A state topic as it was found. `max_message_bytes` is lowered if the cluster refuses a batch as too large.

    `compacted`: the last record of a key is kept, even if a zombie has written it.
    """

    name: str
    topic_id: bytes
    partitions: int
    max_message_bytes: int
    compacted: bool


class Refused(NamedTuple):
    """The reason why there is no result. `error` is the broker's error code; None if no answer came, for which
    `failure` has the reason.
    """

    text: str
    error: ErrorCode | None = None
    failure: Failure | None = None

    @property
    def is_large(self) -> bool:
        """True if the batch was larger than the topic allows."""
        return self.error in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class Produced(NamedTuple):
    """The offset of a batch. `log_start_offset` is -1 if the broker does not report it."""

    base_offset: int
    log_start_offset: int


class Fetched(NamedTuple):
    """The bytes of batches as they came; the last one may be incomplete."""

    records: bytes
    high_watermark: int
    log_start_offset: int


class Slot:
    """The requests about one partition of a state topic. `leader` is the broker that was last found to lead it, and
    `leader_epoch` its leader epoch, -1 if it was not reported.
    """

    def __init__(self, link: Link, topic: StateTopic, partition: int, *, request_timeout_ms: int = 10_000) -> None:
        self.topic: Final = topic
        self.partition: Final = partition
        self.leader: int | None = None
        self.leader_epoch = -1
        self._link = link
        self._timeout_ms = request_timeout_ms

    @property
    def name(self) -> str:
        return f"{self.topic.name}-{self.partition}"

    # -- by any broker

    def find_leader(self, node: int | None = None) -> Pending[int | Refused]:
        """Ask a broker, or any, who leads the slot; later requests go to that leader."""
        wanted = MetadataRequestTopic(name=self.topic.name)
        request = MetadataRequest([wanted], allow_auto_topic_creation=False)
        return self._ask(node, request, MetadataResponse, self._found)

    def _found(self, answer: MetadataResponse) -> int | Refused:
        self.leader = None
        for topic in answer.topics:
            if topic.name != self.topic.name:
                continue
            if topic.error_code:
                return self._refused("Metadata", topic.error_code)
            for each in topic.partitions:
                if each.partition_index == self.partition and each.leader_id >= 0:
                    self.leader, self.leader_epoch = each.leader_id, each.leader_epoch
                    return each.leader_id
        return self._refused("Metadata", ErrorCode.LEADER_NOT_AVAILABLE)

    def find_transaction_coordinator(self, transactional_id: str) -> Pending[int | Refused]:
        """Ask which broker coordinates a transactional id."""

        def found(answer: FindCoordinatorResponse) -> int | Refused:
            if not answer.coordinators:
                return self._refused("FindCoordinator", ErrorCode.COORDINATOR_NOT_AVAILABLE)
            first = answer.coordinators[0]
            return self._refused("FindCoordinator", first.error_code) if first.error_code else first.node_id

        request = FindCoordinatorRequest("", TRANSACTIONAL_ID, [transactional_id])
        return self._ask(None, request, FindCoordinatorResponse, found, min_version=SEVERAL_KEYS)

    def init_producer_id(self, node: int | None, transactional_id: str | None) -> Pending[Producer | Refused]:
        """Ask for a producer id and epoch that no other producer has; with a transactional id, earlier ones are
        fenced.
        """

        def given(answer: InitProducerIdResponse) -> Producer | Refused:
            if answer.error_code:
                return self._refused("InitProducerId", answer.error_code)
            return Producer(answer.producer_id, answer.producer_epoch)

        request = InitProducerIdRequest(transactional_id, TRANSACTION_TIMEOUT_MS)
        return self._ask(node, request, InitProducerIdResponse, given)

    # -- by its leader

    def produce(self, batch: bytes | bytearray, timeout_ms: int) -> Pending[Produced | Refused]:
        """Append a batch with acks=all."""
        data = PartitionProduceData(self.partition, bytes(batch))
        topic = TopicProduceData(self.topic.name, self.topic.topic_id, [data])
        request = ProduceRequest(None, ALL_REPLICAS, timeout_ms, [topic])
        return self._ask(
            self.leader, request, ProduceResponse, self._produced, min_version=WITH_LOG_START, timeout_ms=timeout_ms
        )

    def _produced(self, answer: ProduceResponse) -> Produced | Refused:
        for topic in answer.responses:
            for each in topic.partition_responses:
                if each.error_code:
                    return self._refused("Produce", each.error_code)
                return Produced(each.base_offset, each.log_start_offset)
        return self._refused("Produce", ErrorCode.UNKNOWN_SERVER_ERROR)

    def fetch(
        self, offset: int, max_wait_ms: int, *, purpose: Purpose = Purpose.STATE, epoch: int = -1
    ) -> Pending[Fetched | Refused]:
        """Fetch up to `MOST_BYTES` from an offset on; a larger first batch comes alone. `purpose` selects the
        connection, a separate one for fetches that wait. `epoch` is the leader epoch in which the answer is wanted.
        """
        wanted = FetchPartition(self.partition, epoch, offset, partition_max_bytes=MOST_BYTES)
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=MOST_BYTES,
            topics=[FetchTopic(self.topic.name, self.topic.topic_id, [wanted])],
        )
        return self._ask(self.leader, request, FetchResponse, self._fetched, purpose=purpose)

    def _fetched(self, answer: FetchResponse) -> Fetched | Refused:
        if answer.error_code:
            return self._refused("Fetch", answer.error_code)
        for topic in answer.responses:
            for each in topic.partitions:
                if each.error_code:
                    return self._refused("Fetch", each.error_code)
                return Fetched(bytes(each.records or b""), each.high_watermark, each.log_start_offset)
        return self._refused("Fetch", ErrorCode.UNKNOWN_SERVER_ERROR)

    def find_start(self) -> Pending[int | Refused]:
        """Ask for the slot's log start offset."""

        def found(answer: ListOffsetsResponse) -> int | Refused:
            for topic in answer.topics:
                for each in topic.partitions:
                    return self._refused("ListOffsets", each.error_code) if each.error_code else each.offset
            return self._refused("ListOffsets", ErrorCode.UNKNOWN_SERVER_ERROR)

        wanted = ListOffsetsTopic(self.topic.name, [ListOffsetsPartition(self.partition, -1, EARLIEST)])
        return self._ask(self.leader, ListOffsetsRequest(-1, 0, [wanted]), ListOffsetsResponse, found, min_version=1)

    def delete_records(self, offset: int) -> Pending[int | Refused]:
        """Delete all records below an offset; return the new log start offset."""

        def deleted(answer: DeleteRecordsResponse) -> int | Refused:
            for topic in answer.topics:
                for each in topic.partitions:
                    return self._refused("DeleteRecords", each.error_code) if each.error_code else each.low_watermark
            return self._refused("DeleteRecords", ErrorCode.UNKNOWN_SERVER_ERROR)

        wanted = DeleteRecordsTopic(self.topic.name, [DeleteRecordsPartition(self.partition, offset)])
        return self._ask(self.leader, DeleteRecordsRequest([wanted], self._timeout_ms), DeleteRecordsResponse, deleted)

    # -- shared

    def _ask(
        self,
        node: int | None,
        request: Message,
        kind: type[M],
        read: Callable[[M], T],
        *,
        min_version: int = 0,
        timeout_ms: int | None = None,
        purpose: Purpose = Purpose.STATE,
    ) -> Pending[T | Refused]:
        """Send a request, by default over the connection for states, which is answered in order."""
        if node is None and kind in _BY_LEADER:
            return completed(self._refused("no broker leads it", ErrorCode.LEADER_NOT_AVAILABLE))

        def heard(answer: Message | LinkFailure) -> T | Refused:
            if isinstance(answer, LinkFailure):
                return Refused(f"{self.name}: {answer.text}", failure=answer.failure)
            if not isinstance(answer, kind):
                return Refused(f"{self.name}: a {type(answer).__name__} where a {kind.__name__} is due")
            return read(answer)

        timeout = self._timeout_ms if timeout_ms is None else timeout_ms
        sent = self._link.send(node, request, purpose=purpose, timeout_ms=timeout, min_version=min_version)
        return sent.then(heard)

    def _refused(self, what: str, code: int) -> Refused:
        error = error_of(code)
        return Refused(f"{self.name}: {what}: {error.name}", error)


_BY_LEADER: Final = frozenset({ProduceResponse, FetchResponse, ListOffsetsResponse, DeleteRecordsResponse})
"""The requests that only the slot's leader may answer."""
