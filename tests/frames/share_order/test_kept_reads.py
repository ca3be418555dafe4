"""Large reads that are kept: the parts that serve fetches, and their memory."""

from __future__ import annotations

import pytest

from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.segments.reader import BatchSpan, ReadResult
from shareq.broker.share.ordered.kept_reads import LEAST_BYTES, MOST_BYTES, TOTAL_BYTES, KeptReads
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData, build_batch
from tests.frames.share_fetch.test_releases import delete_topic
from tests.frames.share_order.test_order_by_key import member_of, offsets_of, ordered_world, produce
from tests.support.clients.share_client import ACCEPT
from tests.support.fakes.share_rig import ShareRig, ranges

SIZE = LEAST_BYTES


def key(number: int = 0) -> SharePartitionKey:
    return SharePartitionKey("g", bytes(16), number)


def read(*sizes: int) -> ReadResult:
    """Return batches of ten records, of so many bytes each, from offset 100 on."""
    spans, position = [], 0
    for number, size in enumerate(sizes):
        spans.append(BatchSpan(100 + 10 * number, 109 + 10 * number, position, size, 0, -1))
        position += size
    return ReadResult(bytes(position), spans)


def kept_of(result: ReadResult) -> KeptReads:
    kept = KeptReads()
    kept.put(key(), result)
    return kept


@pytest.mark.parametrize("offset", [100, 105, 109])
def test_the_rest_of_a_batch_is_what_was_read(offset: int) -> None:
    result = read(SIZE)
    assert kept_of(result).get(key(), offset, 109, 110, SIZE) is result


@pytest.mark.parametrize(
    ("offset", "until", "upto", "max_bytes"),
    [
        (99, 109, 200, 9 * SIZE),  # before it
        (120, 125, 200, 9 * SIZE),  # behind it
        (100, 120, 200, 9 * SIZE),  # more is wanted, and the log has more
        (100, 500, 121, 9 * SIZE),  # one offset more
        (100, 119, 119, 9 * SIZE),  # the end of it must not be seen
        (100, 119, 200, 2 * SIZE - 1),  # more bytes than one may be sent
    ],
)
def test_what_does_not_serve_is_read_again(offset: int, until: int, upto: int, max_bytes: int) -> None:
    kept = kept_of(read(SIZE, SIZE))
    assert kept.get(key(), 100, 119, 200, 2 * SIZE) is not None
    assert kept.get(key(), offset, until, upto, max_bytes) is None


def test_at_the_end_of_the_log_it_reaches_as_far_as_a_read_would() -> None:
    assert kept_of(read(SIZE)).get(key(), 100, 5_000, 110, SIZE) is not None


def test_batches_in_front_of_the_offset_are_left_out_and_do_not_count() -> None:
    result = read(SIZE, SIZE, SIZE)
    found = kept_of(result).get(key(), 110, 129, 130, 2 * SIZE)
    assert found == ReadResult(result.records, result.batches[1:])


def test_a_single_batch_may_be_larger_than_a_fetch_may_have() -> None:
    assert kept_of(read(SIZE, SIZE)).get(key(), 110, 119, 120, 1) is not None


def test_what_lies_before_the_next_batch_is_read_again() -> None:
    """The read finds out whether the batch was compacted away or is back in the log."""
    spans = [BatchSpan(100, 109, 0, SIZE, 0, -1), BatchSpan(120, 129, SIZE, SIZE, 0, -1)]
    kept = kept_of(ReadResult(bytes(2 * SIZE), spans))
    assert kept.get(key(), 112, 129, 130, 9 * SIZE) is None
    assert kept.get(key(), 122, 129, 130, 9 * SIZE) is not None


@pytest.mark.parametrize("size", [LEAST_BYTES - 1, MOST_BYTES + 1])
def test_small_and_very_large_reads_are_not_kept_and_replace_what_was(size: int) -> None:
    kept = kept_of(read(SIZE))
    kept.put(key(), read(size))
    assert kept.get(key(), 100, 109, 110, size) is None
    assert kept.held_bytes == 0


