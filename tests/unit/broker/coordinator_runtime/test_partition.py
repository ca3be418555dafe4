"""One partition of a coordinator: answers follow durability, in order; and the operations that share a batch."""

from __future__ import annotations

import pytest

from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.log.markers import TransactionMarker
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.shard import CoordinatorResult, RecordsTooLarge
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import read_header
from shareq.protocol.records.compression import Compression
from tests.support.fakes.coordinator_partition import PRODUCER, Rig
from tests.support.fakes.note_shard import NOTE_SERDE, Replayed, note

# -- durability and order


def test_operations_of_one_tick_share_a_batch_and_are_answered_in_order_when_it_is_durable(rig: Rig) -> None:
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


def test_an_operation_without_records_waits_for_what_it_has_seen(rig: Rig) -> None:
    """A read is answered only when a crash can no longer undo the state that it read."""
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


def test_the_next_tick_asks_for_a_flush_again(rig: Rig) -> None:
    for name in ("a", "b"):
        rig.schedule(name, note(name))
        assert rig.ports.logs.flush() == 1
    assert rig.answers == ["a", "b"]


def test_a_tick_whose_records_went_before_the_flush_appends_nothing_more(rig: Rig) -> None:
    rig.schedule("one", note("a"))
    rig.partition.end_transaction(TransactionMarker(7, 2, 0, True, 1), rig.log)
    assert rig.log.queued == 2
    rig.ports.logs.collect()
    assert rig.log.queued == 2


def test_an_operation_that_raises_changes_nothing(rig: Rig) -> None:

    def fault() -> CoordinatorResult[str]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rig.partition.schedule(fault, lambda error: error.name)
    assert rig.partition.waiting == 0
    assert rig.ports.logs.flush() == 0


# -- what goes into one batch


def test_records_of_a_transaction_have_a_batch_of_their_own(rig: Rig) -> None:
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
    return [read_header(each).records_count for each in rig.log.appends]


def test_operations_share_a_batch_as_long_as_it_takes_them(rig: Rig) -> None:
    rig.log.settings = LogSettings(max_message_bytes=300)
    record = note("x" * 10)
    size = len(b"".join(filter(None, NOTE_SERDE.encode(record)))) + 32
    fit = (300 - 61) // size
    for number in range(fit + 1):
        rig.schedule(str(number), record)
    rig.ports.logs.flush()
    assert sizes(rig) == [fit, 1]
    assert rig.answers == [str(number) for number in range(fit + 1)]


def test_the_size_of_what_is_collected_is_forgotten_with_each_batch(rig: Rig) -> None:
    rig.log.settings = LogSettings(max_message_bytes=300)
    record = note("x" * 10)
    for _ in range(6):
        rig.schedule("", record)
        rig.ports.logs.flush()
    rig.schedule("", record)
    rig.schedule("", record)
    rig.ports.logs.flush()
    assert sizes(rig) == [1] * 6 + [2]


def test_an_operation_that_need_not_be_atomic_is_spread_over_batches(rig: Rig) -> None:
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


def test_an_atomic_operation_that_fits_no_batch_fails_alone(caplog: pytest.LogCaptureFixture, rig: Rig) -> None:
    rig.log.settings = LogSettings(max_message_bytes=300)
    rig.schedule("before", note("a"))
    rig.schedule("large", *(note(f"{n:010}") for n in range(10)))
    assert rig.answers == ["large UNKNOWN_SERVER_ERROR"]
    assert rig.partition.shard.names == ["a"]
    rig.ports.logs.flush()
    assert rig.answers == ["large UNKNOWN_SERVER_ERROR", "before"]
    assert "do not fit into a batch of 300 bytes" in caplog.text


def test_an_operation_that_knows_it_is_too_large_fails_alone(rig: Rig) -> None:

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


def test_a_batch_takes_what_fits_exactly(rig: Rig) -> None:
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


def test_a_large_operation_over_many_batches_is_replayed_once_and_in_order(rig: Rig) -> None:
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
