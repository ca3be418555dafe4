from __future__ import annotations

from collections.abc import Sequence

from shareq.broker.foundation.pending import Pending
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.share import AcquireMode
from tests.frames.share_order.test_order_by_key import member_of, offsets_of, ordered_world, produce
from tests.support.clients.share_client import ACCEPT, Ack, Place, acquired_of
from tests.support.fakes.share_rig import LOCK_MS, ShareRig, ranges


def rig_of(*keys: Sequence[bytes]) -> ShareRig:
    rig = ShareRig()
    rig.settings.share = ShareGroupSettings(record_lock_duration_ms=LOCK_MS, order_by_key=True)
    for partition, each in enumerate(keys):
        add(rig, partition, each)
    return rig


def add(rig: ShareRig, partition: int, keys: Sequence[bytes]) -> None:
    if keys:
        rig.source(partition).contents.add(build_batch([RecordData(key, b"v") for key in keys], timestamp_ms=1))


# -- acknowledgements and the fetch that brings them


def test_the_next_record_of_a_key_comes_with_the_answer_to_the_acknowledgement_of_the_one_before() -> None:
    world, place = ordered_world()
    member = member_of(world, place)
    produce(world, [b"a", b"b", b"a", b"c", b"a"])
    assert offsets_of(member.acquire(place, max_records=2)) == [0, 1]
    answer = member.fetch(acks={place: [(0, 1, ACCEPT)]}, max_wait_ms=1_000)
    assert offsets_of(acquired_of(answer)) == [2, 3]


def test_so_it_does_without_time_to_wait() -> None:
    world, place = ordered_world()
    member = member_of(world, place)
    produce(world, [b"a", b"a"])
    assert offsets_of(member.acquire(place)) == [0]
    assert offsets_of(acquired_of(member.fetch(acks={place: [(0, 0, ACCEPT)]}))) == [1]


def test_a_member_that_has_waited_longer_gets_what_is_freed() -> None:
    world, place = ordered_world()
    member, other = member_of(world, place, "m1"), member_of(world, place, "m2")
    produce(world, [b"a", b"a"])
    assert offsets_of(member.acquire(place)) == [0]
    other.send_fetch(max_wait_ms=1_000)
    world.clock.run_until_idle()
    member.send_fetch(acks={place: [(0, 0, ACCEPT)]}, max_wait_ms=1_000)
    world.clock.run_until_idle()
    assert offsets_of(acquired_of(other.fetch_answer())) == [1]
    world.clock.advance(1_001)
    assert acquired_of(member.fetch_answer()) == []


def test_until_they_are_durable_it_looks_at_nothing() -> None:
    rig = rig_of([b"a", b"b"])
    acked: Pending[ErrorCode] = Pending()
    pending = rig.fetch(wait_ms=100).start(acked)
    rig.manager.purgatory.wake(rig.leader())
    rig.clock.run_until_idle()
    assert (pending.done, rig.source().asked) == (False, [])
    acked.complete(ErrorCode.NONE)
    rig.clock.run_until_idle()
    assert ranges(pending.value) == [(0, 1, 1)]


def test_when_its_time_is_up_before_that_it_looks_once_then() -> None:
    rig = rig_of([], [b"a"])
    acked: Pending[ErrorCode] = Pending()
    pending = rig.fetch(0, wait_ms=100).start(acked)
    rig.clock.advance(200)
    assert not pending.done
    acked.complete(ErrorCode.NONE)
    rig.clock.run_until_idle()
    assert ranges(pending.value) == []


def test_a_client_that_is_gone_gets_nothing_when_they_are_durable() -> None:
    rig = rig_of([b"a"])
    acked: Pending[ErrorCode] = Pending()
    fetch = rig.fetch(wait_ms=100)
    fetch.start(acked)
    fetch.cancel()
    acked.complete(ErrorCode.NONE)
    rig.clock.run_until_idle()
    assert rig.acquire() == [(0, 0, 1)]


def test_a_broker_that_stops_answers_it_all_the_same() -> None:
    rig = rig_of([b"a"])
    acked: Pending[ErrorCode] = Pending()
    pending = rig.fetch(wait_ms=100).start(acked)
    rig.manager.purgatory.finish_all()
    assert pending.value == []
    acked.complete(ErrorCode.NONE)
    rig.clock.run_until_idle()
    assert rig.source().asked == []


# -- several share partitions


KEYS = [b"%d" % (each % 10) for each in range(40)]


def test_it_goes_on_to_other_partitions_until_it_has_as_much_as_a_record_batch() -> None:
    """Without order the fetch would get the first partition's forty records."""
    rig = rig_of(KEYS, KEYS)
    assert ranges(rig.fetch(0, 1, max_records=5).start().value) == [(0, 9, 1), (0, 9, 1)]


def test_what_it_goes_on_for_ends_with_as_much_as_a_record_batch() -> None:
    rig = rig_of([b"a", b"b", b"c", b"a"], KEYS)
    one, two = rig.fetch(0, 1, max_records=3).start().value
    assert (ranges([one]), ranges([two])) == ([(0, 2, 1)], [(0, 9, 1)])
    rig = rig_of([b"a", b"b", b"c"], KEYS)
    one, two = rig.fetch(0, 1, max_records=3).start().value
    assert (ranges([one]), two.acquired, rig.source(1).asked) == ([(0, 2, 1)], (), [])


def test_the_mode_that_counts_records_keeps_to_their_number() -> None:
    rig = rig_of(KEYS, KEYS)
    assert ranges(rig.fetch(0, 1, max_records=5, mode=AcquireMode.RECORD_LIMIT).start().value) == [(0, 4, 1)]


def test_it_leaves_other_partitions_to_members_that_wait_for_them() -> None:
    rig = rig_of(KEYS, [])
    waiting = rig.fetch(1, member="other", wait_ms=1_000).start()
    add(rig, 1, KEYS)
    assert ranges(rig.fetch(0, 1, max_records=5).start().value) == [(0, 9, 1)]
    rig.manager.on_high_watermark(rig.source(1))
    assert ranges(waiting.value) == [(0, 9, 1)]


# -- keys with more records than a read has room for


def test_a_key_with_many_records_holds_up_no_others_though_its_next_one_is_always_at_the_front() -> None:
    """Reads are so small that no fetch gets from the front to the other keys; the answer still has both."""
    for ahead, came in (("0", []), ("500", [b"b", b"c"])):
        world, place = ordered_world(share_partition_max_record_locks="100", shareq_order_look_ahead=ahead)
        member = member_of(world, place)
        for _ in range(30):
            produce(world, [b"a"] * 10)
        produce(world, [b"b", b"c"])
        others: list[bytes] = []
        hot = 0
        acks: dict[Place, list[Ack]] = {}
        for _ in range(12):
            answer = member.fetch(acks=acks, max_bytes=1_000)
            offsets = offsets_of(acquired_of(answer))
            assert len(offsets) == len(set(offsets))
            others += [(b"b", b"c")[offset - 300] for offset in offsets if offset >= 300]
            hot += sum(offset < 300 for offset in offsets)
            acks = {place: [(offset, offset, ACCEPT) for offset in offsets]} if offsets else {}
        assert hot > 5, "one after the other"
        assert others == came, ahead
