"""Compacted topics in which the cleaner keeps a zombie's last records, which readers ignore."""

from __future__ import annotations

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.log.append import Origin
from shareq.cluster.state import overwritten
from shareq.cluster.state.overwritten import Overwritten
from shareq.protocol.records.batch import RecordData, build_batch, decode_records
from tests.support.fakes.slot_owner import SlotOwner, state_topic
from tests.support.fakes.small_cluster import SmallCluster


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def cluster() -> SmallCluster:
    return SmallCluster(transactional_ids=False)


def batch(*records: tuple[bytes, bytes | None]) -> bytearray:
    return build_batch([RecordData(*each) for each in records], timestamp_ms=1)


def owner_of(clock: VirtualClock, cluster: SmallCluster, *, compacted: bool = True) -> SlotOwner:
    owner = SlotOwner(clock, cluster.link(), topic=state_topic(compacted=compacted))
    owner.take_over()
    return owner


def written(cluster: SmallCluster, since: int) -> list[tuple[bytes | None, bytes | None]]:
    return [(each.key, each.value) for data in cluster.batches[since:] for each in decode_records(data)]


def put(owner: SlotOwner, *records: tuple[bytes, bytes | None]) -> None:
    owner.log.append(batch(*records), origin=Origin.COORDINATOR, now_wall_ms=1)
    owner.clock.run_until_idle()


def test_what_was_written_over_is_written_again(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = owner_of(clock, cluster)
    put(first, (b"a", b"old"), (b"b", b"1"), (b"c", b"1"), (b"d", None))
    put(first, (b"a", b"new"))
    cluster.append(batch((b"a", b"zombie"), (b"b", None), (b"d", b"zombie"), (b"never counted", b"zombie")))
    before = len(cluster.batches)
    second = owner_of(clock, cluster)
    assert written(cluster, before + 1) == [(b"a", b"new"), (b"b", b"1"), (b"d", None)]
    assert not second.log.is_over
    put(second, (b"e", b"1"))
    before = len(cluster.batches)
    third = owner_of(clock, cluster)
    assert written(cluster, before + 1) == []  # they were written since
    assert not third.log.is_over


def test_what_was_written_since_is_left_alone(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = owner_of(clock, cluster)
    put(first, (b"a", b"1"))
    cluster.append(batch((b"a", b"zombie")))
    put(first, (b"a", b"2"))  # lands at another offset, and counts
    before = len(cluster.batches)
    owner_of(clock, cluster)
    assert written(cluster, before + 1) == []


def test_a_topic_that_is_not_compacted_keeps_everything(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = owner_of(clock, cluster, compacted=False)
    put(first, (b"a", b"1"))
    cluster.append(batch((b"a", b"zombie")))
    before = len(cluster.batches)
    owner_of(clock, cluster, compacted=False)
    assert len(cluster.batches) == before + 1


def test_a_second_reading_pauses_and_goes_over_long_logs(clock: VirtualClock, cluster: SmallCluster) -> None:
    first = owner_of(clock, cluster)
    for at in range(30):
        put(first, (b"%d" % at, b"x" * 100_000))
    cluster.append(batch(*((b"%d" % at, b"zombie") for at in range(30))))
    before = len(cluster.batches)
    owner_of(clock, cluster)
    assert written(cluster, before + 1) == [(b"%d" % at, b"x" * 100_000) for at in range(30)]
    assert all(len(each) < 1_000_000 for each in cluster.batches)


@pytest.mark.parametrize("bound", ["MOST_KEYS", "MOST_BYTES"])
def test_what_is_kept_is_bounded(bound: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(overwritten, bound, 2)
    lost = Overwritten("slot")
    lost.skipped(bytes(batch((b"a", b"z"), (b"b", b"z"), (b"c", b"z"))))
    lost.collect(bytes(batch((b"a", b"1"), (b"b", b"22"), (b"c", b"3"))))
    assert len(lost.to_write()) <= 2
    assert "slot: over 2 " in caplog.text


def test_records_that_nobody_can_read_are_passed_over() -> None:
    lost = Overwritten("slot")
    broken = batch((b"a", b"z"))
    broken[61] = 0xFF
    lost.skipped(bytes(broken))
    assert not lost
