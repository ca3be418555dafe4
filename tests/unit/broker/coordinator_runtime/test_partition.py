"""One partition of a coordinator: answers follow durability, in order; what fails takes back what it has shown."""

from __future__ import annotations

import logging

import pytest

from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.partition import CoordinatorPartition, ProducerEpoch, coordinator_error
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.markers import TransactionMarker
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult, LateAnswer, RecordsTooLarge
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatResponse
from shareq.protocol.records.batch import read_header
from shareq.protocol.records.compression import Compression
from tests.support.fakes.host import FakeHost
from tests.support.fakes.note_shard import NOTE_SERDE, NoteShard, Replayed, note, result

TOPIC = "__consumer_offsets"
PRODUCER = ProducerEpoch(7, 2)


class Rig:
    """A partition with its log, and the answers in the order in which they came."""

    def __init__(self, settings: CoordinatorLogSettings | None = None, *, leads: bool = True) -> None:
        self.ports = FakeHost(**{TOPIC: 1})
        self.log = self.ports.logs.get(TOPIC, 0)
        self.shards: list[NoteShard] = []
        self.answers: list[str] = []
        self.settings = settings or CoordinatorLogSettings()
        self.partition = self.make(leads=leads)

    def make(self, *, leads: bool = True) -> CoordinatorPartition[NoteShard]:
        def new_shard() -> NoteShard:
            self.shards.append(NoteShard())
            return self.shards[-1]

        ports = self.ports
        return CoordinatorPartition(ports.env, ports.logs, self.log, new_shard, NOTE_SERDE, self.settings, leads=leads)

    def schedule(
        self, response: str, *records: CoordinatorRecord, producer: ProducerEpoch | None = None, atomic: bool = True
    ) -> Pending[str]:
        pending = self.partition.schedule(
            lambda: result(response, *records, atomic=atomic),
            lambda error: f"{response} {error.name}",
            producer=producer,
        )
        pending.on_complete(self.answers.append)
        return pending

    def park(self, name: str) -> tuple[Pending[HeartbeatResponse], int]:
        """A request that waits, and its token."""
        tokens: list[int] = []

        def operation(token: int) -> CoordinatorResult[None]:
            tokens.append(token)
            return CoordinatorResult(None, (note(name),))

        pending = self.partition.schedule_waiting(operation, lambda error: HeartbeatResponse(error_code=error))
        return pending, tokens[0]

    def names(self) -> list[str]:
        """Of the records in the log."""
        shard = NoteShard()
        for record in self.log.records():
            assert record.key is not None
            decoded = NOTE_SERDE.decode(record.key, record.value)
            assert decoded is not None
            shard.replay(decoded, record.offset)
        return shard.names


# -- durability and order


def test_operations_of_one_tick_share_a_batch_and_are_answered_in_order_when_it_is_durable() -> None:
    rig = Rig()
    rig.schedule("one", note("a", 1))
    rig.schedule("two", note("b", 2), note("c", 3))
    assert rig.partition.shard.replayed == [Replayed("a", 1, 0), Replayed("b", 2, 1), Replayed("c", 3, 2)]
    assert (rig.log.queued, rig.answers, rig.partition.waiting) == (0, [], 2)
    rig.ports.logs.collect()
    assert (rig.log.queued, rig.answers, rig.partition.waiting) == (1, [], 2)
    rig.log.make_durable()
    assert (rig.answers, rig.partition.waiting, rig.names()) == (["one", "two"], 0, ["a", "b", "c"])


def test_a_batch_is_plain_has_the_wall_time_and_the_codec_of_the_settings() -> None:
    rig = Rig(CoordinatorLogSettings(Compression.GZIP))
    rig.ports.clock.step_wall(5_000)
    rig.schedule("one", note("a"))
    rig.ports.logs.flush()
    header = read_header(rig.log.appends[0])
    assert (header.compression, header.max_timestamp, header.producer_id, header.base_sequence) == (
        Compression.GZIP,
        rig.ports.clock.wall_ms(),
        -1,
        -1,
    )
    assert not header.is_transactional


