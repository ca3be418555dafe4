"""The dead letters of one batch, and the records read for them: limits by number, size and unreadable records."""

from __future__ import annotations

import pytest

from shareq.broker.share.core.effects import Cause, DeadLetter
from shareq.broker.share.dlq.letter_batches import MOST_RECORDS, Lane, Round
from shareq.broker.share.dlq.letters import letter_bytes
from shareq.broker.share.dlq.rules import QueueTopic
from shareq.broker.share.dlq.source import Reading, read_dead, readable_from
from shareq.broker.share.leader import MOST_REASONS
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import DLQ_SHAREQ_ERROR, DLQ_TOPIC
from shareq.protocol.records.batch import Compression, RecordData, build_batch, decode_records
from tests.support.fakes.memory_log import MemorySource
from tests.support.fakes.share_rig import ShareRig
from tests.support.kafka.raw_batches import raw_batch, raw_headers, raw_record

BORN_MS, NOW_MS = 1_000, 9_000
ROOM = 1 << 20


class Burials:
    """A lane whose share partition has these ranges of dead records (first and last offset)."""

    def __init__(self, *ranges: tuple[int, int]) -> None:
        self.rig = ShareRig()
        self.source = self.rig.source()
        self.lane = Lane(self.rig.leader())
        self.done: list[tuple[int, int]] = []
        letters = [DeadLetter(first, last, 1, Cause.DELIVERY_COUNT_EXCEEDED) for first, last in ranges]
        self.lane.add(letters, lambda first, last: self.done.append((first, last)))

    def next_round(self, *, keeps: bool = False, copies: bool = True, room: int = ROOM) -> Round:
        settings = ShareGroupSettings(copy_dead_records=copies, keep_dead_records=keeps)
        return self.lane.next_round(settings, QueueTopic("dlq.t", 1, True, room), NOW_MS)


def parts_of(made: Round) -> list[tuple[int, int, int]]:
    """Return, for each part, its end (exclusive), the refused letters, and the letters without content."""
    return [(part.upto, part.refused, part.bare) for part in made.parts]


def values_of(made: Round) -> list[bytes | None]:
    return [record.value for record in made.records]


# -- how many


def test_a_batch_has_so_many_letters_and_no_more() -> None:
    burials = Burials((0, MOST_RECORDS), (MOST_RECORDS + 1, MOST_RECORDS + 1))
    assert parts_of(burials.next_round(copies=False)) == [(MOST_RECORDS, 0, 0)]


@pytest.mark.parametrize(("last", "parts"), [(MOST_RECORDS - 1, 1), (MOST_RECORDS - 2, 2)])
def test_the_next_range_is_begun_only_where_there_is_room_for_a_letter(last: int, parts: int) -> None:
    burials = Burials((0, last), (last + 1, last + 5))
    made = burials.next_round(copies=False)
    assert len(made.parts) == parts
    assert len(made.records) == MOST_RECORDS


def test_letters_stay_in_their_order_where_a_range_does_not_fit() -> None:
    """The first range's last letter is too large for this batch, but the next range would fit."""
    burials = Burials((0, 1), (2, 2))
    burials.source.fill(b"a", b"b" * 600, b"c")
    made = burials.next_round(room=1_000)
    assert (values_of(made), parts_of(made)) == ([b"a"], [(1, 0, 0)])


def test_one_record_without_content_goes_alone() -> None:
    burials = Burials((0, 0), (1, 1))
    burials.source.fill(b"a", b"b")
    burials.lane.bare = True
    made = burials.next_round(keeps=True)
    assert (values_of(made), parts_of(made)) == ([None], [(1, 0, 1)])
    assert [record.timestamp_ms for record in made.records] == [BORN_MS], "it keeps its time"


# -- what is counted


def test_refused_and_bare_letters_are_counted_by_range() -> None:
    burials = Burials((0, 4), (5, 5))
    been_there = ((DLQ_TOPIC, b"dlq.t"),)
    records = [RecordData(None, b"x", been_there if each in (1, 3) else ()) for each in range(4)]
    burials.source.contents.add(build_batch(records, timestamp_ms=BORN_MS))
    burials.source.fill(b"last", base_offset=5)  # the log has no offset 4
    made = burials.next_round(keeps=True)
    assert parts_of(made) == [(5, 2, 1), (6, 0, 0)]
    assert values_of(made) == [b"x", b"x", None, b"last"]
    assert [record.timestamp_ms for record in made.records] == [BORN_MS, BORN_MS, NOW_MS, BORN_MS]


def test_a_letter_of_a_group_that_keeps_nothing_has_the_time_of_its_writing() -> None:
    burials = Burials((0, 0))
    burials.source.fill(b"a")
    assert [record.timestamp_ms for record in burials.next_round().records] == [NOW_MS]


# -- what cannot be read


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR])
def test_a_round_without_parts_says_why(error: ErrorCode) -> None:
    burials = Burials((0, 3))
    burials.source.fill(b"a", b"b", b"c", b"d")
    burials.source.refusal = error
    burials.source.missing_from = 0
    made = burials.next_round(keeps=True)
    assert (made.records, made.parts) == ([], [])
    assert made.error is error


