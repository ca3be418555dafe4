"""Logs to compact: appended batch by batch, with the expected result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from shareq.broker.log.cleaner.survivors import Role, Rule
from shareq.broker.log.partition_log import AppendInfo, Origin
from shareq.broker.log.segments.files import TRANSIENT_SUFFIXES
from shareq.broker.log.settings import LogSettings
from shareq.protocol.records.batch import Compression, Record, RecordData, build_batch
from tests.support.worlds.log_world import LogWorld

COMPACTED: Final = LogSettings(segment_bytes=600, index_interval_bytes=100, compact=True, delete=False)


class Reported(NamedTuple):
    offset: int
    key: bytes | None
    has_value: bool


def reported(records: Iterable[Record]) -> list[Reported]:
    return [Reported(record.offset, record.key, record.value is not None) for record in records]


def append(
    world: LogWorld,
    *records: tuple[bytes | None, bytes | None],
    compression: Compression = Compression.NONE,
    producer_id: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> AppendInfo:
    now = world.clock.wall_ms()
    batch = build_batch(
        [RecordData(key, value) for key, value in records],
        timestamp_ms=now,
        compression=compression,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=base_sequence,
        transactional=transactional,
    )
    info = world.log.append(batch, origin=Origin.COORDINATOR, now_wall_ms=now)
    assert isinstance(info, AppendInfo), info
    world.tick()
    return info


def fill(world: LogWorld, count: int, *, keys: int = 5, start: int = 0) -> None:
    """Append `count` batches of one record, cycling through so many keys."""
    for number in range(start, start + count):
        append(world, (b"k%d" % (number % keys), b"v%d" % number))


def clean(world: LogWorld) -> None:
    """Run the cleaner. Takes at most a second if there are only a few segments."""
    world.tick()
    world.logs.cleaner.look_soon()
    world.tick()
    for _ in range(1000):
        if not world.logs.cleaner.busy:
            return
        world.clock.advance(1)
    raise AssertionError("the cleaner does not come to an end")


def state_of(records: Sequence[Record], rule: Rule) -> dict[bytes, list[bytes | None]]:
    states: dict[bytes, list[bytes | None]] = {}
    for record in records:
        role, subject = rule(record.key, record.value is not None)
        if role is Role.STATE:
            states[subject] = [record.value]
        elif role is Role.CHANGE:
            states.setdefault(subject, []).append(record.value)
        elif role is Role.END:
            states.pop(subject, None)
    return states


def transient_files(world: LogWorld) -> list[str]:
    return [path for path in world.fs.paths() if path.endswith(TRANSIENT_SUFFIXES)]
