"""Full and incremental fetches, the session cache and its eviction (KIP-227)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from shareq.broker.fetch.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    PROTECTED_MS,
    FetchContext,
    FetchSessions,
    PartitionKey,
    SessionPartition,
    next_epoch,
)
from shareq.protocol.errors import ErrorCode


@dataclass
class Data:
    records: bytes | memoryview | None = b""
    error_code: int = 0
    high_watermark: int = 10
    log_start_offset: int = 0


class Answer(NamedTuple):
    error: ErrorCode
    session_id: int
    partitions: Sequence[tuple[SessionPartition, Data]]


def part(topic: str | bytes = "t", partition: int = 0, fetch_offset: int = 0) -> SessionPartition:
    return SessionPartition(topic, partition, fetch_offset, max_bytes=1000)


def ids() -> Callable[[], int]:
    numbers = iter(range(1, 1000))
    return lambda: next(numbers)


def opened(
    sessions: FetchSessions,
    session_id: int,
    epoch: int,
    *requested: SessionPartition,
    forgotten: Sequence[PartitionKey] = (),
    now_ms: int = 0,
    uses_topic_ids: bool = False,
) -> FetchContext:
    if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        return sessions.open(session_id, epoch, {each.key: each for each in requested}, uses_topic_ids=uses_topic_ids)
    session = sessions.find(session_id, epoch, uses_topic_ids=uses_topic_ids)
    assert not isinstance(session, ErrorCode)
    session.update(requested)
    session.forget(forgotten)
    context = sessions.resume(session_id, epoch, uses_topic_ids=uses_topic_ids, now_ms=now_ms)
    assert isinstance(context, FetchContext)
    return context


def answered(context: FetchContext, now_ms: int = 0, **data: Data) -> Answer:
    """Answer every partition with `data` by 'topic_partition', or with an empty answer without changes."""
    results = [(each, data.get(f"{each.topic!s}_{each.partition}", Data())) for each in context.partitions]
    noted = context.noted(results)
    return Answer(*context.answered(now_ms), noted)


def session_of(sessions: FetchSessions, *requested: SessionPartition, now_ms: int = 0) -> int:
    answer = answered(opened(sessions, 0, 0, *requested, now_ms=now_ms), now_ms)
    return answer.session_id


def keys(answer: Answer) -> list[PartitionKey]:
    return [partition.key for partition, _ in answer.partitions]


def test_a_full_fetch_opens_a_session_and_answers_every_partition() -> None:
    sessions = FetchSessions(10, ids())
    answer = answered(opened(sessions, 0, 0, part(), part("u", 3)))
    assert (answer.error, answer.session_id) == (ErrorCode.NONE, 1)
    assert keys(answer) == [("t", 0), ("u", 3)]


def test_an_incremental_fetch_reads_all_and_answers_only_news() -> None:
    sessions = FetchSessions(10, ids())
    session_id = session_of(sessions, part("a"), part("b"), part("c"), part("d"))
    context = opened(sessions, session_id, 1)
    assert len(context.partitions) == 4
    answer = answered(
        context, a_0=Data(b"x"), b_0=Data(high_watermark=11), c_0=Data(log_start_offset=2), d_0=Data(high_watermark=10)
    )
    assert keys(answer) == [("a", 0), ("b", 0), ("c", 0)]
    assert keys(answered(opened(sessions, session_id, 2), a_0=Data(), b_0=Data(high_watermark=11))) == [("c", 0)]


def test_an_error_is_reported_every_time_and_its_end_too() -> None:
    sessions = FetchSessions(10, ids())
    session_id = session_of(sessions, part())
    broken = Data(error_code=1, high_watermark=-1, log_start_offset=0)
    assert keys(answered(opened(sessions, session_id, 1), t_0=broken)) == [("t", 0)]
    assert keys(answered(opened(sessions, session_id, 2), t_0=broken)) == [("t", 0)]
    assert keys(answered(opened(sessions, session_id, 3))) == [("t", 0)]
    assert keys(answered(opened(sessions, session_id, 4))) == []


def test_partitions_are_added_changed_and_forgotten() -> None:
    sessions = FetchSessions(10, ids())
    session_id = session_of(sessions, part("a"), part("b"))
    context = opened(sessions, session_id, 1, part("a", fetch_offset=7), part("c"), forgotten=[("b", 0)])
    assert [(each.topic, each.fetch_offset) for each in context.partitions] == [("a", 7), ("c", 0)]
    assert keys(answered(context)) == [("c", 0)]


def test_partitions_with_records_are_read_last_the_next_time() -> None:
    sessions = FetchSessions(10, ids())
    session_id = session_of(sessions, part("a"), part("b"), part("c"))
    answered(opened(sessions, session_id, 1), a_0=Data(b"x"))
    assert [each.topic for each in opened(sessions, session_id, 2).partitions] == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("session_id", "epoch", "uses_topic_ids", "error"),
    [
        (99, 1, False, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (1, 2, False, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (1, 1, True, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
def test_wrong_sessions_are_errors_of_the_whole_response(
    session_id: int, epoch: int, uses_topic_ids: bool, error: ErrorCode
) -> None:
    sessions = FetchSessions(10, ids())
    session_of(sessions, part())
    assert sessions.find(session_id, epoch, uses_topic_ids=uses_topic_ids) is error
    assert sessions.resume(session_id, epoch, uses_topic_ids=uses_topic_ids, now_ms=0) is error


def test_an_answer_overtaken_by_the_next_request_is_an_epoch_error() -> None:
    sessions = FetchSessions(10, ids())
    session_id = session_of(sessions, part())
    first = opened(sessions, session_id, 1)
    opened(sessions, session_id, 2)
    assert answered(first).error is ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_full_fetch_replaces_the_session_and_the_final_epoch_closes_it() -> None:
    sessions = FetchSessions(10, ids())
    first = session_of(sessions, part())
    second = answered(opened(sessions, first, 0, part())).session_id
    assert second != first
    assert len(sessions) == 1
    assert answered(opened(sessions, second, -1, part())).session_id == 0
    assert len(sessions) == 0


def test_a_session_without_partitions_is_closed() -> None:
    sessions = FetchSessions(10, ids())
    session_id = session_of(sessions, part())
    assert answered(opened(sessions, session_id, 1, forgotten=[("t", 0)])).session_id == 0
    assert len(sessions) == 0


def test_a_full_cache_answers_without_a_session_unless_one_is_stale() -> None:
    sessions = FetchSessions(1, ids())
    first = session_of(sessions, part(), now_ms=0)
    assert session_of(sessions, part(), now_ms=PROTECTED_MS) == 0
    second = session_of(sessions, part(), now_ms=PROTECTED_MS + 1)
    assert second not in (0, first)


def test_a_used_session_is_not_stale_and_a_larger_one_takes_an_old_one_over() -> None:
    sessions = FetchSessions(1, ids())
    first = session_of(sessions, part(), now_ms=0)
    opened(sessions, first, 1, now_ms=PROTECTED_MS)
    assert session_of(sessions, part("a"), now_ms=PROTECTED_MS + 1) == 0
    assert session_of(sessions, part("a"), part("b"), now_ms=PROTECTED_MS + 1) != 0


def test_no_slots_means_no_sessions() -> None:
    assert session_of(FetchSessions(0, ids()), part()) == 0


def test_session_ids_are_not_given_twice() -> None:
    numbers = iter([5, 5, 6])
    sessions = FetchSessions(10, lambda: next(numbers))
    assert [session_of(sessions, part()), session_of(sessions, part())] == [5, 6]


def test_epochs_wrap_to_one() -> None:
    assert [next_epoch(0), next_epoch(5), next_epoch(MAX_EPOCH), next_epoch(-1)] == [1, 6, 1, -1]