def test_a_range_that_cannot_be_read_gets_all_its_letters_at_once() -> None:
    burials = Burials((0, 3))
    burials.source.fill(b"a", b"b", b"c", b"d")
    burials.source.refusal = ErrorCode.KAFKA_STORAGE_ERROR
    assert parts_of(burials.next_round()) == [(4, 0, 4)]


def test_damage_that_reaches_beyond_the_dead_gives_letters_to_the_dead_alone() -> None:
    burials = Burials((1, 2))
    for _ in range(6):
        burials.source.fill(b"v")
    burials.source.contents.unreadable.append((1, 5))
    assert parts_of(burials.next_round(keeps=True)) == [(3, 0, 2)]


# -- reading


def source(*batches: bytes) -> MemorySource:
    found = MemorySource("t", 0, bytes(16))
    for batch in batches:
        found.contents.add(batch)
    return found


def batch_of(*values: bytes, compression: Compression = Compression.NONE) -> bytes:
    return bytes(build_batch([RecordData(None, each) for each in values], timestamp_ms=1, compression=compression))


def test_at_the_high_watermark_nothing_is_left_to_read() -> None:
    log = source(batch_of(b"a"))
    assert read_dead(log, 1, 3, ROOM) == Reading({}, 4)
    log.refusal = ErrorCode.KAFKA_STORAGE_ERROR
    assert read_dead(log, 1, 3, ROOM) == Reading({}, 4)


def test_what_may_lie_below_an_end_that_is_not_known_yet_has_to_be_fetched() -> None:
    """A node that took over a share partition does not yet know its log's end."""
    log = source()
    log.missing_from = 0
    assert log.high_watermark == 0
    assert read_dead(log, 0, 3, ROOM) == Reading({}, 0)


def test_what_has_to_be_fetched_first_is_no_error_and_no_step() -> None:
    log = source(batch_of(b"a"))
    log.missing_from = 0
    assert read_dead(log, 0, 0, ROOM) == Reading({}, 0)


def test_a_failed_read_has_its_error() -> None:
    log = source(batch_of(b"a"))
    log.refusal = ErrorCode.KAFKA_STORAGE_ERROR
    assert read_dead(log, 0, 0, ROOM) == Reading({}, 0, ErrorCode.KAFKA_STORAGE_ERROR)


def test_a_reading_ends_where_its_budget_does() -> None:
    log = source(batch_of(b"a", b"b", b"c", b"d"))
    one = letter_bytes(decode_records(log.contents.batches[0])[0])
    for budget, upto in ((one, 1), (2 * one, 2), (3 * one - 1, 2), (3 * one, 3), (4 * one, 4)):
        reading = read_dead(log, 0, 3, budget)
        assert (list(reading.records), reading.upto) == (list(range(upto)), upto)


def test_a_compressed_batch_that_just_fits_when_opened_is_read() -> None:
    value = b"v" * 200
    opened = len(batch_of(value))
    log = source(batch_of(value, compression=Compression.GZIP))
    assert list(read_dead(log, 0, 0, opened).records) == [0]
    assert read_dead(log, 0, 0, opened - 1) == Reading({}, 1)


def test_a_dead_record_is_read_beside_one_of_its_batch_that_cannot_be() -> None:
    log = source(raw_batch(raw_record(0, value=b"a"), raw_record(1, headers=raw_headers(9)), raw_record(2, value=b"c")))
    readings = [read_dead(log, offset, offset, ROOM) for offset in range(3)]
    assert [each.upto for each in readings] == [1, 2, 3]
    assert [[record.value for record in each.records.values()] for each in readings] == [[b"a"], [], [b"c"]]


def test_after_an_error_reading_goes_on_only_behind_the_offset_that_failed() -> None:
    log = source(*[batch_of(b"v")] * 3)
    log.log_start_offset = 2
    assert readable_from(log, 1, ErrorCode.OFFSET_OUT_OF_RANGE) == 2
    assert readable_from(log, 2, ErrorCode.OFFSET_OUT_OF_RANGE) is None
    assert readable_from(log, 1, ErrorCode.CORRUPT_MESSAGE) is None


# -- why


@pytest.mark.parametrize("keeps", [False, True])
def test_a_letter_says_why_where_a_member_said_so_and_is_as_ever_where_none_did(keeps: bool) -> None:
    burials = Burials((0, 1))
    burials.source.fill(b"a", b"b")
    plain = burials.next_round(keeps=keeps)
    burials.lane.leader.note_reason(1, b"no glue")
    burials.lane.leader.note_reason(7, b"alive")
    made = burials.next_round(keeps=keeps)
    assert made.records[0] == plain.records[0]
    assert made.records[1].headers == (*plain.records[1].headers, (DLQ_SHAREQ_ERROR, b"no glue"))


def test_of_a_share_partition_the_newest_reasons_are_kept() -> None:
    leader = Burials((0, 0)).lane.leader
    for offset in range(MOST_REASONS + 3):
        leader.note_reason(offset, b"first")
        leader.note_reason(0, b"again")
    assert len(leader.reasons) == MOST_REASONS
    assert leader.reasons[0] == b"again"
    assert min(set(leader.reasons) - {0}) == 4
