"""One partition of a coordinator: lost and refused appends, unreadable logs, and resignation."""

from __future__ import annotations

import logging

import pytest

from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.partition import coordinator_error
from shareq.broker.coordinator_runtime.ports import LOG_IS_OVER
from shareq.broker.log.markers import TransactionMarker
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.shard import CoordinatorResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatResponse
from tests.support.fakes.coordinator_partition import PRODUCER, TOPIC, Rig
from tests.support.fakes.note_shard import note

# -- failures


def test_an_append_that_is_lost_fails_all_that_wait_and_takes_back_what_they_did(
    caplog: pytest.LogCaptureFixture, rig: Rig
) -> None:
    rig.schedule("kept", note("a"))
    rig.ports.logs.flush()
    rig.schedule("lost", note("b"))
    rig.ports.logs.collect()
    rig.schedule("reader")
    rig.schedule("collected", note("c"))
    rig.log.lose()
    assert rig.answers == ["kept", "lost NOT_COORDINATOR", "reader NOT_COORDINATOR", "collected NOT_COORDINATOR"]
    assert rig.partition.shard is rig.shards[1]
    assert (rig.partition.shard.names, rig.partition.shard.loaded_at) == (["a"], rig.ports.clock.now_ms())
    assert (rig.partition.waiting, rig.partition.is_lost) == (0, False)
    assert "coordinator append failed (KAFKA_STORAGE_ERROR)" in caplog.text
    rig.schedule("next", note("d"))
    rig.ports.logs.flush()
    assert rig.answers[-1] == "next"
    assert rig.names() == ["a", "d"]
    assert rig.partition.shard.replayed[-1].offset == 1


def test_a_lost_append_is_noticed_once_although_each_of_several_is_notified(rig: Rig) -> None:
    for name in ("a", "b"):
        rig.schedule(name, note(name))
        rig.ports.logs.collect()
    rig.log.lose()
    assert rig.answers == ["a NOT_COORDINATOR", "b NOT_COORDINATOR"]
    assert len(rig.shards) == 2, "one reload"


def test_what_is_notified_of_an_earlier_generation_counts_no_more(rig: Rig) -> None:
    """After a reload, the success of the old first append must not answer the new one."""
    rig.schedule("old", note("a"))
    rig.ports.logs.collect()
    rig.log.refuse = ErrorCode.KAFKA_STORAGE_ERROR
    rig.schedule("refused", note("b"))
    rig.ports.logs.collect()
    rig.log.refuse = ErrorCode.NONE
    assert rig.answers == ["old NOT_COORDINATOR", "refused NOT_COORDINATOR"]
    rig.schedule("new", note("c"))
    rig.ports.logs.collect()
    rig.log.make_durable(1)
    assert len(rig.answers) == 2
    rig.log.make_durable()
    assert rig.answers[2:] == ["new"]


