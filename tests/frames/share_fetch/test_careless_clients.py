"""A client that mishandles its share session, membership or acknowledgements, next to a correct member.

It behaves as real clients did before they were fixed: franz-go, for example, fetched from partitions that it had named
only for their acknowledgements. The other member gets every record in bounded time, and no record is delivered more
often than the delivery count limit allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

from devtools.clients.state_rpcs import StateCaller
from devtools.clients.transactor import Transactor
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tests.support.clients.share_client import (
    ACCEPT,
    GAP,
    RELEASE,
    Ack,
    Place,
    ShareClient,
    acquired_of,
    append,
    from_the_start,
)

NONE = ErrorCode.NONE
LOCK_MS = 15_000
LIMIT = 5
HEARTBEAT_MS = 3_000


class Member:
    """A member that fetches as soon as it is answered, acknowledging in that fetch what it received.

    `kinds`: the acknowledgement type for each partition; missing ones are not acknowledged. Answers go to `take`, and
    every fetch lists all of `places`.
    """

    def __init__(self, world: BrokerWorld, name: str, places: Iterable[Place], kinds: dict[Place, int], wait_ms: int):
        self.world = world
        self.beats = ShareClient(world, name)
        self.fetches = ShareClient(world, name)
        self.places = tuple(places)
        self.kinds = kinds
        self.wait_ms = wait_ms
        self.received: dict[Place, Counter[int]] = {place: Counter() for place in self.places}
        self.first_ms: dict[tuple[Place, int], int] = {}
        self.delivery_counts: set[int] = set()

    def fetch(self, acks: dict[Place, list[Ack]] | None = None) -> None:
        self.fetches.send_fetch(*self.places, acks=acks or {}, max_wait_ms=self.wait_ms)

    def take(self) -> None:
        answer = self.fetches.fetch_answer()
        assert answer.error_code == NONE
        acks: dict[Place, list[Ack]] = {}
        for topic in answer.responses:
            for partition in topic.partitions:
                assert (partition.error_code, partition.acknowledge_error_code) == (NONE, NONE)
                place = (topic.topic_id, partition.partition_index)
                for one in partition.acquired_records:
                    self.note(place, range(one.first_offset, one.last_offset + 1), one.delivery_count)
                    if place in self.kinds:
                        acks.setdefault(place, []).append((one.first_offset, one.last_offset, self.kinds[place]))
        self.fetch(acks)

    def note(self, place: Place, offsets: range, delivery_count: int) -> None:
        self.delivery_counts.add(delivery_count)
        self.received[place].update(offsets)
        for offset in offsets:
            self.first_ms.setdefault((place, offset), self.world.clock.now_ms())


def run(world: BrokerWorld, members: Sequence[Member], ms: int) -> None:
    end = world.clock.now_ms() + ms
    while True:
        world.clock.run_until_idle()
        answered = [each for each in members if each.fetches.connection.frames]
        for each in answered:
            each.take()
        if answered:
            continue
        due = world.clock.next_timer_ms()
        if due is None or due > end:
            world.clock.advance(end - world.clock.now_ms())
            return
        world.clock.advance(due - world.clock.now_ms())


def begin(partitions: int = 1) -> tuple[BrokerWorld, list[Place]]:
    world = BrokerWorld(
        {
            "group.share.record.lock.duration.ms": str(LOCK_MS),
            "group.share.delivery.count.limit": str(LIMIT),
        }
    )
    topic_id = world.create_topic("t", partitions).topic_id
    from_the_start(world)
    return world, [(topic_id, partition) for partition in range(partitions)]


def start_offset(world: BrokerWorld, place: Place) -> int:
    return StateCaller(world.connect(), "g", place[0]).read().start_offset


# -- partitions that are named for their acknowledgements and never forgotten


@pytest.mark.parametrize("kind", [None, RELEASE])
@pytest.mark.parametrize(("careless_ms", "good_ms"), [(500, 500), (500, 5_000), (5_000, 500), (5_000, 5_000)])
def test_who_goes_on_fetching_a_lost_partition_starves_no_one(kind: int | None, careless_ms: int, good_ms: int) -> None:
    """The careless member gets records, too, and releases them or lets their locks expire."""
    world, places = begin(2)
    careless = Member(world, "careless", places, {}, careless_ms)
    assert careless.beats.join("t") == {"t": [0, 1]}
    append(world, "t", 1, partition=0)
    careless.fetch()
    run(world, [careless], 100)
    good_beats = ShareClient(world, "good")
    (mine,) = good_beats.join("t")["t"]
    place = places[mine]
    good = Member(world, "good", [place], {place: ACCEPT}, good_ms)
    careless.kinds = {places[1 - mine]: ACCEPT} | ({} if kind is None else {place: kind})
    good.fetch()
    written: list[int] = []
    for second in range(40):
        written.append(world.clock.now_ms())
        append(world, "t", 1, partition=mine)
        run(world, [careless, good], 970)
        if second % 3 == 0:
            good_beats.heartbeat()
            careless.beats.heartbeat()
    run(world, [careless, good], LOCK_MS + 1_000)
    records = careless.received[place] | good.received[place]
    assert len(records) >= 40
    assert set(good.received[place]) == set(records), "none was given up"
    late = [good.first_ms[place, len(records) - 40 + at] - ms for at, ms in enumerate(written)]
    assert max(late) <= LOCK_MS + 1_000
    assert max(careless.received[place].values(), default=0) <= 1
    assert max(good.delivery_counts) <= 2


@pytest.mark.parametrize("kind", [None, RELEASE])
def test_alone_it_gets_each_record_as_often_as_the_limit_allows(kind: int | None) -> None:
    world, (place,) = begin()
    careless = Member(world, "careless", [place], {} if kind is None else {place: kind}, 500)
    careless.beats.join("t")
    append(world, "t", 10)
    careless.fetch()
    run(world, [careless], (LIMIT + 1) * LOCK_MS)
    assert set(careless.received[place].values()) == {LIMIT}
    assert careless.delivery_counts == set(range(1, LIMIT + 1))
    run(world, [careless], 10 * LOCK_MS)
    assert set(careless.received[place].values()) == {LIMIT}
    append(world, "t", 1)
    run(world, [careless], LOCK_MS + 1_000)
    assert start_offset(world, place) == 10


# -- who waits for others, and who does not


def waits_ms(world: BrokerWorld, client: ShareClient, place: Place, most_ms: int = 5_000) -> tuple[int, int]:
    """Return how long a fetch of one record waits, and how many records it returns."""
    began = world.clock.now_ms()
    client.send_fetch(place, max_wait_ms=most_ms, max_records=1)
    world.clock.run_until_idle()
    while not client.connection.frames:
        assert world.clock.advance_to_next_timer()
    return world.clock.now_ms() - began, len(acquired_of(client.fetch_answer()))


def test_a_member_whose_locks_ran_out_leaves_records_to_others_while_it_waits() -> None:
    """Other members come first until the slow member's wait ends, it acknowledges, or no other has fetched for a lock
    duration.
    """
    world, (place,) = begin()
    slow, other = ShareClient(world, "slow"), ShareClient(world, "other")
    append(world, "t", 1, batches=20)
    slow.join("t")
    other.join("t")
    assert slow.acquire(place, max_records=1) == [(0, 0, 1)]
    assert other.acquire(place, max_records=1) == [(1, 1, 1)]
    world.clock.advance(LOCK_MS - 1_000)
    assert other.acknowledge(place, (1, 1, ACCEPT)) is NONE
    assert waits_ms(world, other, place) == (0, 1)
    world.clock.advance(1_000)
    assert waits_ms(world, slow, place) == (5_000, 1)
    assert slow.acknowledge(place, (0, 0, ACCEPT)) is NONE
    assert waits_ms(world, slow, place) == (0, 1)
    world.clock.advance(LOCK_MS)  # now both have let locks run out
    assert waits_ms(world, slow, place) == (0, 1)


def test_a_member_that_is_alone_gets_its_records_as_soon_as_their_locks_run_out() -> None:
    world, (place,) = begin()
    alone = ShareClient(world)
    append(world, "t", 1)
    alone.join("t")
    assert alone.acquire(place) == [(0, 0, 1)]
    world.clock.advance(LOCK_MS - 2_000)
    for _ in range(3):
        assert waits_ms(world, alone, place) == (2_000, 1)
        world.clock.advance(LOCK_MS - 2_000)


def test_a_fetch_that_may_not_wait_gets_what_is_there() -> None:
    world, (place,) = begin()
    slow, other = ShareClient(world, "slow"), ShareClient(world, "other")
    append(world, "t", 1, batches=2)
    slow.join("t")
    other.join("t")
    assert slow.acquire(place, max_records=1) == [(0, 0, 1)]
    world.clock.advance(LOCK_MS - 1)
    assert other.acquire(place, max_records=1) == [(1, 1, 1)]
    world.clock.advance(1)
    assert waits_ms(world, slow, place, 0) == (0, 1)


# -- heartbeats that are answered with GROUP_ID_NOT_FOUND


def test_who_does_not_join_again_after_its_group_is_gone_changes_nothing_for_others() -> None:
    """The member keeps its old epoch and share session, also when others are members."""
    world, (place,) = begin()
    lost = Member(world, "lost", [place], {}, 500)
    lost.beats.join("t")
    append(world, "t", 10)
    lost.fetch()
    run(world, [lost], 60_000)  # longer than the session timeout
    deleted = world.connect().call(DeleteGroupsRequest(["g"]), 2, DeleteGroupsResponse)
    assert [each.error_code for each in deleted.results] == [NONE]
    epoch = lost.beats.member_epoch
    assert [beat(lost, epoch) for _ in range(20)] == [ErrorCode.GROUP_ID_NOT_FOUND] * 20
    assert [beat(lost, epoch, "t") for _ in range(20)] == [ErrorCode.GROUP_ID_NOT_FOUND] * 20
    assert ShareClient(world).describe().error_code == ErrorCode.GROUP_ID_NOT_FOUND, "none of them made a group"

    beats = ShareClient(world, "good")
    assert beats.join("t") == {"t": [0]}
    good = Member(world, "good", [place], {place: ACCEPT}, 500)
    good.fetch()
    group_epoch = beats.describe().group_epoch
    for _ in range(30):
        append(world, "t", 1)
        run(world, [good], 970)
        assert {beat(lost, epoch) for _ in range(20)} == {ErrorCode.UNKNOWN_MEMBER_ID}
        answer = beats.heartbeat()
        assert (answer.error_code, answer.member_epoch, answer.assignment) == (NONE, group_epoch, None)
    run(world, [good], LOCK_MS)
    assert set(range(10, 40)) <= set(good.received[place])
    assert beats.describe().group_epoch == group_epoch
    assert [each.member_id for each in beats.describe().members] == ["good"]


def beat(member: Member, epoch: int, *topics: str) -> ErrorCode:
    return ErrorCode(member.beats.heartbeat(*topics, epoch=epoch).error_code)


# -- acknowledgements of gaps


@pytest.mark.parametrize("fetches", [False, True])
def test_a_gap_is_taken_of_what_the_member_holds_alone(fetches: bool) -> None:
    """A gap over existing records counts as a rejection, limited to the member's own acquired records."""
    world, (place,) = begin()
    careless, good = ShareClient(world, "careless"), ShareClient(world, "good")
    careless.join("t")
    good.join("t")
    append(world, "t", 1, batches=30)
    assert careless.acquire(place, max_records=10)[0][0] == 0
    assert good.acquire(place, max_records=10)[0][0] == 10

    def gaps(*acks: Ack) -> ErrorCode:
        if not fetches:
            return careless.acknowledge(place, *acks)
        answer = careless.fetch(acks={place: list(acks)}, max_records=0)
        assert answer.error_code == NONE
        return ErrorCode(answer.responses[0].partitions[0].acknowledge_error_code)

    for foreign in ((10, 10, GAP), (5, 14, GAP), (19, 19, GAP)):
        assert gaps(foreign) is ErrorCode.INVALID_RECORD_STATE, foreign
    for unknown in ((25, 25, GAP), (30, 40, GAP), (0, 29, GAP), (5, 2**40, GAP)):
        assert gaps(unknown) is ErrorCode.INVALID_REQUEST, unknown
    for twice in ([(3, 3, GAP), (3, 3, GAP)], [(2, 4, GAP), (4, 6, GAP)]):
        assert gaps(*twice) is ErrorCode.INVALID_RECORD_STATE, twice
    for wrong in ([(2, 5, GAP), (4, 6, GAP)], [(6, 9, GAP), (4, 5, GAP)], [(4, 3, GAP)]):
        assert gaps(*wrong) is ErrorCode.INVALID_REQUEST, wrong
    assert gaps((0, 3, GAP), (5, 6, GAP)) is NONE
    assert gaps((5, 5, GAP)) is ErrorCode.INVALID_RECORD_STATE, "once"
    assert good.acknowledge(place, (10, 19, ACCEPT)) is NONE
    world.clock.advance(LOCK_MS)
    rest = {at: count for first, last, count in acquired_of(good.fetch()) for at in range(first, last + 1)}
    assert rest == dict.fromkeys((4, 7, 8, 9), 2) | dict.fromkeys(range(20, 30), 1)


