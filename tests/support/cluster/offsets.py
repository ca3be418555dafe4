"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords.

Sources: ReplicaManager.fetchOffset, Partition.fetchOffsetForTimestamp, Partition.lastOffsetForLeaderEpoch,
Partition.deleteRecordsOnLeader.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from shareq.protocol.generated.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from tests.support.cluster.broker import Led
from tests.support.cluster.call import Answer, Call
from tests.support.cluster.log import Found
from tests.support.cluster.rights import Operation, Resource

_LATEST: Final = -1
_EARLIEST: Final = -2
_NEWEST: Final = -3
_EARLIEST_LOCAL: Final = -4
_FIRST_VERSION: Final = {_LATEST: 1, _EARLIEST: 1, _NEWEST: 7, _EARLIEST_LOCAL: 8, -5: 9, -6: 11}
_EPOCHS_FROM: Final = 4
_READ_COMMITTED: Final = 1
_TO_THE_END: Final = -1


def list_offsets(call: Call, request: ListOffsetsRequest) -> Answer:
    named = Counter((topic.name, part.partition_index) for topic in request.topics for part in topic.partitions)
    twice = {each for each, count in named.items() if count > 1}
    hidden = call.broker.cluster.rights
    topics = sorted(
        request.topics, key=lambda topic: bool(hidden.error(Resource.TOPIC, topic.name, Operation.DESCRIBE))
    )
    answer, release = ListOffsetsResponse(), call.broker.cluster.settings.release
    for topic in topics:
        numbers = [part.partition_index for part in topic.partitions]
        refused = [number for number in dict.fromkeys(numbers) if (topic.name, number) in twice]
        rows = [
            _offset(call, request, topic.name, part) for part in topic.partitions if part.partition_index not in refused
        ]
        repeated = [number for number in numbers if number in refused] if release.repeats_rows else refused
        rows += [ListOffsetsPartitionResponse(number, ErrorCode.INVALID_REQUEST) for number in repeated]
        answer.topics.append(ListOffsetsTopicResponse(topic.name, rows))
    return answer


def _offset(
    call: Call, request: ListOffsetsRequest, name: str, part: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    if error := call.broker.cluster.rights.error(Resource.TOPIC, name, Operation.DESCRIBE):
        return ListOffsetsPartitionResponse(part.partition_index, error)
    if part.timestamp < 0 and call.version < _FIRST_VERSION.get(part.timestamp, 2**15):
        return ListOffsetsPartitionResponse(part.partition_index, ErrorCode.UNSUPPORTED_VERSION)
    led = call.broker.led(call.broker.topic(name), part.partition_index, part.current_leader_epoch)
    if isinstance(led, ErrorCode):
        return ListOffsetsPartitionResponse(part.partition_index, led)
    committed = request.isolation_level == _READ_COMMITTED
    upto = led.log.last_stable_offset if committed else led.log.high_watermark
    found, epoch = _found(led, part.timestamp, upto), led.state.epoch
    if found is None:
        return ListOffsetsPartitionResponse(part.partition_index)
    if part.timestamp != _LATEST:
        epoch = led.log.epoch_at(found.offset)
    if call.version < _EPOCHS_FROM:
        epoch = -1
    return ListOffsetsPartitionResponse(part.partition_index, 0, found.timestamp, found.offset, epoch)


def _found(led: Led, timestamp: int, upto: int) -> Found | None:
    if timestamp == _LATEST:
        return Found(upto, -1)
    if timestamp in (_EARLIEST, _EARLIEST_LOCAL):
        return Found(led.log.start, -1)
    if timestamp == _NEWEST:
        return led.log.newest(upto)
    return led.log.first_at(timestamp, upto) if timestamp >= 0 else None


def offset_for_leader_epoch(call: Call, request: OffsetForLeaderEpochRequest) -> Answer:
    """Answer with the ends of epochs, from which a reader detects truncation (KIP-320)."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(topic.topic, [_end(call, topic.topic, part) for part in topic.partitions])
            for topic in request.topics
        ]
    )


def _end(call: Call, name: str, part: OffsetForLeaderPartition) -> EpochEndOffset:
    if error := call.broker.cluster.rights.error(Resource.TOPIC, name, Operation.DESCRIBE):
        return EpochEndOffset(error, part.partition)
    led = call.broker.led(call.broker.topic(name), part.partition, part.current_leader_epoch)
    if isinstance(led, ErrorCode):
        return EpochEndOffset(led, part.partition)
    end = led.log.end_of_epoch(part.leader_epoch, led.state.epoch)
    return EpochEndOffset(0, part.partition) if end is None else EpochEndOffset(0, part.partition, *end)


def delete_records(call: Call, request: DeleteRecordsRequest) -> Answer:
    """Raise log start offsets, at most to the high watermark."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(topic.name, [_delete(call, topic.name, part) for part in topic.partitions])
            for topic in request.topics
        ]
    )


def _delete(call: Call, name: str, part: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    led: Led | ErrorCode = call.broker.cluster.rights.error(Resource.TOPIC, name, Operation.DELETE)
    led = led or call.broker.led(call.broker.topic(name), part.partition_index)
    if isinstance(led, Led) and not call.broker.log_settings(led.topic).delete:
        led = ErrorCode.POLICY_VIOLATION
    if isinstance(led, ErrorCode):
        return DeleteRecordsPartitionResult(part.partition_index, -1, led)
    to = led.log.high_watermark if part.offset == _TO_THE_END else part.offset
    if not 0 <= to <= led.log.high_watermark:
        return DeleteRecordsPartitionResult(part.partition_index, -1, ErrorCode.OFFSET_OUT_OF_RANGE)
    led.log.delete_before(to)
    call.broker.look()
    return DeleteRecordsPartitionResult(part.partition_index, led.log.start)
