"""One partition of a coordinator: its work in steps, and the operations that wait for it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

import pytest

from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.ports import LOG_IS_OVER, Read
from shareq.broker.coordinator_runtime.replay import MOST_READ_BYTES
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import LOOK, TURN_ELEMENTS
from shareq.broker.log.markers import TransactionMarker
from shareq.coordinator.shard import CoordinatorResult, RecordsTooLarge, Steps
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatResponse
from shareq.protocol.records.batch import RecordData, build_batch, read_header
from tests.support.fakes.coordinator_partition import PRODUCER, Rig
from tests.support.fakes.note_shard import NOTE_SERDE, NoteShard, note, result


def filled(records: int) -> Rig:
    """Return a log of `records` records in batches of 100, read one batch at a time."""
    rig = Rig(CoordinatorLogSettings(load_buffer_bytes=1_000))
    for first in range(0, records, 100):
        rig.schedule("kept", *(note(f"n{at}") for at in range(first, min(first + 100, records))))
        rig.ports.logs.flush()
    rig.answers.clear()
    return rig


def lose_one(rig: Rig) -> None:
    rig.schedule("lost", note("lost"))
    rig.ports.logs.collect()
    rig.log.lose()


def test_a_log_is_replayed_in_steps_after_a_lost_append() -> None:
    """Unlike at the start, clients wait; 100,000 records once took two seconds in one turn."""
    rig = filled(2_000)
    lose_one(rig)
    assert rig.answers == ["lost NOT_COORDINATOR"], "refused at once"
    loaded = rig.shards[1]
    rig.schedule("behind", note("b"))
    rig.schedule("reader")
    ticks = [len(loaded.names)]
    while loaded.loaded_at is None:
        assert rig.partition.shard is rig.shards[0], "of what is half read nobody is answered"
        assert rig.partition.waiting == 2
        rig.ports.clock.run_tick()
        ticks.append(len(loaded.names) - sum(ticks))
    assert max(ticks) <= TURN_ELEMENTS + LOOK
    assert rig.partition.shard is loaded
    rig.ports.logs.flush()
    assert rig.answers[1:] == ["behind", "reader"]
    assert rig.names() == [*(f"n{at}" for at in range(2_000)), "b"]


def test_the_end_of_a_transaction_waits_for_the_replay_too() -> None:
    rig = filled(500)
    lose_one(rig)
    rig.schedule("commit", note("c"), producer=PRODUCER)
    ended = rig.partition.end_transaction(TransactionMarker(*PRODUCER, 0, commit=True, transaction_version=1), rig.log)
    assert not ended.done
    rig.ports.clock.run_until_idle()
    rig.ports.logs.flush()
    rig.log.make_durable()
    assert ended.value is ErrorCode.NONE
    assert rig.partition.shard.ended == [(PRODUCER.producer_id, True)]
    assert rig.answers[1:] == ["commit"]


def test_a_partition_that_is_given_up_while_it_is_replayed_refuses_all_that_wait() -> None:
    rig = filled(500)
    lose_one(rig)
    rig.schedule("behind", note("b"))
    rig.partition.resign()
    rig.ports.clock.run_until_idle()
    assert rig.answers[1:] == ["behind NOT_COORDINATOR"]
    assert rig.shards[1].loaded_at is None


def test_a_log_that_cannot_be_read_any_more_refuses_what_waits(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = filled(500)
    lose_one(rig)
    rig.schedule("behind", note("b"))
    monkeypatch.setattr(rig.log, "read", lambda *_, **__: ErrorCode.KAFKA_STORAGE_ERROR)
    rig.ports.clock.run_until_idle()
    assert rig.partition.is_lost
    assert rig.answers[1:] == ["behind NOT_COORDINATOR"]
    assert "operations are refused until the broker starts again" in caplog.text


# -- the load at first


def begin_load(rig: Rig, *, refuses: bool = False) -> NoteShard:
    rig.shards.clear()

    def new_shard() -> NoteShard:
        rig.shards.append(NoteShard())
        return rig.shards[-1]

    rig.partition = rig.unloaded(new_shard)
    rig.partition.load(refuses=refuses)
    return rig.shards[-1]


def append(rig: Rig, records: int, in_a_batch: int) -> None:
    for first in range(0, records, in_a_batch):
        some = [RecordData(*NOTE_SERDE.encode(note(f"n{first + at}"))) for at in range(in_a_batch)]
        rig.log.high_watermark = rig.log.contents.add(build_batch(some, timestamp_ms=1_000)).next_offset


@pytest.mark.parametrize(("records", "in_a_batch"), [(20_000, 50), (20_000, 4_000)])
def test_many_records_are_loaded_in_turns_of_the_loop_that_are_short(records: int, in_a_batch: int) -> None:
    """100,000 records once took half a second, during which nothing was answered.

    A read checks all its batches, so each read is short, too.
    """
    rig = Rig()
    append(rig, records, in_a_batch)
    read, sizes = rig.log.contents.read, list[int]()

    def measured(*args: object, **named: object) -> Read:
        found = read(*args, **named)  # type: ignore[arg-type]
        assert not isinstance(found, ErrorCode)
        sizes.append(len(found.records))
        return found

    rig.log.contents.read = measured  # type: ignore[method-assign]
    loaded = begin_load(rig)
    turns, reads = [len(loaded.names)], [len(sizes)]
    while not rig.partition.loaded.done:
        rig.ports.clock.run_tick()
        turns.append(len(loaded.names) - sum(turns))
        reads.append(len(sizes) - sum(reads))
    assert rig.partition.shard is loaded
    assert len(loaded.names) == records
    assert max(turns) <= TURN_ELEMENTS + LOOK
    assert max(reads) <= 2, "where one ends and the next one begins"
    assert MOST_READ_BYTES // 2 < max(sizes) <= MOST_READ_BYTES


def test_what_is_asked_during_the_load_is_answered_by_what_was_loaded() -> None:
    rig = filled(1_000)
    loaded = begin_load(rig)
    rig.schedule("behind", note("b"))
    rig.schedule("reader")
    assert (loaded.loaded_at, rig.answers, rig.partition.shard.names) == (None, [], [])
    rig.ports.clock.run_until_idle()
    assert rig.partition.loaded.value
    assert rig.partition.shard is loaded
    rig.ports.logs.flush()
    assert rig.answers == ["behind", "reader"]
    assert loaded.replayed[-1].offset == 1_000


def test_a_load_that_refuses_answers_at_once_and_lets_news_wait() -> None:
    rig = filled(1_000)
    loaded = begin_load(rig, refuses=True)
    heard: list[int] = []

    def news(shard: NoteShard) -> CoordinatorResult[None]:
        heard.append(len(shard.names))
        return CoordinatorResult(None, (note("news"),))

    rig.partition.notify(news)
    rig.schedule("refused", note("b"))
    marker = TransactionMarker(*PRODUCER, 0, commit=True, transaction_version=1)
    ended = rig.partition.end_transaction(marker, rig.log)
    parked = rig.partition.schedule_waiting(
        lambda _token: CoordinatorResult(None), lambda error: HeartbeatResponse(error_code=error)
    )
    assert rig.answers == ["refused COORDINATOR_LOAD_IN_PROGRESS"]
    assert ended.value is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert parked.value.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    rig.ports.clock.run_until_idle()
    assert heard == [1_000]
    rig.schedule("taken", note("c"))
    rig.ports.logs.flush()
    assert rig.answers[1:] == ["taken"]
    assert loaded.names[-2:] == ["news", "c"]
    lose_one(rig)
    rig.schedule("behind a reload")
    rig.ports.clock.run_until_idle()
    assert rig.answers[-1] == "behind a reload", "which is short: it refuses nobody"


def keep_far(rig: Rig) -> deque[Callable[[], None]]:
    """Delay reads of the log from now on; each call of the result completes the oldest one."""
    read, fetches = rig.log.read, deque[Callable[[], None]]()

    def later(offset: int, max_bytes: int, *, upto: int, min_one_batch: bool = True) -> Pending[Read]:
        pending: Pending[Read] = Pending()
        fetches.append(lambda: pending.complete(read(offset, max_bytes, upto=upto, min_one_batch=min_one_batch)))
        return pending

    rig.log.read = later  # type: ignore[method-assign, assignment]
    return fetches


def test_a_log_that_is_kept_far_is_loaded_as_it_arrives() -> None:
    rig = filled(1_000)
    fetches = keep_far(rig)
    loaded = begin_load(rig)
    rig.schedule("behind")
    known = [0]
    while not rig.partition.loaded.done:
        rig.ports.clock.run_until_idle()
        assert len(fetches) == 1, "one at a time"
        fetches.popleft()()
        assert len(loaded.names) == known[-1], "goes on in a tick of its own"
        rig.ports.clock.run_until_idle()
        known.append(len(loaded.names))
    assert len(known) > 10
    assert rig.answers == ["behind"]
    assert len(loaded.names) == 1_000


@pytest.mark.parametrize("arrives", [True, False])
def test_a_partition_is_given_up_while_it_waits_for_its_log(arrives: bool) -> None:
    rig = filled(1_000)
    fetches = keep_far(rig)
    loaded = begin_load(rig)
    rig.schedule("behind")
    rig.partition.resign()
    assert not rig.partition.loaded.value
    if arrives:
        fetches.popleft()()
    rig.ports.clock.run_until_idle()
    assert (rig.answers, loaded.names, len(fetches)) == (["behind NOT_COORDINATOR"], [], not arrives)


def test_a_log_that_is_over_while_it_is_read_refuses_what_waits(caplog: pytest.LogCaptureFixture) -> None:
    rig = filled(1_000)
    fetches = keep_far(rig)
    begin_load(rig)
    rig.schedule("behind")
    rig.log.unreadable_with = LOG_IS_OVER
    fetches.popleft()()
    rig.ports.clock.run_until_idle()
    assert (rig.answers, rig.partition.loaded.value) == (["behind NOT_COORDINATOR"], False)
    assert "operations are refused until another load" in caplog.text


# -- decisions


def decide(rig: Rig, response: str, steps: int, *, too_large: bool = False) -> Pending[str]:
    """Schedule an operation that pauses `steps` times."""

    def operation() -> Steps[CoordinatorResult[str]]:
        known = list(rig.partition.shard.names)
        for _ in range(steps):
            yield
        assert rig.partition.shard.names == known
        if too_large:
            raise RecordsTooLarge
        if response == "defect":
            raise ZeroDivisionError
        return result(response, note(response))

    pending = rig.partition.schedule(operation, lambda error: f"{response} {error.name}")
    pending.on_complete(rig.answers.append)
    return pending


def test_nothing_else_is_decided_while_an_operation_pauses(rig: Rig) -> None:
    decide(rig, "long", 5)
    rig.schedule("short", note("short"))
    decide(rig, "other", 2)
    decide(rig, "at once", 0)
    for _ in range(4):
        rig.ports.clock.run_tick()
        rig.ports.logs.flush()
        assert not rig.answers
    rig.ports.clock.run_until_idle()
    rig.ports.logs.flush()
    assert rig.answers == ["long", "short", "other", "at once"]
    assert rig.names() == ["long", "short", "other", "at once"]


@pytest.mark.parametrize("steps", [0, 3])
def test_what_is_decided_in_steps_may_be_part_of_a_transaction(steps: int, rig: Rig) -> None:

    def operation() -> Steps[CoordinatorResult[str]]:
        for _ in range(steps):
            yield
        return result("done", note("a"))

    pending = rig.partition.schedule(operation, lambda error: error.name, producer=PRODUCER)
    rig.ports.clock.run_until_idle()
    rig.ports.logs.flush()
    assert pending.value == "done"
    assert [read_header(each).producer_id for each in rig.log.appends] == [PRODUCER.producer_id]


def test_an_operation_that_does_not_pause_is_decided_at_once(rig: Rig) -> None:
    decide(rig, "short", 0)
    rig.ports.logs.flush()
    assert rig.answers == ["short"]


@pytest.mark.parametrize("steps", [0, 2])
def test_records_that_are_too_large_are_refused_alone(steps: int, rig: Rig) -> None:
    decide(rig, "large", steps, too_large=True)
    rig.schedule("next", note("next"))
    rig.ports.clock.run_until_idle()
    rig.ports.logs.flush()
    assert rig.answers == ["large UNKNOWN_SERVER_ERROR", "next"]


def test_a_defect_in_a_later_step_is_logged_and_answered(caplog: pytest.LogCaptureFixture, rig: Rig) -> None:
    decide(rig, "defect", 2)
    rig.schedule("next", note("next"))
    rig.partition.schedule(_defect, lambda error: error.name).on_complete(rig.answers.append)
    rig.schedule("last", note("last"))
    with caplog.at_level(logging.ERROR):
        rig.ports.clock.run_until_idle()
    rig.ports.logs.flush()
    assert rig.answers == ["defect UNKNOWN_SERVER_ERROR", "UNKNOWN_SERVER_ERROR", "next", "last"]
    assert caplog.text.count("\nZeroDivisionError") == 2


def _defect() -> CoordinatorResult[str]:
    raise ZeroDivisionError


def test_a_lost_append_ends_the_operation_that_pauses(rig: Rig) -> None:
    rig.schedule("lost", note("lost"))
    rig.ports.logs.collect()
    decide(rig, "long", 2)
    rig.schedule("behind", note("behind"))
    rig.log.lose()
    rig.ports.clock.run_until_idle()
    assert rig.answers == ["lost NOT_COORDINATOR", "long NOT_COORDINATOR", "behind NOT_COORDINATOR"]
    rig.ports.logs.flush()
    assert rig.names() == []


def test_what_follows_a_replay_is_done_in_steps_and_all_wait_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check after the replay takes steps: checking 10,000 share groups once took 70 ms of CPU in one turn."""
    taken: list[int] = []

    def in_steps(shard: NoteShard, now_ms: int) -> Steps[None]:
        for step in range(500):
            taken.append(step)
            yield
        shard.loaded_at = now_ms

    rig = filled(10)
    monkeypatch.setattr(NoteShard, "on_loaded", in_steps)
    lose_one(rig)
    rig.schedule("behind", note("b"))
    ticks = [len(taken)]
    while rig.shards[1].loaded_at is None:
        assert rig.partition.waiting == 1
        rig.ports.clock.run_tick()
        ticks.append(len(taken) - sum(ticks))
    assert sum(ticks) == 500
    assert max(ticks) <= TURN_ELEMENTS // LOOK + 1
    rig.ports.logs.flush()
    assert rig.answers[1:] == ["behind"]
