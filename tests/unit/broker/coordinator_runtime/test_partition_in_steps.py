"""One partition of a coordinator: what it does in steps, and what waits behind it."""

from __future__ import annotations

import logging

import pytest

from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import LOOK, TURN_ELEMENTS
from shareq.broker.log.markers import TransactionMarker
from shareq.coordinator.shard import CoordinatorResult, RecordsTooLarge, Steps
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import read_header
from tests.support.fakes.coordinator_partition import PRODUCER, Rig
from tests.support.fakes.note_shard import note, result


def filled(records: int) -> Rig:
    """A log with so many records, of which 100 are in a batch; one is read at a time."""
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
    """As at a start, where nobody waits; 100,000 records took two seconds."""
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


def decide(rig: Rig, response: str, steps: int, *, too_large: bool = False) -> Pending[str]:
    """An operation that pauses so many times."""

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
