"""One broker with one partition behind the port `Link`: the part of a cluster that an owner of a slot needs.

Answers come when the test lets them: at `answer_all`, or at once with `prompt`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.ports import BrokerAddress, Failure, LinkFailure, Purpose
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import (
    delete_records,
    fetch,
    find_coordinator,
    init_producer_id,
    list_offsets,
    metadata,
    produce,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import read_header, stamp

TOPIC: Final = "__shareq_state"
TOPIC_ID: Final = b"S" * 16
NODE: Final = 1


@dataclass(slots=True)
class _Waiting:
    message: Message
    answer: Pending[Message | LinkFailure]


@dataclass
class SmallCluster:
    """The partition's log, its producers, and the rules of idempotence that fence owners."""

    batches: list[bytes] = field(default_factory=list)
    start: int = 0
    end: int = 0
    prompt: bool = True
    transactional_ids: bool = True
    refuse: dict[type[Message], list[int]] = field(default_factory=dict)
    seen: list[Message] = field(default_factory=list)
    _epochs: dict[int, int] = field(default_factory=dict)  # of producers that have written
    _ids: dict[str, tuple[int, int]] = field(default_factory=dict)
    _next_id: int = 100

    def link(self) -> SmallLink:
        return SmallLink(self)

    def refuse_next(self, kind: type[Message], *codes: int) -> None:
        """Answer the next requests of a kind with errors; 0 lets one through."""
        self.refuse.setdefault(kind, []).extend(codes)

    def append(self, batch: bytearray) -> int:
        base = self.end
        stamp(batch, base, 0)
        self.batches.append(bytes(batch))
        self.end = read_header(batch).next_offset
        return base

    def handle(self, message: Message) -> Message:
        self.seen.append(message)
        codes = self.refuse.get(type(message))
        code = codes.pop(0) if codes else 0
        return _HANDLERS[type(message)](self, message, code)

    def _metadata(self, request: Message, code: int) -> Message:
        partition = metadata.MetadataResponsePartition(0, 0, -1 if code else NODE, 0)
        return metadata.MetadataResponse(
            brokers=[metadata.MetadataResponseBroker(NODE, "broker", 9092)],
            topics=[metadata.MetadataResponseTopic(0, TOPIC, TOPIC_ID, False, [partition])],
        )

    def _find_coordinator(self, request: Message, code: int) -> Message:
        assert isinstance(request, find_coordinator.FindCoordinatorRequest)
        if not self.transactional_ids:
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        found = find_coordinator.Coordinator(request.coordinator_keys[0], NODE, "broker", 9092, code)
        return find_coordinator.FindCoordinatorResponse(coordinators=[found])

    def _init_producer_id(self, request: Message, code: int) -> Message:
        assert isinstance(request, init_producer_id.InitProducerIdRequest)
        if code:
            return init_producer_id.InitProducerIdResponse(error_code=code)
        name = request.transactional_id
        if name is None or name not in self._ids:
            given = self._next_id, 0
            self._next_id += 1
        else:
            given = self._ids[name][0], self._ids[name][1] + 1
        if name is not None:
            self._ids[name] = given
        return init_producer_id.InitProducerIdResponse(0, 0, *given)

    def _produce(self, request: Message, code: int) -> Message:
        assert isinstance(request, produce.ProduceRequest)
        assert request.acks == -1
        data = request.topic_data[0].partition_data[0].records
        assert data is not None
        header = read_header(data)
        if not code and header.producer_epoch < self._epochs.get(header.producer_id, -1):
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        base = -1
        if not code:
            self._epochs[header.producer_id] = header.producer_epoch
            base = self.append(bytearray(data))
        answer = produce.PartitionProduceResponse(0, code, base, -1, self.start)
        return produce.ProduceResponse([produce.TopicProduceResponse(TOPIC, TOPIC_ID, [answer])])

    def _fetch(self, request: Message, code: int) -> Message:
        assert isinstance(request, fetch.FetchRequest)
        wanted = request.topics[0].partitions[0]
        if not code and not self.start <= wanted.fetch_offset <= self.end:
            code = ErrorCode.OFFSET_OUT_OF_RANGE
        take: list[bytes] = []
        size = 0
        for batch in () if code else self.batches:
            if read_header(batch).last_offset >= wanted.fetch_offset:
                size += len(batch)
                if take and size > wanted.partition_max_bytes:
                    take.append(batch[: wanted.partition_max_bytes - size + len(batch)])
                    break
                take.append(batch)
        data = fetch.PartitionData(0, code, self.end, self.end, self.start, records=b"".join(take))
        return fetch.FetchResponse(responses=[fetch.FetchableTopicResponse(TOPIC, TOPIC_ID, [data])])

    def _list_offsets(self, request: Message, code: int) -> Message:
        found = list_offsets.ListOffsetsPartitionResponse(0, code, -1, self.start)
        return list_offsets.ListOffsetsResponse(topics=[list_offsets.ListOffsetsTopicResponse(TOPIC, [found])])

    def _delete_records(self, request: Message, code: int) -> Message:
        assert isinstance(request, delete_records.DeleteRecordsRequest)
        if not code:
            self.start = request.topics[0].partitions[0].offset
            self.batches = [each for each in self.batches if read_header(each).last_offset >= self.start]
        result = delete_records.DeleteRecordsPartitionResult(0, self.start, code)
        return delete_records.DeleteRecordsResponse(topics=[delete_records.DeleteRecordsTopicResult(TOPIC, [result])])


_Handler = Callable[[SmallCluster, Message, int], Message]
_HANDLERS: Final[Mapping[type[Message], _Handler]] = {
    metadata.MetadataRequest: SmallCluster._metadata,
    find_coordinator.FindCoordinatorRequest: SmallCluster._find_coordinator,
    init_producer_id.InitProducerIdRequest: SmallCluster._init_producer_id,
    produce.ProduceRequest: SmallCluster._produce,
    fetch.FetchRequest: SmallCluster._fetch,
    list_offsets.ListOffsetsRequest: SmallCluster._list_offsets,
    delete_records.DeleteRecordsRequest: SmallCluster._delete_records,
}


class SmallLink:
    """A node's link to the small cluster: requests wait here until they are let through, or lost."""

    def __init__(self, cluster: SmallCluster) -> None:
        self.brokers: Mapping[int, BrokerAddress] = {NODE: BrokerAddress("broker", 9092)}
        self.waiting: deque[_Waiting] = deque()
        self.held = False
        self._cluster = cluster

    def send(
        self,
        node: int | None,
        message: Message,
        *,
        purpose: Purpose = Purpose.GENERAL,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
        lane: int = 0,
    ) -> Pending[Message | LinkFailure]:
        answer: Pending[Message | LinkFailure] = Pending()
        self.waiting.append(_Waiting(message, answer))
        if self._cluster.prompt and not self.held:
            self.answer_all()
        return answer

    def answer_one(self) -> None:
        waiting = self.waiting.popleft()
        waiting.answer.complete(self._cluster.handle(waiting.message))

    def answer_all(self) -> None:
        while self.waiting:
            self.answer_one()

    def lose_one(self, failure: Failure = Failure.LOST, *, handled: bool = False) -> None:
        waiting = self.waiting.popleft()
        if handled:
            self._cluster.handle(waiting.message)
        waiting.answer.complete(LinkFailure(failure, f"broker {NODE}: {failure.value}"))

    def offers(self, node: int | None, api_key: int) -> int | None:
        return None

    def on_lost(self, listener: Callable[[int, Purpose], None]) -> None: ...

    def close(self) -> None: ...