def test_an_operation_without_records_waits_for_what_it_has_seen() -> None:
    """Nobody sees what a crash could take back."""
    rig = Rig()
    rig.schedule("first")
    assert rig.answers == ["first"]
    rig.schedule("one", note("a"))
    rig.schedule("read collected")
    rig.ports.logs.collect()
    rig.schedule("read in flight")
    rig.schedule("two", note("b"))
    rig.ports.logs.collect()
    rig.schedule("read both")
    assert (rig.answers, rig.partition.waiting) == (["first"], 5)
    rig.log.make_durable(1)
    assert rig.answers == ["first", "one", "read collected", "read in flight"]
    rig.log.make_durable(1)
    assert rig.answers[4:] == ["two", "read both"]


def test_the_next_tick_asks_for_a_flush_again() -> None:
    rig = Rig()
    for name in ("a", "b"):
        rig.schedule(name, note(name))
        assert rig.ports.logs.flush() == 1
    assert rig.answers == ["a", "b"]


def test_a_tick_whose_records_went_before_the_flush_appends_nothing_more() -> None:
    rig = Rig()
    rig.schedule("one", note("a"))
    rig.partition.end_transaction(TransactionMarker(7, 2, 0, True, 1))
    assert rig.log.queued == 2
    rig.ports.logs.collect()
    assert rig.log.queued == 2


def test_an_operation_that_raises_changes_nothing() -> None:
    rig = Rig()

    def fault() -> CoordinatorResult[str]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rig.partition.schedule(fault, lambda error: error.name)
    assert rig.partition.waiting == 0
    assert rig.ports.logs.flush() == 0


# -- what goes into one batch


def test_records_of_a_transaction_have_a_batch_of_their_own() -> None:
    rig = Rig()
    rig.schedule("plain", note("a"))
    rig.schedule("in transaction", note("b"), producer=PRODUCER)
    rig.schedule("same transaction", note("c"), producer=PRODUCER)
    rig.schedule("other epoch", note("d"), producer=ProducerEpoch(7, 3))
    rig.schedule("plain again", note("e"))
    assert rig.partition.shard.replayed == [
        Replayed("a", 0, 0),
        Replayed("b", 0, 1, 7),
        Replayed("c", 0, 2, 7),
        Replayed("d", 0, 3, 7),
        Replayed("e", 0, 4),
    ]
    rig.ports.logs.flush()
    headers = [read_header(each) for each in rig.log.appends]
    assert [(each.producer_id, each.producer_epoch, each.base_sequence, each.records_count) for each in headers] == [
        (-1, -1, -1, 1),
        (7, 2, 0, 2),
        (7, 3, 0, 1),
        (-1, -1, -1, 1),
    ]
    assert [each.is_transactional for each in headers] == [False, True, True, False]
    assert rig.answers == ["plain", "in transaction", "same transaction", "other epoch", "plain again"]


def sizes(rig: Rig) -> list[int]:
    """Records of each batch."""
    return [read_header(each).records_count for each in rig.log.appends]


def test_operations_share_a_batch_as_long_as_it_takes_them() -> None:
    rig = Rig()
    rig.log.settings = LogSettings(max_message_bytes=300)
    record = note("x" * 10)
    size = len(b"".join(filter(None, NOTE_SERDE.encode(record)))) + 32
    fit = (300 - 61) // size
    for number in range(fit + 1):
        rig.schedule(str(number), record)
    rig.ports.logs.flush()
    assert sizes(rig) == [fit, 1]
    assert rig.answers == [str(number) for number in range(fit + 1)]


def test_the_size_of_what_is_collected_is_forgotten_with_each_batch() -> None:
    rig = Rig()
    rig.log.settings = LogSettings(max_message_bytes=300)
    record = note("x" * 10)
    for _ in range(6):
        rig.schedule("", record)
        rig.ports.logs.flush()
    rig.schedule("", record)
    rig.schedule("", record)
    rig.ports.logs.flush()
    assert sizes(rig) == [1] * 6 + [2]


