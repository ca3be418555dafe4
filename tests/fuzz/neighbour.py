"""A client that must be served: it produces, fetches in a share group, acknowledges, and checks all of it."""

from __future__ import annotations

from typing import Final

from devtools.clients.requests import batch, create_topic
from devtools.clients.wire import Caller
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_fetch
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.records.batch import batch_headers, decode_records
from tests.fuzz.oracle import Defect

TOPIC: Final = "neighbour"
GROUP: Final = "neighbours"
MEMBER: Final = "next-door"
MOST_TRIES: Final = 30  # fetches until what was produced has come
GROUP_RESOURCE: Final = 32


class Neighbour:
    """One topic, one share group, one member. `served`: records produced, delivered once and accepted."""

    def __init__(self, client: Caller) -> None:
        self._client = client
        self._topic_id = create_topic(client, TOPIC)
        self._member_epoch = 0
        self._session_epoch = 0
        self._produced = 0
        self._accepted = 0  # offsets before it: values are offsets
        self._held: list[tuple[int, int]] = []  # acquired, not acknowledged
        self.served = 0
        setting = AlterConfigsResource(
            GROUP_RESOURCE, GROUP, [AlterableConfig("share.auto.offset.reset", 0, "earliest")]
        )
        answer = client.call(IncrementalAlterConfigsRequest([setting]), 1, IncrementalAlterConfigsResponse)
        self._expect("IncrementalAlterConfigs", answer.responses[0].error_code)
        self._heartbeat()

    def reconnect(self, client: Caller) -> None:
        self._client = client
        self._session_epoch = self._member_epoch = 0
        self._heartbeat()

    def step(self) -> None:
        """Produce, fetch and accept records. Raises Defect."""
        self._heartbeat()
        self._produce(2)
        for _ in range(MOST_TRIES):
            self._fetch()
            if self._accepted == self._produced and not self._held:
                self.served = self._accepted
                return
        raise Defect(f"neighbour: of {self._produced} records {self._accepted} came, {self._held} are not accepted")

    def _expect(self, what: str, *errors: int) -> None:
        if set(errors) - {ErrorCode.NONE}:
            raise Defect(f"neighbour: {what} was answered {[ErrorCode(error).name for error in errors]}")

    def _heartbeat(self) -> None:
        topics = [TOPIC] if self._member_epoch == 0 else None
        request = ShareGroupHeartbeatRequest(GROUP, MEMBER, self._member_epoch, None, topics)
        answer = self._client.call(request, 1, ShareGroupHeartbeatResponse)
        self._expect("ShareGroupHeartbeat", answer.error_code)
        self._member_epoch = answer.member_epoch

    def _produce(self, count: int) -> None:
        values = [str(self._produced + index).encode() for index in range(count)]
        data = TopicProduceData(TOPIC, partition_data=[PartitionProduceData(0, batch(*values))])
        answer = self._client.call(ProduceRequest(None, -1, 1000, [data]), 9, ProduceResponse)
        partition = answer.responses[0].partition_responses[0]
        self._expect("Produce", partition.error_code)
        if partition.base_offset != self._produced:
            raise Defect(f"neighbour: offset {partition.base_offset} where {self._produced} was next")
        self._produced += count

    def _fetch(self) -> None:
        acks = [share_fetch.AcknowledgementBatch(first, last, [1]) for first, last in self._held]
        self._held = []
        partition = share_fetch.FetchPartition(0, acks)
        topics = [share_fetch.FetchTopic(self._topic_id, [partition])] if acks or not self._session_epoch else []
        request = ShareFetchRequest(GROUP, MEMBER, self._session_epoch, 0, 0, 1 << 20, 500, 500, topics=topics)
        answer = self._client.call(request, 1, ShareFetchResponse)
        self._expect("ShareFetch", answer.error_code)
        self._session_epoch += 1
        for topic in answer.responses:
            for each in topic.partitions:
                self._expect("ShareFetch of its partition", each.error_code, each.acknowledge_error_code)
                self._take(each)

    def _take(self, partition: share_fetch.PartitionData) -> None:
        data = bytes(partition.records or b"")
        values = {
            record.offset: record.value
            for at, header in batch_headers(data)
            for record in decode_records(data[at : at + header.size])
        }
        for acquired in partition.acquired_records:
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                if offset != self._accepted or values.get(offset) != str(offset).encode():
                    raise Defect(f"neighbour: offset {offset} with {values.get(offset)!r}, due was {self._accepted}")
                if acquired.delivery_count != 1:
                    raise Defect(f"neighbour: offset {offset} was delivered {acquired.delivery_count} times")
                self._accepted += 1
            self._held.append((acquired.first_offset, acquired.last_offset))
