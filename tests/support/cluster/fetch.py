"""Fetch: v4 and later. Sessions (KIP-227) are shareq's `FetchSessions`, which knows nothing of logs.

Sources: KafkaApis.handleFetchRequest, ReplicaManager.readFromLog, Partition.readRecords, DelayedFetch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shareq.broker.fetch.sessions import FINAL_EPOCH, INITIAL_EPOCH, FetchContext, PartitionKey, SessionPartition
from shareq.broker.foundation.pending import Pending
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from shareq.protocol.primitives import ZERO_UUID, Message
from tests.support.cluster.broker import Led
from tests.support.cluster.call import Answer, Call
from tests.support.cluster.image import TopicState
from tests.support.cluster.rights import Operation, Resource

_IDS_FROM = 13
_LEADERS_FROM = 16
_READ_COMMITTED = 1
_UNREAD = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
)
"""The errors that are found before a log is looked up; their rows come last."""

Rows = list[tuple[SessionPartition, PartitionData]]


class _Read(NamedTuple):
    """One pass over all partitions. `is_final`: it has an error or a truncation, so it is answered at once."""

    rows: Rows
    size: int
    is_final: bool


def handle(call: Call, request: FetchRequest) -> Answer:
    named = _named(request.topics, ids=call.version >= _IDS_FROM)
    context = _context(call, request, named)
    if isinstance(context, ErrorCode):
        return FetchResponse(error_code=context)
    read = _read(call, request, context.partitions)
    for partition, _ in read.rows if request.session_epoch == INITIAL_EPOCH else ():
        named[partition.key] = named.pop(partition.key)  # a new session has them in the order of its first answer
    least = min(request.min_bytes, _most(call, request))
    pending: Pending[Message | None] = Pending()

    def answer() -> None:
        pending.complete(_answer(call, context, _read(call, request, context.partitions)))

    def look() -> bool:
        now = _read(call, request, context.partitions)
        enough = now.is_final or now.size >= least
        if enough:
            answer()
        return enough

    if request.max_wait_ms <= 0 or not read.rows or read.is_final or read.size >= least:
        answer()
    else:
        call.broker.wait(look, request.max_wait_ms, answer)
    return pending


def _context(
    call: Call, request: FetchRequest, named: dict[PartitionKey, SessionPartition]
) -> FetchContext | ErrorCode:
    sessions, ids = call.broker.sessions, call.version >= _IDS_FROM
    if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        return sessions.open(request.session_id, request.session_epoch, named, uses_topic_ids=ids)
    session = sessions.find(request.session_id, request.session_epoch, uses_topic_ids=ids)
    if isinstance(session, ErrorCode):
        return session
    session.update(named.values())
    for gone in request.forgotten_topics_data:
        session.forget([(gone.topic_id if ids else gone.topic, number) for number in gone.partitions])
    now_ms = call.broker.cluster.env.clock.now_ms()
    return sessions.resume(request.session_id, request.session_epoch, uses_topic_ids=ids, now_ms=now_ms)


def _named(topics: Sequence[FetchTopic], *, ids: bool) -> dict[PartitionKey, SessionPartition]:
    partitions = [
        SessionPartition(
            topic.topic_id if ids else topic.topic,
            part.partition,
            part.fetch_offset,
            part.partition_max_bytes,
            part.current_leader_epoch,
            part.last_fetched_epoch,
        )
        for topic in topics
        for part in topic.partitions
    ]
    return {each.key: each for each in partitions}


def _most(call: Call, request: FetchRequest) -> int:
    return min(request.max_bytes, call.broker.cluster.settings.fetch_max_bytes)


def _read(call: Call, request: FetchRequest, partitions: Sequence[SessionPartition]) -> _Read:
    rows, refused, left, is_final = Rows(), Rows(), _most(call, request), False
    size = 0
    for partition in partitions:
        data = _partition(call, request, partition, left, first=not size)
        size += len(data.records or b"")
        left = max(0, left - len(data.records or b""))
        is_final |= bool(data.error_code) or (data.diverging_epoch is not None and data.diverging_epoch.epoch >= 0)
        (rows if data.aborted_transactions is None or not data.error_code else refused).append((partition, data))
    rows += refused
    return _Read(rows, size, is_final)


def _topic(call: Call, partition: SessionPartition) -> TopicState | None:
    name_or_id = partition.topic
    return call.broker.image.by_id(name_or_id) if isinstance(name_or_id, bytes) else call.broker.topic(name_or_id)


def _partition(
    call: Call, request: FetchRequest, partition: SessionPartition, left: int, *, first: bool
) -> PartitionData:
    topic = _topic(call, partition)
    led: Led | ErrorCode
    if topic is None:
        was_known = (request.session_id, partition.topic) in call.broker.named_in_sessions
        by_id = call.version >= _IDS_FROM and not was_known
        led = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif error := call.broker.cluster.rights.error(Resource.TOPIC, topic.name, Operation.READ):
        led = error
    else:
        led = call.broker.led(topic, partition.partition, partition.current_leader_epoch)
    if isinstance(led, ErrorCode):
        return _refused(partition, led, unread=led in _UNREAD)
    log = led.log
    if partition.last_fetched_epoch >= 0:
        end = log.end_of_epoch(partition.last_fetched_epoch, led.state.epoch)
        if end is None:
            return _refused(partition, ErrorCode.OFFSET_OUT_OF_RANGE)
        if end.epoch < partition.last_fetched_epoch or end.offset < partition.fetch_offset:
            data = _data(led, request, b"", 0)
            data.diverging_epoch = EpochEndOffset(end.epoch, end.offset)
            return data
    if not log.start <= partition.fetch_offset <= log.end:
        return _refused(partition, ErrorCode.OFFSET_OUT_OF_RANGE)
    upto = log.last_stable_offset if request.isolation_level == _READ_COMMITTED else log.high_watermark
    most = min(partition.max_bytes, left)
    records = log.read(partition.fetch_offset, upto, most, whole_first=first)
    return _data(led, request, records, partition.fetch_offset)


def _data(led: Led, request: FetchRequest, records: bytes, offset: int) -> PartitionData:
    log, aborted = led.log, None
    if request.isolation_level == _READ_COMMITTED:
        # Kafka looks up to the next entry of the offset index, in a small log up to its end: more than was read.
        between = log.aborted_between(offset, log.end) if records else ()
        aborted = [AbortedTransaction(each.producer_id, each.first_offset) for each in between]
    return PartitionData(
        led.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.start,
        aborted_transactions=aborted,
        records=records,
    )


def _refused(partition: SessionPartition, error: ErrorCode, *, unread: bool = False) -> PartitionData:
    """Return the row of an error. `unread`: no log was looked up, so aborted transactions are empty, not null."""
    aborted: list[AbortedTransaction] | None = [] if unread else None
    return PartitionData(partition.partition, error, high_watermark=-1, aborted_transactions=aborted, records=b"")


def _answer(call: Call, context: FetchContext, read: _Read) -> FetchResponse:
    rows = context.noted(read.rows)
    error, session_id = context.answered(call.broker.cluster.env.clock.now_ms())
    if error:
        return FetchResponse(error_code=error)
    known = {each.topic for each, _ in read.rows if isinstance(each.topic, bytes) and _topic(call, each) is not None}
    call.broker.named_in_sessions.update((session_id, topic_id) for topic_id in known if session_id)
    response = FetchResponse(session_id=session_id)
    for partition, data in rows:
        _add(response, partition, data)
        if data.error_code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
            _name_leader(call, response, partition, data)
    return response


def _add(response: FetchResponse, partition: SessionPartition, data: PartitionData) -> None:
    name, topic_id = ("", partition.topic) if isinstance(partition.topic, bytes) else (partition.topic, ZERO_UUID)
    last = response.responses[-1] if response.responses else None
    if last is None or (last.topic, last.topic_id) != (name, topic_id):
        last = FetchableTopicResponse(name, topic_id)
        response.responses.append(last)
    last.partitions.append(data)


def _name_leader(call: Call, response: FetchResponse, partition: SessionPartition, data: PartitionData) -> None:
    topic = _topic(call, partition)
    if topic is None or call.version < _LEADERS_FROM:
        return
    state = topic.partitions[partition.partition]
    data.current_leader = LeaderIdAndEpoch(state.leader, state.epoch)
    address = call.broker.cluster.addresses.get(state.leader)
    if address is not None and state.leader not in [each.node_id for each in response.node_endpoints]:
        response.node_endpoints.append(NodeEndpoint(state.leader, address.host, address.port))