def test_an_operation_that_need_not_be_atomic_is_spread_over_batches() -> None:
    rig = Rig()
    rig.log.settings = LogSettings(max_message_bytes=300)
    records = [note(f"{n:010}") for n in range(10)]
    rig.schedule("spread", *records, atomic=False)
    rig.schedule("after", note("last"))
    rig.ports.logs.collect()
    assert rig.log.queued > 1
    rig.log.make_durable(rig.log.queued - 1)
    assert rig.answers == []
    rig.log.make_durable()
    assert rig.answers == ["spread", "after"]
    assert rig.names() == [f"{n:010}" for n in range(10)] + ["last"]
    assert [each.offset for each in rig.partition.shard.replayed] == list(range(11))


def test_an_atomic_operation_that_fits_no_batch_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.log.settings = LogSettings(max_message_bytes=300)
    rig.schedule("before", note("a"))
    rig.schedule("large", *(note(f"{n:010}") for n in range(10)))
    assert rig.answers == ["large UNKNOWN_SERVER_ERROR"]
    assert rig.partition.shard.names == ["a"]
    rig.ports.logs.flush()
    assert rig.answers == ["large UNKNOWN_SERVER_ERROR", "before"]
    assert "do not fit into a batch of 300 bytes" in caplog.text


def test_an_operation_that_knows_it_is_too_large_fails_alone() -> None:
    rig = Rig()

    def operation() -> CoordinatorResult[str]:
        raise RecordsTooLarge

    assert rig.partition.schedule(operation, lambda error: error.name).value == "UNKNOWN_SERVER_ERROR"
    assert rig.partition.waiting == 0


def test_the_least_batch_size_of_the_settings_holds_whatever_the_topic_says() -> None:
    rig = Rig(CoordinatorLogSettings(least_max_batch_bytes=10_000))
    rig.log.settings = LogSettings(max_message_bytes=300)
    rig.schedule("large", *(note(f"{n:010}") for n in range(10)))
    rig.ports.logs.flush()
    assert (rig.answers, sizes(rig)) == (["large"], [10])


# -- failures


def test_an_append_that_is_lost_fails_all_that_wait_and_takes_back_what_they_did(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig()
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


def test_a_lost_append_is_noticed_once_although_each_of_several_is_notified() -> None:
    rig = Rig()
    for name in ("a", "b"):
        rig.schedule(name, note(name))
        rig.ports.logs.collect()
    rig.log.lose()
    assert rig.answers == ["a NOT_COORDINATOR", "b NOT_COORDINATOR"]
    assert len(rig.shards) == 2, "one reload"


def test_what_is_notified_of_an_earlier_generation_counts_no_more() -> None:
    """The second append comes after the reload; the success of the first must not answer it."""
    rig = Rig()
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
    of_log: ErrorCode, surfaced: ErrorCode
) -> None:
    rig = Rig()
    rig.log.refuse = of_log
    rig.schedule("one", note("a"))
    rig.ports.logs.flush()
    assert rig.answers == [f"one {surfaced.name}"]
    assert coordinator_error(of_log) is surfaced
    assert rig.partition.shard.names == []


def test_an_operation_decided_on_a_state_that_a_refused_append_took_away_is_not_the_coordinators() -> None:
    """It makes room for its records, and that append is refused: its decision rests on what is gone."""
    rig = Rig()
    rig.schedule("plain", note("a"))
    rig.log.refuse = ErrorCode.MESSAGE_TOO_LARGE
    rig.schedule("transactional", note("b"), producer=PRODUCER)
    assert rig.answers == ["plain UNKNOWN_SERVER_ERROR", "transactional NOT_COORDINATOR"]
    assert rig.partition.shard.names == []
    rig.log.refuse = ErrorCode.NONE
    assert rig.ports.logs.flush() == 0


