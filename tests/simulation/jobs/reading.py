"""Fetches, and a consumer's view of them: records in order, without those of aborted transactions."""

from __future__ import annotations

from typing import NamedTuple

from shareq.protocol.generated.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from shareq.protocol.records.batch import batch_headers, decode_records
from shareq.protocol.records.control import ControlType, read_control_record
from tests.simulation.topics import Slot

BY_NAME, BY_ID = 12, 13


class Found(NamedTuple):
    records: list[tuple[int, bytes]]
    position: int


def fetch_request(
    slot: Slot, position: int, *, committed: bool, max_bytes: int = 1 << 20, wait_ms: int = 0
) -> FetchRequest:
    """Build a fetch of one partition without a session, answered at the first byte or after `wait_ms`.

    It fits any version: its topic has name and id.
    """
    partition = FetchPartition(slot.partition, fetch_offset=position, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=int(committed),
        topics=[FetchTopic(slot.topic, slot.topic_id, [partition])],
    )


def row_of(response: FetchResponse) -> PartitionData:
    ((row,),) = [topic.partitions for topic in response.responses]
    return row


def records_of(row: PartitionData, position: int) -> Found:
    """Return the records as a consumer reads them.

    Only read_committed answers list aborted transactions.
    """
    aborted = sorted((each.first_offset, each.producer_id) for each in row.aborted_transactions or ())
    data, skipped, found = bytes(row.records or b""), set[int](), list[tuple[int, bytes]]()
    for at, header in batch_headers(data):
        batch = data[at : at + header.size]
        while aborted and aborted[0][0] <= header.last_offset:
            skipped.add(aborted.pop(0)[1])
        if header.is_control:
            if read_control_record(batch).type is ControlType.ABORT:
                skipped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in skipped):
            records = decode_records(batch)
            found += [(each.offset, each.value or b"") for each in records if each.offset >= position]
        position = max(position, header.last_offset + 1)
    return Found(found, position)
