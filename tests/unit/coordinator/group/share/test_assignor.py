"""The simple assignor: balance, stickiness, determinism (KIP-932; Apache Kafka 4.3.1's SimpleAssignor)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.coordinator.group.assignment import Assignment
from shareq.coordinator.group.share.assignor import AssignorMember, simple

T, U = b"t" * 16, b"u" * 16
Subscriptions = Mapping[str, frozenset[bytes]]


def assign(
    subscriptions: Subscriptions, assignable: Mapping[bytes, int], before: Mapping[str, Assignment] | None = None
) -> dict[str, Assignment]:
    members = {
        member_id: AssignorMember(topic_ids, (before or {}).get(member_id, {}))
        for member_id, topic_ids in subscriptions.items()
    }
    return simple(members, {topic_id: range(count) for topic_id, count in assignable.items()})


def loads(targets: Mapping[str, Assignment]) -> dict[str, int]:
    return {member_id: sum(map(len, target.values())) for member_id, target in targets.items()}


def holders(targets: Mapping[str, Assignment]) -> Counter[tuple[bytes, int]]:
    return Counter((t, p) for target in targets.values() for t, partitions in target.items() for p in partitions)


def moved(before: Mapping[str, Assignment], after: Mapping[str, Assignment]) -> int:
    """Return how many partitions the remaining members have gained."""
    return sum(
        len(partitions - before[member_id].get(topic_id, frozenset()))
        for member_id, target in after.items()
        if member_id in before
        for topic_id, partitions in target.items()
    )


def same(members: int, *topics: bytes) -> dict[str, frozenset[bytes]]:
    return {f"m{n:02}": frozenset(topics) for n in range(members)}


def test_one_member_gets_everything() -> None:
    assert assign(same(1, T, U), {T: 2, U: 1}) == {"m00": {T: frozenset({0, 1}), U: frozenset({0})}}


def test_partitions_are_shared_only_when_members_outnumber_them() -> None:
    """The KIP's first revision gave every member every partition."""
    assert set(holders(assign(same(3, T), {T: 3})).values()) == {1}
    assert holders(assign(same(4, T), {T: 2})) == {(T, 0): 2, (T, 1): 2}
    assert holders(assign(same(3, T), {T: 2})) == {(T, 0): 2, (T, 1): 2}


def test_nothing_to_assign() -> None:
    assert assign(same(2, T), {}) == {"m00": {}, "m01": {}}
    assert simple({}, {T: range(3)}) == {}


def test_a_leaving_members_partitions_move_and_no_others() -> None:
    before = assign(same(3, T), {T: 9})
    after = assign(same(2, T), {T: 9}, before)
    assert loads(after) in ({"m00": 5, "m01": 4}, {"m00": 4, "m01": 5})
    assert moved(before, after) == 3


def test_a_joining_member_takes_no_more_than_its_share() -> None:
    before = assign(same(2, T), {T: 9})
    after = assign(same(3, T), {T: 9}, before)
    assert set(loads(after).values()) == {3}
    assert moved(before, after) == 0


def test_a_new_target_for_the_same_members_moves_nothing() -> None:
    before = {"m00": {T: frozenset({0})}, "m01": {T: frozenset({1, 2})}}
    assert assign(same(2, T), {T: 3}, before) == before


def test_partitions_that_are_gone_are_taken_away() -> None:
    before: dict[str, Assignment] = {"m00": {T: frozenset({0, 1}), U: frozenset({0})}}
    assert assign(same(1, T), {T: 1}, before) == {"m00": {T: frozenset({0})}}


def test_members_with_different_subscriptions_share_by_topic() -> None:
    subscriptions = {"a": frozenset({T}), "b": frozenset({T, U}), "c": frozenset({U})}
    targets = assign(subscriptions, {T: 4, U: 3})
    assert loads({m: {T: targets[m].get(T, frozenset())} for m in ("a", "b")}) == {"a": 2, "b": 2}
    assert set(holders(targets).values()) == {1}
    assert U not in targets["a"]
    assert T not in targets["c"]


