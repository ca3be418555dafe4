"""Pages of a queue, dead records, and records already sent back, on logs that a test fills."""

from __future__ import annotations

from random import Random
from typing import cast

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.environment import Environment, Fs
from shareq.broker.foundation.turn_budget import LOOK, TURN_ELEMENTS
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.redrive.ports import RedriveLog, RedriveWorld
from shareq.broker.redrive.progress import What
from shareq.broker.redrive.reading import PAGE_BYTES, DeadRecords, Page, read_page, sent_back
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import Compression, RecordData, read_header
from tests.support.coroutines import begun
from tests.support.fakes.letter_logs import FakeLog, batch_at, letter_at, letters, log_of
from tests.support.worlds.redrives import letter


def test_a_page_begins_and_ends_within_batches() -> None:
    log = FakeLog(batch_at(0, *letters(0, 1, 2)), batch_at(3, *letters(3, 4, 5)))
    page = read_page(log_of(log), 1, 5)
    assert isinstance(page, Page)
    assert ([record.offset for record in page.records], page.upto, page.counts) == ([1, 2, 3, 4], 5, {})


def test_a_page_ends_with_the_batches_that_were_read() -> None:
    log = FakeLog(batch_at(0, *letters(0, 1, 2)), batch_at(3, *[letter(bytes(PAGE_BYTES), 3)]))
    page = read_page(log_of(log), 0, 9)
    assert isinstance(page, Page)
    assert ([record.offset for record in page.records], page.upto) == ([0, 1, 2], 3)


def test_what_was_removed_is_passed_over() -> None:
    log = FakeLog(batch_at(5, *letters(5, 6)), start=5)
    assert read_page(log_of(log), 2, 7) == ([], 5, {What.UNREADABLE: 3})
    assert read_page(log_of(log), 2, 4) == ([], 4, {What.UNREADABLE: 2})


@pytest.mark.parametrize(("first", "end", "upto"), [(3, 9, 6), (4, 9, 6), (3, 5, 5)])
def test_what_is_damaged_is_passed_over(first: int, end: int, upto: int) -> None:
    batches = [batch_at(base, *letters(base, base + 1, base + 2)) for base in (0, 3, 6)]
    log = FakeLog(*batches, damaged=(3, 6))
    assert read_page(log_of(log), first, end) == ([], upto, {What.UNREADABLE: upto - first})


def test_a_range_that_ends_before_it_passes_over_one_offset() -> None:
    log = FakeLog(batch_at(0, *letters(0)), damaged=(0, 2))
    log.error = ErrorCode.CORRUPT_MESSAGE
    assert read_page(log_of(log), 4, 9) == ([], 5, {What.UNREADABLE: 1})


def test_where_a_cleaner_has_left_nothing_the_page_is_empty() -> None:
    assert read_page(log_of(FakeLog()), 0, 4) == ([], 4, {})


def test_other_errors_are_for_later() -> None:
    log = FakeLog(batch_at(0, *letters(0)))
    for error in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.CORRUPT_MESSAGE):
        log.error = error
        assert read_page(log_of(log), 0, 1) is error


def test_a_batch_that_is_too_large_when_it_is_opened_is_not_opened() -> None:
    bomb = batch_at(0, *[letter(bytes(1 << 20), 0)] * 9, compression=Compression.GZIP)
    assert len(bomb) < 100_000
    page = read_page(log_of(FakeLog(bomb, batch_at(9, *letters(9)))), 0, 10)
    assert isinstance(page, Page)
    assert ([record.offset for record in page.records], page.counts) == ([9], {What.UNREADABLE: 9})


