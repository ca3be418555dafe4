"""`range` and `uniform`: each partition has one subscriber, evenly, and `uniform` moves few."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.consumer.target.assignors import ASSIGNORS, STEP_EFFORT, ConsumerAssignorMember
from shareq.coordinator.shard import at_once

A, B, C = b"A" * 16, b"B" * 16, b"C" * 16


def member(*topics: bytes, instance: str | None = None, **assigned: set[int]) -> ConsumerAssignorMember:
    held = {{"a": A, "b": B, "c": C}[name]: frozenset(partitions) for name, partitions in assigned.items()}
    return ConsumerAssignorMember(frozenset(topics), held, instance)


def assign(name: str, members: dict[str, ConsumerAssignorMember], counts: dict[bytes, int]) -> dict[str, Assignment]:
    return at_once(ASSIGNORS[name](members, counts))


@pytest.mark.parametrize("name", ASSIGNORS)
def test_nobody_gets_nothing(name: str) -> None:
    assert assign(name, {}, {}) == {}
    assert assign(name, {"m": member()}, {}) == {"m": {}}


def test_range_gives_runs_the_first_ones_longer() -> None:
    targets = assign("range", {"m1": member(A, B), "m2": member(A, B)}, {A: 3, B: 2})
    assert targets == {"m1": {A: {0, 1}, B: {0}}, "m2": {A: {2}, B: {1}}}


def test_range_puts_static_members_first_by_their_instance_ids() -> None:
    members = {"m1": member(A), "m2": member(A, instance="z"), "m3": member(A, instance="y")}
    assert assign("range", members, {A: 3}) == {"m3": {A: {0}}, "m2": {A: {1}}, "m1": {A: {2}}}


def test_range_leaves_out_those_that_come_late_when_partitions_are_few() -> None:
    assert assign("range", {"m1": member(A), "m2": member(A)}, {A: 1}) == {"m1": {A: {0}}, "m2": {}}


def test_uniform_moves_only_what_the_new_member_is_due() -> None:
    members = {"m1": member(A, a={0, 1, 2, 3, 4, 5}), "m2": member(A)}
    assert assign("uniform", members, {A: 6}) == {"m1": {A: {0, 1, 2}}, "m2": {A: {3, 4, 5}}}


def test_uniform_gives_what_is_free_to_those_who_stay() -> None:
    members = {"m1": member(A, a={0, 1}), "m2": member(A, a={4, 5})}
    assert assign("uniform", members, {A: 6}) == {"m1": {A: {0, 1, 2}}, "m2": {A: {3, 4, 5}}}


def test_uniform_evens_out_what_subscriptions_differ_in() -> None:
    members = {"m1": member(A, B, a={0, 1, 2, 3}), "m2": member(B)}
    assert assign("uniform", members, {A: 4, B: 4}) == {"m1": {A: {0, 1, 2, 3}}, "m2": {B: {0, 1, 2, 3}}}


def test_uniform_takes_from_those_who_have_more_than_others_could_have() -> None:
    members = {"m1": member(A, B, a={0, 1}, b={0, 1}), "m2": member(B, C)}
    targets = assign("uniform", members, {A: 2, B: 2, C: 0})
    assert targets == {"m1": {A: {0, 1}}, "m2": {B: {0, 1}}}


TOPICS = st.sets(st.sampled_from([A, B, C])).map(frozenset)
GROUPS = st.dictionaries(st.sampled_from([f"m{n}" for n in range(7)]), TOPICS, min_size=1)
COUNTS = st.fixed_dictionaries({topic: st.integers(0, 9) for topic in (A, B, C)})


def everything(targets: dict[str, Assignment]) -> Counter[tuple[bytes, int]]:
    return Counter((t, p) for target in targets.values() for t, partitions in target.items() for p in partitions)


@pytest.mark.parametrize("name", ASSIGNORS)
@settings(max_examples=150, deadline=None)
@given(before=GROUPS, after=GROUPS, counts=COUNTS, grown=st.integers(0, 3))
def test_whatever_group(
    name: str,
    before: dict[str, frozenset[bytes]],
    after: dict[str, frozenset[bytes]],
    counts: dict[bytes, int],
    grown: int,
) -> None:
    """Partitions are assigned twice, with changes of members and partitions in between."""
    first = assign(name, {m: ConsumerAssignorMember(topics) for m, topics in before.items()}, counts)
    counts = {topic: count + grown for topic, count in counts.items()}
    members = {m: ConsumerAssignorMember(topics, first.get(m, {})) for m, topics in after.items()}
    targets = assign(name, members, counts)
    subscribed = frozenset[bytes]().union(*after.values())
    assert everything(targets) == Counter((t, p) for t in subscribed for p in range(counts[t]))
    assert all(target.keys() <= after[m] for m, target in targets.items())
    assert all(partitions for target in targets.values() for partitions in target.values())
    if name == "uniform":
        check_even(after, targets)
        again = {m: ConsumerAssignorMember(topics, targets[m]) for m, topics in after.items()}
        assert assign("uniform", again, counts) == targets, "nothing moves when nothing has changed"


def check_even(subscriptions: dict[str, frozenset[bytes]], targets: dict[str, Assignment]) -> None:
    loads = {m: sum(map(len, target.values())) for m, target in targets.items()}
    for giver, target in targets.items():
        for taker, topics in subscriptions.items():
            if topics & target.keys():
                assert loads[giver] - loads[taker] <= 1, (giver, taker, loads)


class Topic(bytes):
    looks = 0

    def __hash__(self) -> int:
        Topic.looks += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Topic.looks += 1
        return super().__eq__(other)


def looks_of(name: str, members: dict[str, ConsumerAssignorMember], counts: dict[bytes, int]) -> list[int]:
    """Return the number of topic lookups in each step of an assignment."""
    steps = ASSIGNORS[name](members, counts)
    looks: list[int] = []
    while True:
        Topic.looks = 0
        try:
            next(steps)
        except StopIteration:
            return [*looks, Topic.looks]
        looks.append(Topic.looks)


MOST_LOOKS = 10 * STEP_EFFORT


def test_uniform_takes_its_time_for_subscriptions_that_differ() -> None:
    """9,000 topics once took 1.2 s in one turn when a member with a single one joined.

    For every topic all partitions of a member were searched.
    """
    topics = [Topic(b"%016d" % at) for at in range(9_000)]
    members = {f"m{at}": ConsumerAssignorMember(frozenset(topics), {}) for at in range(3)}
    members["other"] = ConsumerAssignorMember(frozenset(topics[:1]))
    counts: dict[bytes, int] = dict.fromkeys(topics, 1)
    first = looks_of("uniform", members, counts)
    held: dict[bytes, frozenset[int]] = {topic: frozenset({0}) for topic in topics}
    members["m0"] = ConsumerAssignorMember(frozenset(topics), held)
    again = looks_of("uniform", members, counts)
    for looks in (first, again):
        assert sum(looks) < 40 * len(topics)
        assert max(looks) < MOST_LOOKS
        assert len(looks) > 5


@pytest.mark.parametrize("name", ASSIGNORS)
def test_many_members_with_many_topics_are_given_them_in_steps(name: str) -> None:
    topics = [Topic(b"%016d" % at) for at in range(500)]
    members = {f"m{at}": ConsumerAssignorMember(frozenset(topics[at % 7 :])) for at in range(200)}
    together = sum(len(member.topic_ids) for member in members.values())  # once, without a pause
    assert max(looks_of(name, members, dict.fromkeys(topics, 4))) < together + MOST_LOOKS


def test_a_topic_of_many_partitions_is_evened_out_in_steps() -> None:
    topic, other = Topic(A), Topic(B)
    members = {
        "m1": ConsumerAssignorMember(frozenset([topic]), {topic: frozenset(range(10_000))}),
        "m2": ConsumerAssignorMember(frozenset([topic, other])),
    }
    assert max(looks_of("uniform", members, {topic: 10_000, other: 1})) < MOST_LOOKS


@pytest.mark.parametrize("name", ASSIGNORS)
def test_a_small_group_is_given_its_topics_at_once(name: str) -> None:
    members = {f"m{at}": ConsumerAssignorMember(frozenset([A, B] if at % 2 else [A])) for at in range(10)}
    assert len(looks_of(name, members, {A: 100, B: 100})) == 1
