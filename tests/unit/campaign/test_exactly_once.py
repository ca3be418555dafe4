"""The position of a transactional job, found in its broker's files; the report of a campaign."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from shareq.coordinator.group.offsets.offset import CommittedOffset
from shareq.coordinator.group.offsets.records import OFFSET_RECORD_TYPES, offset_record
from shareq.coordinator.record_serde import TypedRecordSerde
from shareq.coordinator.shard import CoordinatorRecord
from shareq.coordinator.transaction.metadata import TopicPartition, Transaction, TransactionState
from shareq.coordinator.transaction.records import TRANSACTION_SERDE, transaction_record
from shareq.protocol.primitives import ZERO_UUID
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.control import build_end_transaction_marker
from tests.campaign.exactly_once.campaign import Aim, aims, lost_and_doubled
from tests.campaign.exactly_once.on_disk import OFFSETS, TRANSACTIONS, JobOnDisk, Look, Moment

PRODUCER = 7
TARGET = TopicPartition("target", 0)


def batch(*rows: RecordData) -> bytearray:
    return build_batch(rows, timestamp_ms=0, producer_id=PRODUCER, producer_epoch=0, transactional=True)


def marker(*, commit: bool) -> bytearray:
    return build_end_transaction_marker(
        commit=commit, producer_id=PRODUCER, producer_epoch=0, coordinator_epoch=0, timestamp_ms=0
    )


class Files:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def append(self, at: TopicPartition, data: bytes | bytearray, segment: int = 0) -> None:
        folder = self.folder / f"{at.topic}-{at.partition}"
        folder.mkdir(exist_ok=True)
        with (folder / f"{segment:020}.log").open("ab") as log:
            log.write(data)

    def state(self, state: TransactionState, name: str = "job", producer_id: int = PRODUCER) -> None:
        partitions = frozenset((TARGET, OFFSETS))
        transaction = Transaction(name, producer_id, producer_epoch=0, state=state, partitions=partitions)
        key, value = TRANSACTION_SERDE.encode(transaction_record(transaction, 2))
        self.append(TRANSACTIONS, build_batch([RecordData(key, value)], timestamp_ms=0))

    def records(self, *values: bytes) -> None:
        self.append(TARGET, batch(*(RecordData(None, value) for value in values)))

    def offset(self, offset: int, group: str = "job") -> None:
        committed = CommittedOffset(offset, -1, "", 0, -1, ZERO_UUID)
        record: CoordinatorRecord = offset_record(group, "source", 0, committed)
        self.append(OFFSETS, batch(RecordData(*TypedRecordSerde(OFFSET_RECORD_TYPES).encode(record))))

    def mark(self, at: TopicPartition, *, commit: bool = True) -> None:
        self.append(at, marker(commit=commit))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def disk(tmp_path: Path) -> JobOnDisk:
    return JobOnDisk(tmp_path, "job", "target", 2)


def test_a_commit_step_by_step(files: Files, disk: JobOnDisk) -> None:
    def write() -> None:
        files.records(b"1", b"2")
        files.offset(2)

    seen: list[Look] = [disk.look()]
    steps: Iterable[Callable[[], None]] = (
        lambda: files.state(TransactionState.ONGOING),
        write,
        lambda: files.state(TransactionState.PREPARE_COMMIT),
        lambda: files.mark(TARGET),
        lambda: files.mark(OFFSETS),
        lambda: files.state(TransactionState.COMPLETE_COMMIT),
    )
    for step in steps:
        step()
        seen.append(disk.look())
    assert [look.moment for look in seen] == [
        Moment.BETWEEN,
        Moment.OPEN,
        Moment.OPEN,
        Moment.DECIDED,
        Moment.MARKING,
        Moment.MARKED,
        Moment.BETWEEN,
    ]
    assert [look.records_out for look in seen] == [0, 0, 0, 0, 2, 2, 2]
    assert [look.records_in for look in seen] == [0, 0, 0, 0, 0, 2, 2]
    assert [look.ended for look in seen] == [0, 0, 0, 0, 0, 0, 1]
    assert not any(look.aborting for look in seen)


def test_what_is_aborted_does_not_count(files: Files, disk: JobOnDisk) -> None:
    files.state(TransactionState.ONGOING)
    files.records(b"1")
    files.offset(1)
    files.state(TransactionState.PREPARE_ABORT)
    assert disk.look().aborting
    files.mark(TARGET, commit=False)
    files.mark(OFFSETS, commit=False)
    files.state(TransactionState.COMPLETE_ABORT)
    assert disk.look() == Look(Moment.BETWEEN, False, commits=0, aborts=1, records_in=0, records_out=0)


def test_a_transaction_that_ended_without_a_marker_hangs(files: Files, disk: JobOnDisk) -> None:
    files.state(TransactionState.ONGOING)
    files.records(b"1")
    files.offset(1)
    disk.look()
    assert disk.hanging() == []
    files.state(TransactionState.PREPARE_COMMIT)
    files.mark(OFFSETS)
    disk.look()
    assert disk.hanging() == []
    files.state(TransactionState.COMPLETE_COMMIT)
    disk.look()
    assert disk.hanging() == [TARGET]
    files.mark(TARGET)
    disk.look()
    assert disk.hanging() == []


def test_others_do_not_count(files: Files, disk: JobOnDisk) -> None:
    files.state(TransactionState.ONGOING, name="other", producer_id=8)
    files.offset(5, group="other")
    files.mark(OFFSETS)
    assert disk.look() == Look(Moment.BETWEEN, False, 0, 0, 0, 0)


def test_half_a_batch_is_read_when_it_is_whole(files: Files, disk: JobOnDisk) -> None:
    whole = batch(RecordData(None, b"1"))
    files.append(TARGET, whole[:30])
    disk.look()
    files.append(TARGET, whole[30:])
    files.mark(TARGET)
    assert disk.look().records_out == 1


def test_a_log_of_several_segments(files: Files, disk: JobOnDisk) -> None:
    files.records(b"1")
    disk.look()
    files.append(TARGET, marker(commit=True), segment=1)
    assert disk.look().records_out == 1


def test_lost_and_doubled_numbers() -> None:
    assert lost_and_doubled(4, [3, 0, 1, 2]) == ([], [])
    assert lost_and_doubled(5, [3, 3, 1, 0, 0]) == ([2, 4], [0, 3])


def test_every_aim_has_its_share_of_the_kills() -> None:
    assert set(aims(len(Aim), random.Random(1))) == set(Aim)
    assert Aim.MARKING in aims(1, random.Random(2))
    assert aims(20, random.Random(3)) == aims(20, random.Random(3))
