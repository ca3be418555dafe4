"""The replay shared by share groups and consumer groups, and records of one type for a group of the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

from shareq.coordinator.group.classic.group import ClassicGroup, ClassicState
from shareq.coordinator.group.consumer import member as consumer_member
from shareq.coordinator.group.consumer import records as consumer_records
from shareq.coordinator.group.consumer.group import ConsumerGroup, ResolvedRegex
from shareq.coordinator.group.consumer.records import CONSUMER_GROUP_RECORDS
from shareq.coordinator.group.groups import NO_EPOCH, Group
from shareq.coordinator.group.replay import GroupReplay
from shareq.coordinator.group.share import group as share_group
from shareq.coordinator.group.share import records as share_records
from shareq.coordinator.group.share.group import ShareGroup
from shareq.coordinator.group.share.records import SHARE_GROUP_RECORDS
from shareq.coordinator.shard import CoordinatorRecord, InconsistentRecords

T = bytes(range(16))
TARGET = {T: frozenset({0, 2})}


class Kind(NamedTuple):
    """A type of group: its replay, and the records of a group with one member, in log order."""

    replay: GroupReplay[Any]
    group_class: type[Any]
    log: tuple[CoordinatorRecord, ...]
    gone: tuple[CoordinatorRecord, ...]
    member: object
    current: object


SHARE_MEMBER = share_group.ShareMember("m", "rack", "client", "/127.0.0.1", ("t",))
SHARE_CURRENT = share_group.CurrentAssignment(5, 4, TARGET)
CONSUMER_MEMBER = consumer_member.ConsumerMember("m", "static", client_id="client", subscribed_topic_names=("t",))
CONSUMER_CURRENT = consumer_member.CurrentAssignment(5, 4, assigned={T: {0: 5, 2: 4}})


def tombstones(records: Iterable[CoordinatorRecord]) -> tuple[CoordinatorRecord, ...]:
    return tuple(CoordinatorRecord(record.key, None) for record in records)


def kind_of(module: Any, replay: GroupReplay[Any], group_class: type[Any], member: Any, current: Any) -> Kind:
    of_member = (
        module.member_record("g", "m", member) if module is share_records else module.member_record("g", member),
        module.target_record("g", "m", TARGET),
        module.current_record("g", "m", current),
    )
    group, epoch = module.epoch_record("g", 5, 99), module.assignment_epoch_record("g", 5, 7)
    gone = (*tombstones(reversed(of_member)), *tombstones([epoch, group]))
    return Kind(replay, group_class, (of_member[0], group, *of_member[1:], epoch), gone, member, current)


KINDS = [
    kind_of(share_records, SHARE_GROUP_RECORDS, ShareGroup, SHARE_MEMBER, SHARE_CURRENT),
    kind_of(consumer_records, CONSUMER_GROUP_RECORDS, ConsumerGroup, CONSUMER_MEMBER, CONSUMER_CURRENT),
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=["share", "consumer"])


def replayed(kind: Kind, *log: CoordinatorRecord, groups: dict[str, Group] | None = None) -> dict[str, Group]:
    groups = {} if groups is None else groups
    for record in log:
        assert kind.replay.replay(groups, record)
    return groups


@each_kind
def test_a_group_is_what_its_records_say(kind: Kind) -> None:
    group: Any = replayed(kind, *kind.log)["g"]
    assert isinstance(group, kind.group_class)
    assert group.members == {"m": kind.member}
    assert group.targets == {"m": TARGET}
    assert group.current == {"m": kind.current}
    assert (group.group_epoch, group.metadata_hash) == (5, 99)
    assert (group.assignment_epoch, group.assignment_timestamp_ms) == (5, 7)


@each_kind
def test_any_value_makes_the_group_and_tombstones_of_nothing_are_passed_over(kind: Kind) -> None:
    for record in kind.log:
        assert isinstance(replayed(kind, record)["g"], kind.group_class)
    assert replayed(kind, *kind.gone) == {}


@each_kind
def test_tombstones_in_their_order_remove_everything(kind: Kind) -> None:
    assert replayed(kind, *kind.log, *kind.gone) == {}
    group: Any = replayed(kind, *kind.log, *kind.gone[:-1])["g"]
    assert (group.members, group.targets, group.current) == ({}, {}, {})
    assert (group.assignment_epoch, group.assignment_timestamp_ms) == (NO_EPOCH, 0)


@each_kind
@pytest.mark.parametrize("early", [2, 4], ids=["member", "group"])
def test_a_tombstone_that_comes_too_early_is_an_error(kind: Kind, early: int) -> None:
    with pytest.raises(InconsistentRecords):
        replayed(kind, *kind.log, kind.gone[early])


@each_kind
def test_a_value_that_is_not_its_keys_is_an_error(kind: Kind) -> None:
    with pytest.raises(InconsistentRecords):
        replayed(kind, CoordinatorRecord(kind.log[0].key, kind.log[1].value))


def test_records_of_the_other_kind_are_left_to_it() -> None:
    share, consumer = KINDS
    for kind, other in ((share, consumer), (consumer, share)):
        assert not any(kind.replay.replay({}, record) for record in other.log)
    assert not share.replay.replay({}, consumer_records.regex_record("g", "a.*", ResolvedRegex()))


def classic(state: ClassicState) -> ClassicGroup:
    group = ClassicGroup("g", 0)
    group.state = state
    return group


@pytest.mark.parametrize("other", [classic(ClassicState.EMPTY), ConsumerGroup("g")], ids=["classic", "consumer"])
def test_no_group_gives_way_to_a_share_group(other: Group) -> None:
    share = KINDS[0]
    for record in (*share.log, *share.gone):
        with pytest.raises(InconsistentRecords, match="group g is no share group"):
            replayed(share, record, groups={"g": other})


def test_a_classic_group_that_only_keeps_offsets_gives_way_to_a_consumer_group() -> None:
    consumer = KINDS[1]
    groups: dict[str, Group] = {"g": classic(ClassicState.EMPTY)}
    replayed(consumer, *consumer.gone, groups=groups)
    assert isinstance(groups["g"], ClassicGroup)
    replayed(consumer, consumer.log[0], groups=groups)
    assert isinstance(groups["g"], ConsumerGroup)


@pytest.mark.parametrize("other", [classic(ClassicState.STABLE), ShareGroup("g")], ids=["classic", "share"])
def test_no_other_group_gives_way_to_a_consumer_group_but_tombstones_pass(other: Group) -> None:
    consumer = KINDS[1]
    groups = replayed(consumer, *consumer.gone, groups={"g": other})
    assert groups == {"g": other}
    for record in consumer.log:
        with pytest.raises(InconsistentRecords, match="group g is no consumer group"):
            replayed(consumer, record, groups=groups)
