from __future__ import annotations

from shareq.broker.share.fetch import FetchedPartition
from shareq.protocol.records.batch import RecordData, batch_headers, build_batch
from tests.support.fakes.memory_log import MemorySource
from tests.support.fakes.share_rig import ShareRig


def filled(*counts: int) -> ShareRig:
    """Return a rig whose first partitions have so many batches of one record."""
    rig = ShareRig()
    for partition, count in enumerate(counts):
        for number in range(count):
            rig.source(partition).fill(str(number).encode())
    return rig


def offsets(fetched: FetchedPartition) -> list[tuple[int, int]]:
    """Return the offsets of the batches that were sent; both inclusive."""
    headers = [header for _, header in batch_headers(bytes(fetched.records))]
    return [(header.base_offset, header.last_offset) for header in headers]


# -- committed records


def transactional(source: MemorySource, *values: int) -> None:
    records = [RecordData(None, str(value).encode()) for value in values]
    source.contents.add(
        build_batch(records, timestamp_ms=1, producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    )