def test_what_was_not_used_for_longest_gives_way() -> None:
    kept, many = KeptReads(), TOTAL_BYTES // MOST_BYTES
    for number in range(many):
        kept.put(key(number), read(MOST_BYTES))
    assert kept.held_bytes == TOTAL_BYTES
    assert kept.get(key(0), 100, 109, 110, SIZE) is not None
    kept.put(key(many), read(SIZE))
    assert kept.held_bytes == TOTAL_BYTES - MOST_BYTES + SIZE
    found = [kept.get(key(number), 100, 109, 110, SIZE) is not None for number in range(many + 1)]
    assert found == [True, False, *[True] * (many - 1)]


def test_up_to_where_it_is_known_is_the_end_of_what_is_kept() -> None:
    kept = kept_of(read(SIZE, SIZE))
    assert (kept.known_until(key()), kept.known_until(key(1))) == (119, -1)


def test_nothing_is_left_of_what_is_forgotten() -> None:
    kept = kept_of(read(SIZE))
    kept.forget(key())
    kept.forget(key())
    assert (kept.get(key(), 100, 109, 110, SIZE), kept.held_bytes) == (None, 0)


# -- in a broker


class CountedReads:
    """A topic with one batch over 64 KB (a hundred keys, ten records each), and its reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world, self.place = ordered_world()
        self.offsets: list[int] = []
        self.member = member_of(self.world, self.place)
        produce(self.world, [b"key %d" % (each % 100) + bytes(100) for each in range(1_000)])
        original = PartitionLog.read

        def counted(log: PartitionLog, offset: int, *arguments: int, **options: int) -> object:
            if log.topic == "t":
                self.offsets.append(offset)
            return original(log, offset, *arguments, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(PartitionLog, "read", counted)

    def take(self) -> list[int]:
        found = offsets_of(self.member.acquire(self.place))
        assert self.member.acknowledge(self.place, (found[0], found[-1], ACCEPT)) is ErrorCode.NONE
        return found


def test_a_large_batch_is_read_once_for_all_fetches(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = CountedReads(monkeypatch)
    assert [broker.take() for _ in range(10)] == [[*range(at, at + 100)] for at in range(0, 1_000, 100)]
    assert broker.offsets == [0]


# -- what comes behind what is kept


BIG = bytes(LEAST_BYTES)


def kept_in(rig: ShareRig) -> KeptReads:
    """Return the kept reads after the first two of six record batches, of three records each, were read."""
    for _ in range(6):
        rig.source().contents.add(build_batch([RecordData(b"k", BIG)] * 3, timestamp_ms=1))
    kept = KeptReads()
    assert isinstance(kept.read(rig.leader(), 0, 5, 18, 99 * SIZE), ReadResult)
    return kept


def read_again(rig: ShareRig, kept: KeptReads, *wanted: int) -> list[tuple[int, int]]:
    """Read from the kept reads, and check that the log returns the same.

    Return offset and number of records of each read of the log.
    """
    before = len(rig.source().asked)
    found = kept.read(rig.leader(), *wanted)
    asked = rig.source().asked[before:]
    offset, until, upto, max_bytes = wanted
    plain = rig.source().read(offset, max_bytes, upto=upto, max_records=until - offset + 1)
    assert isinstance(found, ReadResult)
    assert isinstance(plain, ReadResult)
    assert [span[:2] for span in found.batches][: len(plain.batches)] == [span[:2] for span in plain.batches]
    for mine, theirs in zip(found.batches, plain.batches, strict=False):
        one = found.records[mine.position : mine.position + mine.size]
        assert one == plain.records[theirs.position : theirs.position + theirs.size]
    return [(at, records or 0) for at, _, _, records in asked]


def test_what_comes_behind_what_is_kept_is_read_alone() -> None:
    rig = ShareRig()
    kept = kept_in(rig)
    assert read_again(rig, kept, 1, 10, 18, 99 * SIZE) == [(6, 5)]
    assert (kept.known_until(rig.key()), read_again(rig, kept, 0, 11, 18, 99 * SIZE)) == (11, [])


def test_what_is_finished_is_kept_no_longer() -> None:
    rig = ShareRig()
    kept = kept_in(rig)
    before = kept.held_bytes
    assert ranges(rig.fetch(max_bytes=1).start().value) == [(0, 2, 1)]
    rig.acknowledge(0, 2)
    assert read_again(rig, kept, 3, 8, 18, 99 * SIZE) == [(6, 3)]
    assert (kept.get(rig.key(), 2, 2, 18, 99 * SIZE), kept.held_bytes) == (None, before)


def test_where_records_lie_stays_noted() -> None:
    rig = ShareRig()
    kept = kept_in(rig)
    first = kept.get(rig.key(), 0, 5, 18, 99 * SIZE)
    assert first is not None
    marks = kept.marks(rig.key(), first)
    assert marks is not None
    at = first.batches[1].position
    marks.update({0: (1, 100), at: (2, at + 200)})
    rig.fetch(max_bytes=1).start()
    rig.acknowledge(0, 2)
    longer = kept.read(rig.leader(), 3, 8, 18, 99 * SIZE)
    assert isinstance(longer, ReadResult)
    assert kept.marks(rig.key(), longer) == {0: (2, 200)}


@pytest.mark.parametrize("max_bytes", [1, 7 * SIZE, 10 * SIZE])
def test_no_more_bytes_than_a_fetch_may_have_come_of_it(max_bytes: int) -> None:
    rig = ShareRig()
    kept = kept_in(rig)
    found = kept.read(rig.leader(), 0, 17, 18, max_bytes)
    assert isinstance(found, ReadResult)
    plain = rig.source().read(0, max_bytes, upto=18)
    assert isinstance(plain, ReadResult)
    assert found.records == plain.records


def test_behind_what_is_kept_no_more_is_read_than_a_fetch_has_room_for() -> None:
    for offset, batches, reads in ((0, 3, [(6, 1)]), (3, 2, [(6, 1)]), (0, 2, [(0, 2)])):
        rig = ShareRig()
        kept = kept_in(rig)
        size, before = len(rig.source().contents.batches[0]), len(rig.source().asked)
        assert isinstance(kept.read(rig.leader(), offset, 8, 18, batches * size), ReadResult)
        asked = rig.source().asked[before:]
        assert [each[:2] for each in asked] == [(at, room * size) for at, room in reads]


@pytest.mark.parametrize("end", [7, 9])
def test_damage_behind_it_is_not_looked_at_again(end: int) -> None:
    rig = ShareRig()
    kept = kept_in(rig)
    rig.source().contents.unreadable.append((6, end))
    assert read_again(rig, kept, 0, 8, 18, 99 * SIZE) == [(0, 9)]


def test_what_lies_behind_it_elsewhere_is_left_to_the_next_fetch() -> None:
    rig = ShareRig()
    kept = kept_in(rig)
    rig.source().missing_from = 6
    assert read_again(rig, kept, 0, 8, 18, 99 * SIZE) == [(6, 3), (0, 9)]


# -- in a broker again


def test_below_the_start_of_the_log_what_was_kept_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = CountedReads(monkeypatch)
    broker.take()
    logs = broker.world.folder.logs
    log = logs.get("t", 0)
    assert log is not None
    assert logs.truncate_prefixes({log: 250}) == {log: ErrorCode.NONE}
    assert broker.take()[0] == 250


def test_a_share_partition_that_ends_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = CountedReads(monkeypatch)
    broker.take()
    kept = broker.world.services.share.partitions.kept_reads()
    assert kept.held_bytes > LEAST_BYTES
    assert delete_topic(broker.world, "t") is ErrorCode.NONE
    assert kept.held_bytes == 0