class OneLog:
    def __init__(self, log: FakeLog) -> None:
        self._log = log

    def log(self, topic: str, partition: int) -> RedriveLog | ErrorCode:
        known = (topic, partition) == ("t", 0)
        return log_of(self._log) if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_dead_records_of_one_batch_are_read_once() -> None:
    fake = FakeLog(batch_at(0, *letters(0, 1, 2)), batch_at(3, *letters(3)))
    dead = DeadRecords(cast(RedriveWorld, OneLog(fake)))
    found = [dead.find(letter_at(offset, None, key=None)) for offset in (0, 2, 1)]
    assert [record and not isinstance(record, BeingRead) and record.value for record in found] == [b"0", b"2", b"1"]
    assert (dead.reads, fake.reads) == (1, 1)
    assert dead.find(letter_at(3, b"3")) is not None
    assert dead.find(letter_at(3, b"another")) is None
    assert dead.find(letter_at(9, None, key=None)) is None
    assert dead.find(letter_at(0, None, key=None, topic="deleted")) is None
    assert dead.reads == 2, "nothing is read where nothing can be"
    dead.find(letter_at(0, b"0"))
    assert dead.reads == 3
    fake.log_start_offset = 1
    assert dead.find(letter_at(0, None, key=None)) is None, "it was deleted, and what was read of it does not count"


def test_a_dead_record_in_a_batch_that_is_too_large_when_it_is_opened_is_not_found() -> None:
    bomb = batch_at(0, *[letter(bytes(1 << 20), 0)] * 5, compression=Compression.GZIP)
    dead = DeadRecords(cast(RedriveWorld, OneLog(FakeLog(bomb, batch_at(5, *letters(5))))))
    assert dead.find(letter_at(2, None, key=None)) is None
    assert dead.find(letter_at(4, None, key=None)) is None
    assert dead.reads == 1, "it is not tried again for the next one"
    assert dead.find(letter_at(5, None, key=None)) is not None


def redriven_record(partition: int, offset: int) -> RecordData:
    headers = (("__redrive.queue.partition", b"%d" % partition), ("__redrive.queue.offset", b"%d" % offset))
    return RecordData(b"k", b"v", headers)


def search(log: FakeLog, first: int = 0) -> tuple[set[int], int]:
    """Return the offsets of partition 0 that redrive 7 has sent back, and the number of pauses of the search."""
    clock, pauses = VirtualClock(), 0
    env = Environment(clock, Random(1), cast(Fs, None))
    found = begun(env, sent_back(log_of(log), 7, first, 0, env.budget.breathe))
    while not found.done:
        assert clock.run_tick()
        pauses += 1
    return found.value, pauses


def test_only_batches_of_the_redrive_from_there_on_count() -> None:
    log = FakeLog(
        batch_at(0, redriven_record(0, 1), producer_id=7),
        batch_at(1, redriven_record(0, 2), redriven_record(1, 9), producer_id=7),
        batch_at(3, redriven_record(0, 3), producer_id=8),
        batch_at(4, redriven_record(0, 4)),
        batch_at(5, RecordData(b"k", b"v"), redriven_record(0, 5), producer_id=7),
    )
    for first, expected in ((0, {1, 2, 5}), (1, {2, 5}), (2, {2, 5}), (3, {5}), (7, set())):
        assert search(log, first) == (expected, 0)


def test_a_long_log_is_searched_in_turns() -> None:
    log = FakeLog(*(batch_at(number, redriven_record(0, number), producer_id=7) for number in range(250)))
    found, pauses = search(log)
    assert found == set(range(250))
    assert pauses >= 250 * LOOK // TURN_ELEMENTS


def test_a_log_of_others_is_searched_in_turns() -> None:
    log = FakeLog(*(batch_at(number, redriven_record(0, number), producer_id=8) for number in range(250)))
    found, pauses = search(log)
    assert found == set()
    assert pauses > 10


@pytest.mark.parametrize("shorter", [False, True])
def test_what_cannot_be_read_or_is_not_durable_is_no_answer(shorter: bool) -> None:
    log = FakeLog(batch_at(0, redriven_record(0, 0), producer_id=7))
    if shorter:
        log.high_watermark = 0
        log.batches = ()
        log.next_header = lambda offset: read_header(batch_at(0, redriven_record(0, 0), producer_id=7))  # type: ignore[method-assign]
    else:
        log.error = ErrorCode.KAFKA_STORAGE_ERROR
    with pytest.raises(OSError, match=r"^offset 0 (cannot be read: KAFKA_STORAGE_ERROR|is not durable yet)$"):
        search(log)