def test_the_odd_partitions_of_several_topics_go_to_different_members() -> None:
    """With the same order for every topic, one member would get the third partition of each."""
    topics = [bytes([n]) * 16 for n in range(8)]
    subscriptions = {"a": frozenset(topics), "b": frozenset(topics), "c": frozenset({T})}
    targets = assign(subscriptions, dict.fromkeys(topics, 3))
    assert loads(targets) == {"a": 12, "b": 12, "c": 0}


def test_a_member_that_unsubscribes_loses_the_topic() -> None:
    before: dict[str, Assignment] = {"a": {T: frozenset({0}), U: frozenset({0})}, "b": {T: frozenset({1})}}
    targets = assign({"a": frozenset({T}), "b": frozenset({T, U})}, {T: 2, U: 1}, before)
    assert targets == {"a": {T: frozenset({0})}, "b": {T: frozenset({1}), U: frozenset({0})}}


member_ids = st.lists(st.sampled_from([f"m{n}" for n in range(12)]), unique=True, min_size=1, max_size=12)
partition_counts = st.fixed_dictionaries({T: st.integers(0, 8), U: st.integers(0, 5)})


@st.composite
def histories(draw: st.DrawFn, *, homogeneous: bool) -> list[tuple[Subscriptions, dict[bytes, int]]]:
    steps: list[tuple[Subscriptions, dict[bytes, int]]] = []
    grown = {T: 0, U: 0}
    for _ in range(draw(st.integers(1, 4))):
        members = draw(member_ids)
        choices = [frozenset({T, U})] if homogeneous else [frozenset({T, U}), frozenset({T}), frozenset({U})]
        counts = draw(partition_counts)
        grown = {topic_id: max(grown[topic_id], counts[topic_id]) for topic_id in grown}
        steps.append(({m: draw(st.sampled_from(choices)) for m in members}, dict(grown)))
    return steps


@settings(max_examples=120, deadline=None)
@given(histories(homogeneous=True))
def test_balance_after_any_history_of_equal_members(steps: list[tuple[Subscriptions, dict[bytes, int]]]) -> None:
    targets: dict[str, Assignment] = {}
    for subscriptions, counts in steps:
        targets = assign(subscriptions, counts, targets)
        members, partitions = len(subscriptions), sum(counts.values())
        shares = loads(targets).values()
        if partitions == 0:
            assert set(shares) == {0}
            continue
        assert len(holders(targets)) == partitions, "a partition without a member"
        sharing = -(-members // partitions)
        assert max(holders(targets).values()) <= sharing
        if members <= partitions:
            assert max(shares) - min(shares) <= 1
        else:
            assert (min(shares), max(shares) <= 2) == (1, True)
        assert assign(subscriptions, counts, targets) == targets, "a second run moved something"


@settings(max_examples=120, deadline=None)
@given(histories(homogeneous=False))
def test_balance_within_each_topic_after_any_history(steps: list[tuple[Subscriptions, dict[bytes, int]]]) -> None:
    targets: dict[str, Assignment] = {}
    for subscriptions, counts in steps:
        targets = assign(subscriptions, counts, targets)
        for topic_id, partitions in counts.items():
            subscribers = [m for m, topic_ids in subscriptions.items() if topic_id in topic_ids]
            shares = [len(targets[m].get(topic_id, ())) for m in subscribers]
            assert all(topic_id not in targets[m] for m in subscriptions if m not in subscribers)
            if not subscribers or not partitions:
                continue
            held = {p for m in subscribers for p in targets[m].get(topic_id, ())}
            assert held == set(range(partitions))
            if len(set(subscriptions.values())) == 1:
                continue  # balanced over the topics together
            if len(subscribers) <= partitions:
                assert max(shares) - min(shares) <= 1
            else:
                assert min(shares) >= 1
        assert assign(subscriptions, counts, targets) == targets


@settings(max_examples=60, deadline=None)
@given(member_ids, partition_counts, st.randoms(use_true_random=False))
def test_the_order_of_the_input_plays_no_part(members: list[str], counts: dict[bytes, int], rng: object) -> None:
    shuffled = list(members)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis's Random
    one = assign({m: frozenset({T, U}) for m in members}, counts)
    other = assign({m: frozenset({T, U}) for m in shuffled}, counts)
    assert one == other