@pytest.mark.parametrize(
    ("of_log", "surfaced"),
    [
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_an_append_that_is_refused_surfaces_as_apache_kafkas_coordinators_do(
    of_log: ErrorCode, surfaced: ErrorCode, rig: Rig
) -> None:
    rig.log.refuse = of_log
    rig.schedule("one", note("a"))
    rig.ports.logs.flush()
    assert rig.answers == [f"one {surfaced.name}"]
    assert coordinator_error(of_log) is surfaced
    assert rig.partition.shard.names == []


def test_an_operation_decided_on_a_state_that_a_refused_append_took_away_is_not_the_coordinators(rig: Rig) -> None:
    """The answer is NOT_COORDINATOR: the append that makes room is refused, so the operation's state is lost."""
    rig.schedule("plain", note("a"))
    rig.log.refuse = ErrorCode.MESSAGE_TOO_LARGE
    rig.schedule("transactional", note("b"), producer=PRODUCER)
    assert rig.answers == ["plain UNKNOWN_SERVER_ERROR", "transactional NOT_COORDINATOR"]
    assert rig.partition.shard.names == []
    rig.log.refuse = ErrorCode.NONE
    assert rig.ports.logs.flush() == 0


def test_a_decided_record_that_cannot_be_replayed_fails_all_that_wait(
    caplog: pytest.LogCaptureFixture, rig: Rig
) -> None:
    rig.schedule("good", note("a"))
    rig.schedule("bad", note("b"), note("bad"))
    assert rig.answers == ["good COORDINATOR_NOT_AVAILABLE", "bad UNKNOWN_SERVER_ERROR"]
    assert rig.partition.shard.names == []
    assert f"{TOPIC}-0: a decided record was not replayed" in caplog.text
    assert rig.ports.logs.flush() == 0


def test_a_log_that_cannot_be_read_is_given_up_until_the_next_start(caplog: pytest.LogCaptureFixture, rig: Rig) -> None:
    rig.schedule("kept", note("a"))
    rig.ports.logs.flush()
    rig.schedule("lost", note("b"))
    rig.ports.logs.collect()
    rig.log.unreadable_with = ErrorCode.KAFKA_STORAGE_ERROR
    rig.log.lose()
    assert (rig.answers[-1], rig.partition.is_lost) == ("lost NOT_COORDINATOR", True)
    assert rig.partition.shard.names == []
    assert "operations are refused until the broker starts again" in caplog.text
    rig.log.unreadable_with = None
    rig.schedule("later", note("c"))
    assert rig.answers[-1] == "later NOT_COORDINATOR"
    assert rig.partition.schedule_waiting(
        lambda _token: CoordinatorResult(None), lambda error: HeartbeatResponse(error_code=error)
    ).value == HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)
    assert (
        rig.partition.end_transaction(TransactionMarker(7, 2, 0, True, 1), rig.log).value is ErrorCode.NOT_COORDINATOR
    )
    assert rig.ports.logs.flush() == 0


def test_what_another_broker_leads_is_refused_and_not_even_read(rig: Rig) -> None:
    rig.log.unreadable_with = OSError("must not be read")
    rig.partition = rig.make(leads=False)
    rig.schedule("one", note("a"))
    assert (rig.answers, rig.partition.is_lost) == (["one NOT_COORDINATOR"], True)
    assert (rig.partition.shard.loaded_at, rig.ports.clock.next_timer_ms()) == (None, None)


def test_an_oserror_at_the_load_costs_the_partition_alone(caplog: pytest.LogCaptureFixture, rig: Rig) -> None:
    rig.schedule("kept", note("a"))
    rig.ports.logs.flush()
    rig.log.unreadable_with = OSError("gone")
    again = rig.make()
    assert again.is_lost
    (line,) = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert "OSError('gone')" in line


def test_who_resigns_refuses_everything_and_ignores_what_becomes_durable(rig: Rig) -> None:
    waiting, _ = rig.park("joins")
    rig.schedule("in flight", note("a"))
    rig.ports.logs.collect()
    rig.schedule("collected", note("b"))
    rig.partition.resign()
    assert rig.answers == ["in flight NOT_COORDINATOR", "collected NOT_COORDINATOR"]
    assert waiting.value.error_code == ErrorCode.NOT_COORDINATOR
    assert (rig.partition.is_lost, rig.partition.waiting) == (True, 0)
    rig.ports.logs.flush()
    assert rig.names() == ["joins", "a"], "what was collected never reaches the log"
    assert len(rig.answers) == 2


def test_close_answers_nothing(rig: Rig) -> None:
    rig.schedule("under way", note("a"))
    rig.partition.close()
    assert rig.answers == []


def test_what_becomes_durable_for_an_earlier_generation_never_answers_a_later_one(rig: Rig) -> None:
    """An old success after two reloads must not answer the first append of the third generation."""
    for name in ("a", "b"):
        rig.schedule(f"old {name}", note(name))
        rig.ports.logs.collect()
        rig.log.refuse = ErrorCode.KAFKA_STORAGE_ERROR
        rig.schedule(f"refused {name}", note("x"))
        rig.ports.logs.collect()
        rig.log.refuse = ErrorCode.NONE
    rig.schedule("new", note("c"))
    rig.ports.logs.collect()
    rig.log.make_durable(2)
    assert "new" not in rig.answers
    rig.log.make_durable()
    assert rig.answers[-1] == "new"


def test_the_load_buffer_is_the_settings_and_the_lines_name_the_partition(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig(CoordinatorLogSettings(load_buffer_bytes=77))
    rig.schedule("kept", note("a"))
    rig.ports.logs.flush()
    asked: list[int] = []
    read = rig.log.read

    def noting(offset: int, max_bytes: int, *, upto: int, min_one_batch: bool = True) -> ReadResult | ErrorCode:
        asked.append(max_bytes)
        return read(offset, max_bytes, upto=upto, min_one_batch=min_one_batch)

    rig.log.read = noting  # type: ignore[method-assign]
    rig.make()
    assert set(asked) == {77}
    rig.log.settings = LogSettings(max_message_bytes=100)
    rig.schedule("large", note("x" * 100))
    rig.schedule("lost", note("a"))
    rig.ports.logs.lose_all()
    rig.log.unreadable_with = ErrorCode.KAFKA_STORAGE_ERROR
    rig.make()
    refused, lost, unreadable = caplog.messages
    assert refused.startswith(f"{TOPIC}-0: an operation is refused: its records do not fit into a batch of 100 bytes")
    assert lost.startswith(f"{TOPIC}-0: coordinator append failed (KAFKA_STORAGE_ERROR); replaying the log, 1 ")
    assert unreadable == (
        f"{TOPIC}-0: reading offset 0 gave KAFKA_STORAGE_ERROR; operations are refused until the broker starts again"
    )


# -- logs that are over


@pytest.mark.parametrize("under_way", [True, False], ids=["under way", "refused"])
def test_a_partition_whose_log_is_over_resigns_and_reads_nothing_again(
    under_way: bool, caplog: pytest.LogCaptureFixture, rig: Rig
) -> None:
    """Another owner has taken over the log, so nothing is loaded."""
    rig.schedule("kept", note("a"))
    rig.ports.logs.flush()
    waiting, _ = rig.park("joins")
    rig.ports.logs.flush()
    rig.schedule("one", note("b"))
    if under_way:
        rig.ports.logs.collect()
        rig.schedule("collected", note("c"))
        rig.log.lose(LOG_IS_OVER)
    else:
        rig.schedule("collected", note("c"))
        rig.log.refuse = LOG_IS_OVER
        rig.ports.logs.collect()
    rig.log.refuse = LOG_IS_OVER
    rig.log.unreadable_with = OSError("must not be read")
    rig.schedule("later", note("d"))
    rig.ports.clock.run_until_idle()
    assert rig.answers == ["kept", *(f"{each} NOT_COORDINATOR" for each in ("one", "collected", "later"))]
    assert waiting.value.error_code == ErrorCode.NOT_COORDINATOR
    assert (rig.partition.is_lost, rig.partition.waiting, len(rig.shards)) == (True, 0, 1)
    assert rig.ports.clock.next_timer_ms() is None
    assert caplog.messages == [f"{TOPIC}-0: the log is over; the partition resigns, 2 operations refused"]
    assert rig.ports.logs.flush() == 0


def test_a_marker_for_a_log_that_is_over_ends_the_partition_too(rig: Rig) -> None:
    rig.log.refuse = LOG_IS_OVER
    ended = rig.partition.end_transaction(TransactionMarker(7, 2, 0, True, 1), rig.log)
    assert (ended.value, rig.partition.is_lost, rig.partition.shard.ended) == (ErrorCode.NOT_COORDINATOR, True, [])


def test_a_log_that_is_over_before_it_is_read_refuses_operations_until_another_load(
    caplog: pytest.LogCaptureFixture, rig: Rig
) -> None:
    rig.schedule("kept", note("a"))
    rig.ports.logs.flush()
    rig.log.unreadable_with = LOG_IS_OVER
    again = rig.make()
    assert again.is_lost
    assert caplog.messages == [
        f"{TOPIC}-0: reading offset 0 gave NOT_COORDINATOR; operations are refused until another load"
    ]
    rig.log.unreadable_with = None
    assert rig.make().shard.names == ["a"]


def test_a_marker_behind_an_append_that_was_refused_waits_for_the_replay() -> None:
    """The discarded shard would take the marker, and the loaded one would never see it."""
    rig = Rig(CoordinatorLogSettings(load_buffer_bytes=1_000))
    rig.schedule("kept", *(note(f"n{at}") for at in range(500)))
    rig.ports.logs.flush()
    rig.schedule("commit", note("c"), producer=PRODUCER)
    rig.ports.logs.flush()
    rig.schedule("refused", note("d"), producer=PRODUCER)
    append = rig.log.append
    refusals = iter((ErrorCode.KAFKA_STORAGE_ERROR,))
    rig.log.append = lambda *args, **named: next(refusals, None) or append(*args, **named)  # type: ignore[method-assign]
    ended = rig.partition.end_transaction(TransactionMarker(*PRODUCER, 0, True, 1), rig.log)
    rig.ports.clock.run_until_idle()
    rig.ports.logs.flush()
    assert ended.value is ErrorCode.NONE
    assert rig.partition.shard is rig.shards[1]
    assert rig.partition.shard.ended == [(PRODUCER.producer_id, True)]
