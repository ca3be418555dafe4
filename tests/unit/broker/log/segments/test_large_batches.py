"""Batches too large for any producer, as imported logs may have: a lookup by time does not open them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shareq.broker.log.partition_log import Origin
from shareq.broker.log.segments.reader import Found
from shareq.broker.log.settings import LEAST_OPENED_BYTES, MOST_RECORDS, LogSettings
from shareq.protocol.records.batch import Compression, RecordData, build_batch
from shareq.protocol.records.compression import decompress
from tests.support.worlds.log_world import LogWorld

TIME = 1_700_000_000_000


def appended(world: LogWorld, records: list[RecordData]) -> None:
    batch = bytes(build_batch(records, timestamp_ms=TIME, compression=Compression.ZSTD))
    world.log.append(batch, origin=Origin.COORDINATOR, now_wall_ms=TIME)
    world.clock.run_until_idle()


@pytest.mark.parametrize(
    "made",
    [
        lambda: [RecordData(None, None, timestamp_ms=TIME + i // 1000) for i in range(MOST_RECORDS + 1)],
        lambda: [RecordData(None, bytes(LEAST_OPENED_BYTES + 1)), RecordData(None, b"", timestamp_ms=TIME + 5)],
    ],
    ids=["records", "bytes"],
)
def test_a_batch_that_is_too_large_counts_from_its_first_offset_on(
    made: Callable[[], list[RecordData]], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    records = made()

    def counted(codec: Compression, data: bytes, max_bytes: int) -> bytes:
        out = decompress(codec, data, max_bytes)
        opened.append(len(out))
        return out

    monkeypatch.setattr("shareq.protocol.records.batch.decompress", counted)
    world = LogWorld(LogSettings(max_message_bytes=1_000_000))
    appended(world, [RecordData(None, b"before")])
    appended(world, records)
    newest = max(record.timestamp_ms or TIME for record in records)
    assert world.log.offset_for_timestamp(TIME + 3) == Found(newest, 1)
    assert sum(opened) <= 100


def test_one_that_the_topic_allows_is_looked_into() -> None:
    world = LogWorld(LogSettings(max_message_bytes=LEAST_OPENED_BYTES))
    appended(world, [RecordData(None, bytes(LEAST_OPENED_BYTES + 1)), RecordData(None, b"", timestamp_ms=TIME + 5)])
    assert world.log.offset_for_timestamp(TIME + 3) == Found(TIME + 5, 1)
