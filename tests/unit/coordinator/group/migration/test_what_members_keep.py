"""The metadata that members keep when their group changes its type, or when they change the protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from shareq.coordinator.group.classic.embedded import write_assignment
from shareq.coordinator.group.migration.joining import owned_partitions
from shareq.coordinator.group.migration.policy import MigrationPolicy
from shareq.coordinator.shard import AmpleRoom, CoordinatorRecord, RecordsTooLarge
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_protocol_assignment import ConsumerProtocolAssignment
from shareq.protocol.generated.consumer_protocol_assignment import TopicPartition as Assigned
from shareq.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription
from shareq.protocol.generated.consumer_protocol_subscription import TopicPartition as Owned
from tests.unit.coordinator.group.consumer.world import INTERVAL_MS
from tests.unit.coordinator.group.migration.world import DELAY_MS, MixedWorld, assignment, subscription
from tests.unit.coordinator.support import Topics

ALL = {"foo": {0, 1, 2, 3}}


class Room(AmpleRoom):
    """A room for records that fit if `fitting` is true."""

    def __init__(self, fitting: Callable[[Sequence[CoordinatorRecord]], bool]) -> None:
        self.fitting = fitting

    def fits(self, records: Sequence[CoordinatorRecord], *, spare_bytes: int = 0) -> bool:
        return self.fitting(records)


def no_classic_group(records: Sequence[CoordinatorRecord]) -> bool:
    return not any(type(record.value).__name__ == "GroupMetadataValue" for record in records)


def alone(metadata: bytes, share: bytes, topics: Topics | None = None) -> tuple[MixedWorld, str]:
    """Return a Stable classic group of one member with this subscription and assignment."""
    world = MixedWorld(topics)
    offered = {"range": metadata}
    member_id = world.joined(world.ask_join(protocols=offered)).member_id
    token = world.ask_join(member_id, protocols=offered)
    world.log.advance(DELAY_MS)
    world.ask_sync(member_id, world.joined(token).generation_id, {member_id: share})
    assert world.classic.state_name == "Stable"
    return world, member_id


def mixed(*, classic_max: int = 100, consumer_max: int = 100) -> tuple[MixedWorld, str]:
    """Return a stable consumer group of "new" and a classic member, and that member's id."""
    world = MixedWorld(classic_max=classic_max, consumer_max=consumer_max)
    world.join("new")
    world.log.advance(INTERVAL_MS)
    one, _, _ = world.rejoin()
    world.rest({one: world.has(one)}, "new")
    return world, one


# -- from classic to consumer


def test_a_member_keeps_its_rack_and_where_it_is() -> None:
    world, one = alone(subscription(rack="r"), assignment(ALL))
    world.join("new")
    member = world.group.members[one]
    assert (member.rack_id, member.client_id, member.client_host) == ("r", "old", "/127.0.0.1")
    world, one = alone(subscription(rack=""), assignment(ALL))
    world.join("new")
    assert world.group.members[one].rack_id is None


@pytest.mark.parametrize("names", [("foo", "bar"), ("bar", "foo")])
def test_topics_that_are_gone_are_passed_over_wherever_they_stand(names: tuple[str, str]) -> None:
    world, one = alone(subscription(("foo", "bar")), assignment({name: {0} for name in names}), Topics(foo=1, bar=2))
    world.topics.delete("bar")
    world.join("new")
    assert world.has(one) == {"foo": {0}}


def test_partitions_of_a_topic_that_is_named_twice_count_together() -> None:
    twice = ConsumerProtocolAssignment([Assigned("foo", [0, 1]), Assigned("foo", [2]), Assigned("foo", [3])])
    world, one = alone(subscription(), write_assignment(twice, 3))
    world.join("new")
    assert world.has(one) == ALL


def test_a_complete_assignment_needs_no_new_one_when_a_member_takes_its_own_place(world: MixedWorld) -> None:
    world.stable_classic({"foo": {0, 1}}, {"foo": {2, 3}}, statics=("i",))
    generation = world.classic.generation
    world.join("new", instance="i")
    assert world.group.group_epoch == generation
    assert world.has("new") == {"foo": {0, 1}}


