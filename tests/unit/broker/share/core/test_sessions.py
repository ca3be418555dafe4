"""Share sessions: epochs, partitions, limits, responses and lost connections (KIP-932, share sessions).

Behaviour follows Apache Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pytest

from shareq.broker.share.core.sessions import (
    MOST_OF_A_CONNECTION,
    ClosedSession,
    Disconnected,
    ListedPartition,
    PartitionId,
    ShareFetchContext,
    ShareSessions,
    next_epoch,
)
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import FINAL_EPOCH, INITIAL_EPOCH, MAX_EPOCH

TOPIC_A, TOPIC_B = b"a" * 16, b"b" * 16
NAMES = {TOPIC_A: "a"}


@pytest.fixture
def sessions() -> ShareSessions:
    return ShareSessions(10)


@dataclass(frozen=True)
class Result:
    topic_id: bytes
    partition: int
    records: bytes = b""
    error: ErrorCode = ErrorCode.NONE


def ids(*partitions: int, topic_id: bytes = TOPIC_A) -> list[PartitionId]:
    return [(topic_id, partition) for partition in partitions]


def request(
    sessions: ShareSessions,
    epoch: int,
    listed: Iterable[PartitionId] = (),
    forgotten: Iterable[PartitionId] = (),
    *,
    member: str = "m1",
    group: str = "g",
    acks: bool = False,
    connection: object = 1,
    names: dict[bytes, str] | None = None,
) -> ShareFetchContext | ErrorCode:
    known = NAMES if names is None else names
    partitions = [ListedPartition(topic_id, partition, known.get(topic_id)) for topic_id, partition in listed]
    return sessions.open_or_update(group, member, epoch, partitions, forgotten, has_acks=acks, connection_id=connection)


def accepted(answer: ShareFetchContext | ErrorCode) -> ShareFetchContext:
    assert isinstance(answer, ShareFetchContext), answer
    return answer


def opened(
    sessions: ShareSessions, *partitions: int, member: str = "m1", group: str = "g", connection: object = 1
) -> ShareFetchContext:
    return accepted(request(sessions, 0, ids(*partitions), member=member, group=group, connection=connection))


def fetched(context: ShareFetchContext) -> list[PartitionId]:
    return [(partition.topic_id, partition.partition) for partition in context.partitions]


def kept(context: ShareFetchContext, results: Sequence[Result]) -> list[int]:
    selected = context.select(results)
    assert not isinstance(selected, ErrorCode), selected
    return [result.partition for result in selected]


# -- epochs


def test_an_epoch_is_followed_by_the_next_and_the_largest_by_one() -> None:
    assert [next_epoch(0), next_epoch(1), next_epoch(MAX_EPOCH - 1), next_epoch(MAX_EPOCH)] == [1, 2, MAX_EPOCH, 1]


def test_fetch_and_acknowledge_share_one_epoch_counter(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    accepted(request(sessions, 1))
    session = sessions.update("g", "m1", 2)
    assert not isinstance(session, ErrorCode)
    accepted(request(sessions, 3))
    assert session.next_epoch == 4


@pytest.mark.parametrize("epoch", [0, 1, 3, 7, MAX_EPOCH, -2])
def test_any_other_epoch_is_refused_and_changes_nothing(epoch: int, sessions: ShareSessions) -> None:
    opened(sessions, 0)
    accepted(request(sessions, 1))
    assert sessions.update("g", "m1", epoch) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    if epoch != INITIAL_EPOCH:
        assert request(sessions, epoch, ids(5), ids(0)) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert fetched(accepted(request(sessions, 2))) == ids(0)


def test_the_epoch_wraps_to_one(sessions: ShareSessions) -> None:
    session = opened(sessions, 0).session
    session.next_epoch = MAX_EPOCH
    accepted(request(sessions, MAX_EPOCH))
    assert session.next_epoch == 1
    accepted(request(sessions, 1))


@pytest.mark.parametrize("epoch", [1, 5, FINAL_EPOCH, -7])
def test_without_a_session_only_epoch_zero_works(epoch: int, sessions: ShareSessions) -> None:
    """Every client comes with its old epoch after a broker restart, before it opens a new session."""
    assert request(sessions, epoch) is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert sessions.update("g", "m1", epoch) is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_acknowledge_cannot_open_a_session(sessions: ShareSessions) -> None:
    assert sessions.update("g", "m1", INITIAL_EPOCH) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    opened(sessions, 0)
    assert sessions.update("g", "m1", INITIAL_EPOCH) is ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_the_final_epoch_is_not_compared_and_fetches_nothing(sessions: ShareSessions) -> None:
    session = opened(sessions, 0, 1).session
    context = accepted(request(sessions, FINAL_EPOCH, ids(7), ids(0)))
    assert context.is_final
    assert context.partitions == ()
    assert list(session.partitions) == ids(0, 1)
    assert session.next_epoch == 1
    assert sessions.update("g", "m1", FINAL_EPOCH) is session
    assert sessions.close("g", "m1") == ClosedSession("g", "m1", tuple(ids(0, 1)))
    assert sessions.close("g", "m1") is None
    assert request(sessions, 1) is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_the_epoch_advances_even_if_every_partition_fails_later(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    accepted(request(sessions, 1))
    assert request(sessions, 1) is ErrorCode.INVALID_SHARE_SESSION_EPOCH


# -- opening


def test_opening_with_acknowledgements_is_an_invalid_request_and_keeps_the_old_session(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    assert request(sessions, 0, ids(1), acks=True) is ErrorCode.INVALID_REQUEST
    assert fetched(accepted(request(sessions, 1, acks=True))) == ids(0)


def test_opening_replaces_the_members_session(sessions: ShareSessions) -> None:
    opened(sessions, 0, 1)
    accepted(request(sessions, 1))
    assert fetched(accepted(request(sessions, 0, ids(2), ids(2)))) == ids(2)  # nothing to forget while opening
    assert len(sessions) == 1
    assert fetched(accepted(request(sessions, 1))) == ids(2)


def test_an_empty_session_is_legal(sessions: ShareSessions) -> None:
    assert opened(sessions).partitions == ()
    assert fetched(accepted(request(sessions, 1, ids(3)))) == ids(3)


def test_members_and_groups_have_their_own_sessions(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    opened(sessions, 1, member="m2")
    opened(sessions, 2, group="h")
    assert len(sessions) == 3
    assert fetched(accepted(request(sessions, 1, member="m2"))) == ids(1)
    assert fetched(accepted(request(sessions, 1, group="h"))) == ids(2)


def test_a_full_cache_refuses_new_sessions_and_evicts_none() -> None:
    """The limit is group.share.max.share.sessions."""
    sessions = ShareSessions(2)
    opened(sessions, 0)
    opened(sessions, 0, member="m2", connection=2)
    assert request(sessions, 0, ids(0), member="m3", connection=3) is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert sessions.on_disconnect(3) == Disconnected()
    opened(sessions, 5)  # its own session makes room
    sessions.close("g", "m2")
    opened(sessions, 0, member="m3", connection=3)


def test_a_changed_limit_counts_for_the_next_session() -> None:
    sessions = ShareSessions(1)
    opened(sessions, 0)
    sessions.limit = 2
    opened(sessions, 0, member="m2")


# -- partitions of a session


def test_listed_partitions_join_and_forgotten_ones_leave(sessions: ShareSessions) -> None:
    opened(sessions, 0, 1)
    assert fetched(accepted(request(sessions, 1, ids(2), ids(0)))) == ids(1, 2)
    assert fetched(accepted(request(sessions, 2))) == ids(1, 2)
    assert fetched(accepted(request(sessions, 3, (), ids(9, 1)))) == ids(2)


def test_a_partition_that_is_listed_and_forgotten_ends_up_outside(sessions: ShareSessions) -> None:
    """Clients send acknowledgements that way for a partition that left their assignment."""
    opened(sessions, 0)
    assert fetched(accepted(request(sessions, 1, ids(0, 4), ids(0, 4)))) == []


def test_listing_a_partition_again_keeps_its_place_and_its_topic_name(sessions: ShareSessions) -> None:
    accepted(request(sessions, 0, [*ids(0), *ids(0, topic_id=TOPIC_B)]))
    known = {TOPIC_A: "renamed", TOPIC_B: "b"}
    context = accepted(request(sessions, 1, [*ids(0, topic_id=TOPIC_B), *ids(0)], names=known))
    assert [partition.topic for partition in context.partitions] == ["a", None]
    accepted(request(sessions, 2, (), ids(0, topic_id=TOPIC_B)))
    context = accepted(request(sessions, 3, ids(0, topic_id=TOPIC_B), names=known))
    assert [partition.topic for partition in context.partitions] == ["a", "b"]


def test_the_same_partition_twice_in_one_request_is_one(sessions: ShareSessions) -> None:
    """librdkafka names a topic id twice."""
    assert fetched(opened(sessions, 0, 1, 0)) == ids(0, 1)
    assert fetched(accepted(request(sessions, 1, ids(2, 2)))) == ids(0, 1, 2)


# -- which partitions a response names


def test_an_opening_request_is_answered_for_every_candidate(sessions: ShareSessions) -> None:
    context = opened(sessions, 0, 1)
    assert kept(context, [Result(TOPIC_A, 0), Result(TOPIC_A, 1, b"x")]) == [0, 1]


def test_a_final_request_is_answered_for_every_candidate(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    assert kept(accepted(request(sessions, FINAL_EPOCH)), [Result(TOPIC_A, 0)]) == [0]


def test_later_empty_results_are_left_out(sessions: ShareSessions) -> None:
    opened(sessions, 0, 1, 2)
    results = [Result(TOPIC_A, 0), Result(TOPIC_A, 1, b"x"), Result(TOPIC_A, 2, error=ErrorCode.UNKNOWN_TOPIC_ID)]
    assert kept(accepted(request(sessions, 1)), results) == [1, 2]


def test_a_newly_added_partition_is_named_once_even_if_empty(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    results = [Result(TOPIC_A, 0), Result(TOPIC_A, 3)]
    assert kept(accepted(request(sessions, 1, ids(3))), results) == [3]
    assert kept(accepted(request(sessions, 2)), results) == []


def test_the_first_good_result_after_an_error_is_named(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    failed = [Result(TOPIC_A, 0, error=ErrorCode.KAFKA_STORAGE_ERROR)]
    assert kept(accepted(request(sessions, 1)), failed) == [0]
    assert kept(accepted(request(sessions, 2)), failed) == [0]
    assert kept(accepted(request(sessions, 3)), [Result(TOPIC_A, 0)]) == [0]
    assert kept(accepted(request(sessions, 4)), [Result(TOPIC_A, 0)]) == []


def test_an_error_while_opening_leaves_no_debt(sessions: ShareSessions) -> None:
    context = opened(sessions, 0)
    kept(context, [Result(TOPIC_A, 0, error=ErrorCode.KAFKA_STORAGE_ERROR)])
    assert kept(accepted(request(sessions, 1)), [Result(TOPIC_A, 0)]) == []


def test_a_partition_with_records_goes_to_the_end_of_the_order(sessions: ShareSessions) -> None:
    opened(sessions, 0, 1, 2)
    results = [Result(TOPIC_A, 0, b"x"), Result(TOPIC_A, 1), Result(TOPIC_A, 2, error=ErrorCode.UNKNOWN_TOPIC_ID)]
    kept(accepted(request(sessions, 1)), results)
    assert fetched(accepted(request(sessions, 2))) == ids(1, 2, 0)


def test_a_preview_changes_neither_debts_nor_order(sessions: ShareSessions) -> None:
    """A preview is for a response that a quota then empties."""
    opened(sessions, 0)
    context = accepted(request(sessions, 1, ids(1)))
    results = [Result(TOPIC_A, 0, b"x"), Result(TOPIC_A, 1)]
    selected = context.select(results, preview=True)
    assert selected == results
    assert fetched(accepted(request(sessions, 2))) == ids(0, 1)
    assert context.session.partitions[TOPIC_A, 1].must_answer


def test_a_request_that_another_has_overtaken_is_refused(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    context = accepted(request(sessions, 1))
    accepted(request(sessions, 2))
    assert context.select([Result(TOPIC_A, 0, b"x")]) is ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_a_partition_forgotten_meanwhile_is_named_only_if_there_is_something(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    context = accepted(request(sessions, 1, (), ids(0)))
    assert kept(context, [Result(TOPIC_A, 0)]) == []
    assert kept(context, [Result(TOPIC_A, 0, b"x")]) == [0]


# -- lost connections


def test_a_lost_connection_ends_its_session_and_reports_what_to_release(sessions: ShareSessions) -> None:
    opened(sessions, 0, 1)
    opened(sessions, 0, member="m2", connection=2)
    accepted(request(sessions, 1, ids(2), ids(0)))
    assert sessions.on_disconnect(1) == Disconnected((ClosedSession("g", "m1", tuple(ids(1, 2))),), ())
    assert sessions.get("g", "m1") is None
    assert sessions.on_disconnect(2) == Disconnected((ClosedSession("g", "m2", tuple(ids(0))),), ("g",))
    assert len(sessions) == 0


def test_an_unknown_connection_means_nothing(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    assert sessions.on_disconnect("other") == Disconnected()
    assert len(sessions) == 1


def test_the_old_connection_does_not_end_a_newer_session(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    opened(sessions, 0, connection=2)
    assert sessions.on_disconnect(1) == Disconnected()
    assert sessions.get("g", "m1") is not None
    assert sessions.on_disconnect(2).closed == (ClosedSession("g", "m1", tuple(ids(0))),)


def test_reopening_on_the_same_connection_stays_bound_to_it(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    opened(sessions, 1)
    assert sessions.on_disconnect(1) == Disconnected((ClosedSession("g", "m1", tuple(ids(1))),), ("g",))


def test_a_group_is_empty_when_the_connection_of_its_closed_session_goes(sessions: ShareSessions) -> None:
    """The final epoch had only released the records; the group's state goes with the connection."""
    opened(sessions, 0)
    sessions.close("g", "m1")
    assert sessions.on_disconnect(1) == Disconnected((), ("g",))