@pytest.mark.parametrize("marks_gaps", [False, True])
def test_offsets_without_records_hold_up_no_member(marks_gaps: bool) -> None:
    """Members acquire transaction markers with the records beside them, even if they never acknowledge markers.

    Such a member gets no record twice, and the start offset passes the markers at the delivery limit.
    """
    world, (place,) = begin()
    producer = Transactor(world.connect())
    assert producer.init() is NONE
    markers = set()
    for number in range(10):
        assert producer.write("t", b"a", b"b") is NONE
        assert producer.end(commit=number % 2 == 0) is NONE
        markers.add(3 * number + 2)
    careless, good = ShareClient(world, "careless"), ShareClient(world, "good")
    careless.join("t")
    good.join("t")
    delivered: Counter[int] = Counter()
    for turn in range(4 * LIMIT):
        member = (careless, good)[turn % 2]
        offsets = [at for first, last, _ in member.acquire(place, max_records=12) for at in range(first, last + 1)]
        delivered.update(offsets)
        acks = [(at, at, ACCEPT) for at in offsets if at not in markers]
        if marks_gaps:
            acks = [(at, at, GAP if at in markers else ACCEPT) for at in offsets]
        if acks:
            assert member.acknowledge(place, *acks) is NONE
        world.clock.advance(LOCK_MS)
    assert {delivered[at] for at in range(30) if at not in markers} == {1}
    assert {delivered[at] for at in markers} <= ({1} if marks_gaps else set(range(1, LIMIT + 1)))
    append(world, "t", 1)
    assert good.acquire(place) == [(30, 30, 1)]
    assert good.acknowledge(place, (30, 30, ACCEPT)) is NONE
    assert start_offset(world, place) >= 29
