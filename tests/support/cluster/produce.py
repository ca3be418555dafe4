"""Produce: v3 and later. Batches are checked by shareq's `Admission`, sequences and epochs by `producers.py`.

Sources: KafkaApis.handleProduceRequest, ReplicaManager.appendRecords, Partition.appendRecordsToLeader, UnifiedLog.
"""

from __future__ import annotations

from dataclasses import dataclass

from shareq.broker.foundation.pending import Pending
from shareq.broker.log.append import Batch
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import HEADER_SIZE, NO_PRODUCER_ID, read_header
from tests.support.cluster.broker import Led, SimulatedBroker
from tests.support.cluster.call import Answer, Call
from tests.support.cluster.image import TopicState
from tests.support.cluster.producers import Appended
from tests.support.cluster.rights import Operation, Resource

_IDS_FROM = 13
_RECORDS_FROM = 8
_LEADERS_FROM = 10
_ALL, _NONE = -1, 0
_SAYS_LOG_START = frozenset(
    {
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_TXN_STATE,
    }
)
"""The errors that UnifiedLog.append finds; their answers have the log start offset."""


@dataclass(slots=True)
class _Row:
    """One partition of the request. It waits until the high watermark reaches `upto`."""

    topic: TopicState | None
    answer: PartitionProduceResponse
    led: Led | None = None
    upto: int = -1


def handle(call: Call, request: ProduceRequest) -> Answer:
    """Append every batch; with acks=all the answer comes when all are replicated or the timeout has passed."""
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
    led = _leader(call, request, topic, part)
    error = led if isinstance(led, ErrorCode) else _store(call, led, row, part, request.acks)
    if error:
        _fail(row, error)
    return row


def _leader(
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
    # No more than there are replicas are asked for (Partition.effectiveMinIsr).
    least = min(call.broker.min_insync_replicas(topic), len(led.state.replicas))
    return led if len(led.state.isr) >= least else ErrorCode.NOT_ENOUGH_REPLICAS


def _store(call: Call, led: Led, row: _Row, part: PartitionProduceData, acks: int) -> ErrorCode:
    """Append the batch, or find it in the log as a duplicate, and set its row's offsets."""
    records, cluster = bytes(part.records or b""), call.broker.cluster
    if len(records) < HEADER_SIZE or read_header(records).size != len(records):
        return ErrorCode.INVALID_RECORD  # not one batch: found in the request (ProduceRequest.validateRecords)
    if error := cluster.transactions.refuses(call, led, read_header(records)):
        return error  # found out before the log is asked (ReplicaManager.maybeSendPartitionsToTransactionCoordinator)
    row.answer.log_start_offset = led.log.start
    wall_ms = cluster.env.clock.wall_ms()
    batch = _admitted(call, led, row, records, wall_ms)
    if isinstance(batch, ErrorCode):
        return batch
    header = read_header(batch)
    base, upto = led.log.end, led.log.end + header.last_offset_delta + 1
    known = led.log.producers.check(header) if header.producer_id != NO_PRODUCER_ID else ErrorCode.NONE
    if isinstance(known, Appended):
        base, upto = known.first_offset, known.first_offset + header.last_offset_delta + 1
        row.answer.log_append_time_ms = known.timestamp
    elif known:
        return known
    else:
        led.log.append(batch, led.state.epoch)
        cluster.replication.appended(call.broker, led.key)
        row.answer.log_append_time_ms = wall_ms if header.is_log_append_time else -1
    row.answer.base_offset, row.led, row.upto = base, led, upto if acks == _ALL else -1
    return ErrorCode.NONE


def _admitted(call: Call, led: Led, row: _Row, records: bytes, wall_ms: int) -> Batch | ErrorCode:
    """Return the batch as stored, or the error with which the topic refuses it."""
    admission = call.broker.admission(led.topic)
    checked = admission.check(records, wall_ms)
    if isinstance(checked, ErrorCode):
        if call.version >= _RECORDS_FROM:
            errors = admission.record_errors(records, wall_ms)
            row.answer.record_errors = [BatchIndexAndErrorMessage(each.record, each.reason) for each in errors]
        return checked
    batch, header = checked
    return admission.rewritten(batch, header, wall_ms) if admission.rewrites else batch


def _is_settled(broker: SimulatedBroker, row: _Row) -> bool:
    assert row.led is not None
    now = broker.led(broker.image.by_id(row.led.topic.topic_id), row.led.partition)
    if isinstance(now, ErrorCode):
        _fail(row, now)
        return True
    if row.led.log not in (now.log, broker.cluster.controller.logs.get(row.led.key)):
        # It led in vain, and leads again by now, which it can only by having been a follower in between.
        _fail(row, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return True
    return now.log.high_watermark >= row.upto


def _fail(row: _Row, error: ErrorCode) -> None:
    row.answer.error_code, row.answer.base_offset, row.answer.log_append_time_ms = error, -1, -1
    if error not in _SAYS_LOG_START:
        row.answer.log_start_offset = -1


def _name_leaders(call: Call, response: ProduceResponse, rows: list[_Row]) -> None:
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
