"""Produce: v3 and later. Batches are checked by shareq's `Admission`, sequences and epochs by `producers.py`.

Sources: KafkaApis.handleProduceRequest, ReplicaManager.appendRecords, Partition.appendRecordsToLeader, UnifiedLog.
"""

from __future__ import annotations

from dataclasses import dataclass

from shareq.broker.foundation.pending import Pending
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import NO_PRODUCER_ID
from tests.support.cluster.broker import Led, SimulatedBroker
from tests.support.cluster.call import Answer, Call
from tests.support.cluster.image import TopicState
from tests.support.cluster.producers import Appended
from tests.support.cluster.rights import Operation, Resource

_IDS_FROM = 13
_LEADERS_FROM = 10
_ALL, _NONE = -1, 0


@dataclass(slots=True)
class _Row:
    """One partition of the request. It waits until the high watermark is at `upto`."""

    topic: TopicState | None
    answer: PartitionProduceResponse
    led: Led | None = None
    upto: int = -1


def handle(call: Call, request: ProduceRequest) -> Answer:
    """Append every batch; with acks=all the answer comes when all are replicated, or the time is over."""
    broker, response, rows = call.broker, ProduceResponse(), list[_Row]()
    for data in request.topic_data:
        by_id = call.version >= _IDS_FROM
        topic = broker.image.by_id(data.topic_id) if by_id else broker.topic(data.name)
        parts = [_append(call, request, topic, part) for part in data.partition_data]
        rows += parts
        response.responses.append(TopicProduceResponse(data.name, data.topic_id, [each.answer for each in parts]))
    if request.acks == _NONE:
        return None
    waiting = [row for row in rows if row.upto >= 0]
    pending: Pending[Message | None] = Pending()

    def look() -> bool:
        waiting[:] = [row for row in waiting if not _is_settled(broker, row)]
        if not waiting:
            _name_leaders(call, response, rows)
            pending.complete(response)
        return not waiting

    def too_late() -> None:
        for row in waiting:
            _fail(row, ErrorCode.REQUEST_TIMED_OUT)
        pending.complete(response)

    if not look():
        broker.wait(look, request.timeout_ms, too_late)
    return pending


def _append(call: Call, request: ProduceRequest, topic: TopicState | None, part: PartitionProduceData) -> _Row:
    row = _Row(topic, PartitionProduceResponse(part.index, base_offset=-1))
    led = _may_append(call, request, topic, part)
    error = led if isinstance(led, ErrorCode) else _store(call, led, row, part, request.acks)
    if error:
        _fail(row, error)
    return row


def _may_append(
    call: Call, request: ProduceRequest, topic: TopicState | None, part: PartitionProduceData
) -> Led | ErrorCode:
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID if call.version >= _IDS_FROM else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if error := call.broker.cluster.rights.error(Resource.TOPIC, topic.name, Operation.WRITE):
        return error
    if request.acks not in (_ALL, _NONE, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    led = call.broker.led(topic, part.index)
    if isinstance(led, ErrorCode) or request.acks != _ALL:
        return led
    enough = len(led.state.isr) >= call.broker.min_insync_replicas(topic)
    return led if enough else ErrorCode.NOT_ENOUGH_REPLICAS


def _store(call: Call, led: Led, row: _Row, part: PartitionProduceData, acks: int) -> ErrorCode:
    """Append the batch, or find it in the log: its row says where it is."""
    wall_ms = call.broker.cluster.env.clock.wall_ms()
    records = bytes(part.records or b"")
    admission = call.broker.admission(led.topic)
    checked = admission.check(records, wall_ms)
    if isinstance(checked, ErrorCode):
        return checked
    batch, header = checked
    append_time = call.broker.log_settings(led.topic).append_time
    if admission.rewrites:
        rewritten = admission.rewritten(batch, header, wall_ms)
        if isinstance(rewritten, ErrorCode):
            return rewritten
        batch = rewritten
    base, upto = led.log.end, led.log.end + header.last_offset_delta + 1
    known = led.log.producers.check(header) if header.producer_id != NO_PRODUCER_ID else ErrorCode.NONE
    if isinstance(known, Appended):
        base, upto = known.first_offset, known.first_offset + header.last_offset_delta + 1
    elif known:
        return known
    elif error := call.broker.cluster.transactions.refuses(call, led, header):
        return error
    else:
        led.log.append(batch, led.state.epoch, wall_ms)
        call.broker.cluster.replication.appended(call.broker, led.key)
    row.answer.base_offset, row.answer.log_start_offset = base, led.log.start
    row.answer.log_append_time_ms = wall_ms if append_time else -1
    row.led, row.upto = led, upto if acks == _ALL else -1
    return ErrorCode.NONE


def _is_settled(broker: SimulatedBroker, row: _Row) -> bool:
    assert row.led is not None
    now = broker.led(broker.image.by_id(row.led.topic.topic_id), row.led.partition)
    if isinstance(now, ErrorCode):
        _fail(row, now)
        return True
    if now.state.epoch != row.led.state.epoch:  # deposed and back again: the batch may be gone
        _fail(row, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return True
    return now.log.high_watermark >= row.upto


def _fail(row: _Row, error: ErrorCode) -> None:
    row.answer.error_code, row.answer.base_offset, row.answer.log_start_offset = error, -1, -1
    row.answer.log_append_time_ms = -1


def _name_leaders(call: Call, response: ProduceResponse, rows: list[_Row]) -> None:
    """Say who leads what this broker does not (KIP-951)."""
    if call.version < _LEADERS_FROM:
        return
    for row in rows:
        if row.answer.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER or row.topic is None:
            continue
        state = row.topic.partitions[row.answer.index]
        row.answer.current_leader = LeaderIdAndEpoch(state.leader, state.epoch)
        address = call.broker.cluster.addresses.get(state.leader)
        if address is not None and state.leader not in [each.node_id for each in response.node_endpoints]:
            response.node_endpoints.append(NodeEndpoint(state.leader, address.host, address.port))