def test_a_decided_record_that_cannot_be_replayed_fails_all_that_wait(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.schedule("good", note("a"))
    rig.schedule("bad", note("b"), note("bad"))
    assert rig.answers == ["good COORDINATOR_NOT_AVAILABLE", "bad UNKNOWN_SERVER_ERROR"]
    assert rig.partition.shard.names == []
    assert f"{TOPIC}-0: a decided record was not replayed" in caplog.text
    assert rig.ports.logs.flush() == 0


def test_a_log_that_cannot_be_read_is_given_up_until_the_next_start(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
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
    assert rig.partition.end_transaction(TransactionMarker(7, 2, 0, True, 1)).value is ErrorCode.NOT_COORDINATOR
    assert rig.ports.logs.flush() == 0


def test_what_another_broker_leads_is_refused_and_not_even_read() -> None:
    rig = Rig()
    rig.log.unreadable_with = OSError("must not be read")
    rig.partition = rig.make(leads=False)
    rig.schedule("one", note("a"))
    assert (rig.answers, rig.partition.is_lost) == (["one NOT_COORDINATOR"], True)
    assert (rig.partition.shard.loaded_at, rig.ports.clock.next_timer_ms()) == (None, None)


def test_an_oserror_at_the_load_costs_the_partition_alone(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.schedule("kept", note("a"))
    rig.ports.logs.flush()
    rig.log.unreadable_with = OSError("gone")
    again = rig.make()
    assert again.is_lost
    (line,) = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert "OSError('gone')" in line


# -- requests that wait


def test_a_late_answer_comes_when_its_operation_is_durable() -> None:
    rig = Rig()
    waiting, token = rig.park("joins")
    rig.ports.logs.flush()
    assert not waiting.done
    answer = HeartbeatResponse(5)
    rig.partition.schedule(
        lambda: result("done", note("all here"), answers=[LateAnswer(token, answer)]), lambda error: error.name
    )
    assert not waiting.done
    rig.ports.logs.flush()
    assert waiting.value is answer


def test_each_request_that_waits_has_a_token_of_its_own_and_is_answered_once() -> None:
    rig = Rig()
    (one, first), (two, second) = rig.park("1"), rig.park("2")
    assert (first, second) == (1, 2)
    late = [
        LateAnswer(first, HeartbeatResponse(1)),
        LateAnswer(first, HeartbeatResponse(2)),
        LateAnswer(99, HeartbeatResponse(3)),
    ]
    rig.partition.schedule(lambda: result("done", answers=late), lambda error: error.name)
    rig.ports.logs.flush()
    assert one.value.throttle_time_ms == 1
    assert not two.done


def test_a_late_answer_whose_append_fails_is_an_error() -> None:
    rig = Rig()
    waiting, token = rig.park("joins")
    other, _ = rig.park("joins, too")
    rig.ports.logs.flush()
    rig.log.refuse = ErrorCode.NOT_ENOUGH_REPLICAS
    rig.partition.schedule(
        lambda: result("", note("x"), answers=[LateAnswer(token, HeartbeatResponse())]), lambda error: error.name
    )
    rig.ports.logs.flush()
    assert waiting.value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert other.value.error_code == ErrorCode.NOT_COORDINATOR, "its shard was thrown away"


def test_a_request_whose_own_records_are_lost_is_refused() -> None:
    rig = Rig()
    waiting, _ = rig.park("joins")
    rig.ports.logs.lose_all()
    assert waiting.value.error_code == ErrorCode.NOT_COORDINATOR


def test_an_operation_that_raises_leaves_no_request_behind() -> None:
    rig = Rig()

    def fault(_token: int) -> CoordinatorResult[None]:
        raise ZeroDivisionError

    completed: list[ErrorCode] = []

    def failed(error: ErrorCode) -> HeartbeatResponse:
        completed.append(error)
        return HeartbeatResponse()

    with pytest.raises(ZeroDivisionError):
        rig.partition.schedule_waiting(fault, failed)
    rig.partition.refuse_parked()
    assert completed == []


def test_a_stop_refuses_what_waits_and_nothing_else() -> None:
    rig = Rig()
    waiting, token = rig.park("joins")
    pending = rig.schedule("under way", note("a"))
    rig.partition.refuse_parked()
    assert waiting.value.error_code == ErrorCode.NOT_COORDINATOR
    assert not pending.done
    late = [LateAnswer(token, HeartbeatResponse())]
    rig.partition.schedule(lambda: result("", answers=late), lambda error: error.name)
    rig.ports.logs.flush()
    assert rig.answers == ["under way"]


def test_who_resigns_refuses_everything_and_ignores_what_becomes_durable() -> None:
    rig = Rig()
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


# -- markers


def marker(*, commit: bool = True, epoch: int = 2, version: int = 1) -> TransactionMarker:
    return TransactionMarker(7, epoch, 0, commit, version)


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_follows_what_was_collected_and_is_answered_when_durable(commit: bool) -> None:
    rig = Rig()
    rig.schedule("offsets", note("a"), producer=PRODUCER)
    ended = rig.partition.end_transaction(marker(commit=commit))
    assert rig.partition.shard.ended == [(7, commit)]
    rig.schedule("behind")
    assert rig.partition.waiting == 3
    rig.log.make_durable(1)
    assert (rig.answers, ended.done) == (["offsets"], False)
    rig.log.make_durable(1)
    assert (rig.answers, ended.value) == (["offsets", "behind"], ErrorCode.NONE)
    assert [read_header(each).is_control for each in rig.log.appends] == [False, True]


def test_a_marker_that_is_refused_ends_nothing() -> None:
    rig = Rig()
    rig.schedule("offsets", note("a"), producer=PRODUCER)
    ended = rig.partition.end_transaction(marker(version=2))
    assert ended.value is ErrorCode.INVALID_PRODUCER_EPOCH, "KIP-890: the transaction of that epoch is a newer one"
    assert rig.partition.shard.ended == []
    rig.ports.logs.flush()
    assert (rig.answers, rig.partition.waiting) == (["offsets"], 0)


def test_a_marker_that_is_lost_is_told_so() -> None:
    rig = Rig()
    ended = rig.partition.end_transaction(marker())
    rig.log.lose()
    assert ended.value is ErrorCode.NOT_COORDINATOR
    assert rig.partition.shard.ended == []


# -- time


def test_the_timer_calls_at_the_deadline_and_its_records_are_written() -> None:
    rig = Rig()
    rig.partition.shard.deadline = rig.ports.clock.now_ms() + 100
    rig.schedule("arms")
    rig.partition.shard.due = (note("expired"),)
    rig.ports.clock.advance(99)
    assert rig.partition.shard.deadlines_seen == []
    rig.ports.clock.advance(1)
    assert rig.partition.shard.deadlines_seen == [1_100]
    rig.ports.logs.flush()
    assert rig.names() == ["expired"]
    assert rig.ports.clock.next_timer_ms() is None


def test_a_deadline_that_moved_on_is_looked_at_again() -> None:
    rig = Rig()
    shard = rig.partition.shard
    shard.deadline = 1_100
    rig.schedule("arms")
    shard.deadline = 1_300
    rig.schedule("moves on")
    assert rig.ports.clock.next_timer_ms() == 1_100
    rig.ports.clock.advance(200)
    assert (shard.deadlines_seen, rig.ports.clock.next_timer_ms()) == ([], 1_300)
    rig.ports.clock.advance(100)
    assert shard.deadlines_seen == [1_300]


def test_an_earlier_deadline_replaces_the_timer() -> None:
    rig = Rig()
    shard = rig.partition.shard
    for deadline in (1_300, 1_100):
        shard.deadline = deadline
        rig.schedule("arms")
    rig.ports.clock.advance(100)
    assert shard.deadlines_seen == [1_100]
    shard.deadline = 1_500
    rig.schedule("arms")
    shard.deadline = None
    rig.schedule("disarms")
    assert rig.ports.clock.next_timer_ms() is None
    shard.deadline = 1_500
    rig.schedule("arms again")
    rig.ports.clock.advance(500)
    assert shard.deadlines_seen == [1_100, 1_500]


def test_a_new_partition_and_a_reloaded_one_have_their_timers() -> None:
    rig = Rig()
    made: list[NoteShard] = []

    def with_deadline() -> NoteShard:
        made.append(NoteShard())
        made[-1].deadline = rig.ports.clock.now_ms() + 50
        return made[-1]

    ports = rig.ports
    partition = CoordinatorPartition(ports.env, ports.logs, rig.log, with_deadline, NOTE_SERDE, rig.settings)
    assert ports.clock.next_timer_ms() == 1_050
    ports.clock.advance(20)
    partition.schedule(lambda: result("x", note("bad")), lambda error: error.name)
    ports.clock.advance(100)
    assert [shard.deadlines_seen for shard in made] == [[], [1_070]]


@pytest.mark.parametrize("end", ["resign", "close"])
def test_there_is_no_timer_behind_the_end(end: str) -> None:
    rig = Rig()
    rig.partition.shard.deadline = 1_100
    rig.schedule("arms")
    (rig.partition.resign if end == "resign" else rig.partition.close)()
    rig.ports.clock.advance(1_000)
    assert rig.partition.shard.deadlines_seen == []


def test_close_answers_nothing() -> None:
    rig = Rig()
    rig.schedule("under way", note("a"))
    rig.partition.close()
    assert rig.answers == []


def test_what_becomes_durable_for_an_earlier_generation_never_answers_a_later_one() -> None:
    """Two reloads: an old success must not be taken for the first append of the third generation."""
    rig = Rig()
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


def test_a_batch_takes_what_fits_exactly() -> None:
    rig = Rig()
    record = note("x" * 10)
    size = len(b"".join(filter(None, NOTE_SERDE.encode(record)))) + 32
    rig.log.settings = LogSettings(max_message_bytes=61 + 3 * size)
    for number in range(4):
        rig.schedule(str(number), record)
    rig.ports.logs.flush()
    assert sizes(rig) == [3, 1]
    for number in range(3):
        rig.schedule(str(number), record)
    rig.log.refuse = ErrorCode.KAFKA_STORAGE_ERROR
    rig.ports.logs.flush()
    rig.log.refuse = ErrorCode.NONE
    for number in range(3):
        rig.schedule(str(number), record)
    rig.ports.logs.flush()
    assert sizes(rig) == [3, 1, 3], "the size of what was thrown away is forgotten, too"


def test_a_large_operation_over_many_batches_is_replayed_once_and_in_order() -> None:
    rig = Rig()
    rig.log.settings = LogSettings(max_message_bytes=200)
    names = [f"{n:010}" for n in range(12)]
    rig.schedule("spread", *(note(name) for name in names), atomic=False)
    rig.ports.logs.flush()
    assert len(rig.log.appends) >= 4
    assert (rig.partition.shard.names, rig.names()) == (names, names)


def test_records_of_a_transaction_have_the_codec_of_the_settings() -> None:
    rig = Rig(CoordinatorLogSettings(Compression.GZIP))
    rig.schedule("in transaction", note("b"), producer=PRODUCER)
    rig.ports.logs.flush()
    assert read_header(rig.log.appends[0]).compression == Compression.GZIP


def test_a_request_whose_operation_is_too_large_is_refused() -> None:
    rig = Rig()

    def operation(_token: int) -> CoordinatorResult[None]:
        raise RecordsTooLarge

    pending = rig.partition.schedule_waiting(operation, lambda error: HeartbeatResponse(error_code=error))
    assert pending.value.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


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


def test_a_timer_whose_records_are_lost_harms_nobody() -> None:
    rig = Rig()
    rig.partition.shard.deadline = 1_100
    rig.partition.shard.due = (note("expired"),)
    rig.schedule("arms")
    rig.ports.clock.advance(100)
    rig.ports.logs.lose_all()
    rig.schedule("next", note("a"))
    rig.ports.logs.flush()
    assert (rig.answers, rig.names()) == (["arms", "next"], ["a"])