def test_a_connection_stands_for_the_session_it_opened_last(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    opened(sessions, 1, member="m2")
    sessions.close("g", "m1")
    opened(sessions, 0, connection=2)
    assert sessions.on_disconnect(1) == Disconnected((ClosedSession("g", "m2", tuple(ids(1))),), ())


def test_switching_share_groups_off_forgets_everything(sessions: ShareSessions) -> None:
    opened(sessions, 0)
    sessions.clear()
    assert len(sessions) == 0
    assert sessions.on_disconnect(1) == Disconnected()
    opened(sessions, 0)


# -- who gives way


def filled(sessions: ShareSessions, owner: str, group: str, connection: int, count: int) -> None:
    for member in range(count):
        answer = sessions.open_or_update(
            group, f"{owner}-{connection}-{member}", 0, (), (), has_acks=False, connection_id=connection, owner=owner
        )
        accepted(answer)


def came(sessions: ShareSessions, owner: str, group: str, connection: int) -> ShareFetchContext | ErrorCode:
    member = f"{owner}-{connection}-new-{len(sessions)}"
    return sessions.open_or_update(group, member, 0, (), (), has_acks=False, connection_id=connection, owner=owner)


def test_a_connection_has_so_many_sessions_and_no_more() -> None:
    sessions = ShareSessions(2_000)
    filled(sessions, "greedy", "evil", 1, MOST_OF_A_CONNECTION)
    assert came(sessions, "greedy", "evil", 1) is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert came(sessions, "greedy", "another", 1) is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    accepted(request(sessions, 0, member="greedy-1-0", group="evil", connection=1))  # one that it has, again
    assert accepted(came(sessions, "good", "g", 2)).gave_way is None


def test_all_sessions_of_a_connection_end_with_it() -> None:
    sessions = ShareSessions(2_000)
    filled(sessions, "greedy", "evil", 1, 3)
    filled(sessions, "greedy", "worse", 1, 2)  # the same members
    ended = sessions.on_disconnect(1)
    assert sorted((each.group_id, each.member_id) for each in ended.closed) == [
        *(("evil", f"greedy-1-{member}") for member in range(3)),
        *(("worse", f"greedy-1-{member}") for member in range(2)),
    ]
    assert sorted(ended.empty_groups) == ["evil", "worse"]
    assert len(sessions) == 0
    assert sessions.evicted == 5


@pytest.mark.parametrize(
    ("owner", "group"), [("good", "g"), ("good", "evil"), ("greedy", "g")], ids=["user", "its group", "group"]
)
def test_the_greediest_gives_way_to_others(owner: str, group: str) -> None:
    """Another user gets room, even in the same group, and so does another group of the same user or machine."""
    sessions = ShareSessions(200)
    for connection in (1, 2):
        filled(sessions, "greedy", "evil", connection, 100)
    for connection in range(10, 60):
        context = accepted(came(sessions, owner, group, connection))
        assert context.gave_way is not None
        assert context.gave_way.member_id.startswith("greedy-")
    assert (len(sessions), sessions.evicted) == (200, 50)


def test_the_greediest_is_refused_and_takes_nothing_from_others() -> None:
    sessions = ShareSessions(100)
    filled(sessions, "good", "g", 1, 20)
    filled(sessions, "greedy", "evil", 2, 80)
    for group in ("evil", "another", "g"):
        answer = came(sessions, "greedy", group, 3)
        assert isinstance(answer, ErrorCode) or (
            answer.gave_way is not None and answer.gave_way.member_id.startswith("greedy-")
        )
    assert sum(sessions.get("g", f"good-1-{member}") is not None for member in range(20)) == 20


def test_where_all_have_equally_many_the_newcomer_is_refused() -> None:
    sessions = ShareSessions(4)
    for connection in range(4):
        filled(sessions, f"user{connection}", f"g{connection}", connection, 1)
    assert came(sessions, "late", "late", 9) is ErrorCode.SHARE_SESSION_LIMIT_REACHED


def test_the_session_that_gives_way_is_the_newest_of_the_greediest_connection() -> None:
    sessions = ShareSessions(6)
    filled(sessions, "greedy", "small", 1, 1)
    filled(sessions, "greedy", "evil", 2, 3)
    filled(sessions, "greedy", "evil", 3, 2)
    gave_way = accepted(came(sessions, "good", "g", 9)).gave_way
    assert gave_way is not None
    assert (gave_way.group_id, gave_way.member_id) == ("evil", "greedy-2-2")