def test_members_that_wait_are_asked_to_join_again_with_their_ids(world: MixedWorld) -> None:
    one, _ = world.stable_classic({"foo": {0, 1}}, {"foo": {2, 3}})
    waiting = world.ask_join(one, topics=("foo", "bar"))
    world.join("new")
    joined = world.joined(waiting)
    assert (joined.error_code, joined.member_id) == (ErrorCode.REBALANCE_IN_PROGRESS, one)


@pytest.mark.parametrize(
    ("policy", "most", "kind", "why"),
    [
        (MigrationPolicy.DOWNGRADE, 9, "consumer", "group.consumer.migration.policy does not let it"),
        (MigrationPolicy.BIDIRECTIONAL, 1, "consumer", "it has 2 members, a consumer group at most 1"),
        (MigrationPolicy.BIDIRECTIONAL, 9, "connect", "its members are no consumers, their protocol type is connect"),
    ],
)
def test_a_group_that_stays_a_classic_one_says_why(policy: MigrationPolicy, most: int, kind: str, why: str) -> None:
    world = MixedWorld(policy=policy, consumer_max=most)
    world.ask_join(instance="i", kind=kind)
    world.ask_join(instance="j", kind=kind)
    answer = world.join("new")
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert answer.error_message == f"Group g stays a classic group: {why}."


# -- classic members of a consumer group


def test_a_static_member_is_found_by_its_instance_id() -> None:
    world, _ = mixed()
    static, _, _ = world.rejoin(instance="i")
    assert world.group.static_members == {"i": static}
    world.rejoin(static, instance="i")
    assert world.group.static_members == {"i": static}


def test_a_member_keeps_its_rack_until_it_names_another() -> None:
    world, one = mixed()
    for named, has in (("r", "r"), (None, "r"), ("s", "s")):
        token = world.ask_join(one, protocols={"range": subscription(owned=world.has(one), rack=named)})
        assert world.error(token) is ErrorCode.NONE
        assert world.group.members[one].rack_id == has


def test_a_known_member_joins_a_full_group_again() -> None:
    world, one = mixed(consumer_max=2)
    assert world.rejoin(one, owned=world.has(one))[0] == one
    assert world.error(world.ask_join(instance="i")) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_what_a_cooperative_member_holds_on_to_is_nobody_elses(world: MixedWorld) -> None:
    (one,) = world.stable_classic(ALL)
    world.join("new")
    world.rejoin(one, owned=ALL)
    world.beat("new", owned={})
    assert world.has("new") == {}, "one has not given anything up yet"
    kept = world.has(one)
    world.rejoin(one, owned=kept)
    world.beat("new", owned={})
    assert {n for parts in (kept, world.has("new")) for n in parts["foo"]} == ALL["foo"]


def test_what_is_owned_of_a_topic_that_is_named_twice_counts_together() -> None:
    topics = Topics(foo=4)
    owned = [Owned("foo", [0]), Owned("gone", [0]), Owned("foo", [2, 3])]
    found = owned_partitions(ConsumerProtocolSubscription(["foo"], None, owned), topics)
    foo = topics.topic("foo")
    assert foo is not None
    assert found == {foo.topic_id: frozenset({0, 2, 3})}


# -- from consumer to classic


def test_as_many_as_a_classic_group_may_have_become_one() -> None:
    world, one = mixed(classic_max=1)
    world.leave("new")
    assert (world.kind, set(world.classic.members)) == ("classic", {one})


def test_the_group_of_a_successor_alone_is_one_of_consumers(world: MixedWorld) -> None:
    world.join("new", instance="i")
    world.ask_join(instance="i")
    assert (world.kind, world.classic.protocol_type, len(world.classic.members)) == ("classic", "consumer", 1)


def test_a_classic_group_whose_record_has_no_room_stays_a_consumer_group() -> None:
    world, one = mixed()
    world.log.shard.consumer.conversions._room = Room(no_classic_group)
    world.leave("new")
    assert (world.kind, set(world.group.members)) == ("consumer", {one})


def test_without_room_for_its_end_a_member_stays() -> None:
    world, one = mixed()
    world.log.shard.consumer.conversions._room = Room(lambda records: not records)
    with pytest.raises(RecordsTooLarge):
        world.log.shard.consumer.conversions.without(world.group, [one], world.time.now_ms)
    assert set(world.group.members) == {one, "new"}
