from __future__ import annotations

from shareq.client.share.leaders import ShareLeaders

A, B, C = (b"t" * 16, 0), (b"t" * 16, 1), (b"u" * 16, 0)


def test_partitions_go_to_the_session_of_their_leader() -> None:
    leaders = ShareLeaders("g", "m")
    leaders.assign({A: 1, B: 2, C: 1})
    assert {leader.node: leader.session.partitions for leader in leaders} == {1: {A, C}, 2: {B}}
    assert leaders.generation == {A: 0, B: 0, C: 0}


def test_another_leader_has_not_the_locks_of_the_last() -> None:
    leaders = ShareLeaders("g", "m")
    leaders.assign({A: 1, B: 1})
    leaders.assign({A: 2, B: 1})
    assert leaders.generation == {A: 1, B: 0}
    leader = leaders.session_leader(A)
    assert leader is not None
    assert leader.node == 2


def test_a_partition_whose_leader_is_unknown_stays_where_it_was() -> None:
    leaders = ShareLeaders("g", "m")
    leaders.assign({A: 1, B: None})
    assert leaders.session_leader(B) is None
    leaders.assign({A: None, B: None})
    assert {leader.node: leader.session.partitions for leader in leaders} == {1: {A}}
    assert leaders.generation == {A: 0}


def test_a_partition_taken_away_is_still_acknowledged_where_it_was_acquired() -> None:
    leaders = ShareLeaders("g", "m")
    leaders.assign({A: 1, B: 1})
    leaders.assign({B: 1})
    leader = leaders.session_leader(A)
    assert leader is not None
    assert leader.session.partitions == {B}
    leader.opened = True
    leaders.session_lost(leader)
    assert leaders.generation == {A: 1, B: 1}


def test_a_session_that_never_opened_held_nothing() -> None:
    leaders = ShareLeaders("g", "m")
    leaders.assign({A: 1})
    (leader,) = leaders
    leaders.session_lost(leader)
    assert leaders.generation == {A: 0}
