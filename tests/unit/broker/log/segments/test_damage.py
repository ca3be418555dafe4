"""Reading around damage: undamaged records are returned at their own offsets, and nothing else."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from shareq.broker.log.segments.damage import DamagedRange, SoundWalk, believed_end, covering
from shareq.broker.log.segments.segment import BatchWalk, ReadAt, runs_past_the_end
from shareq.protocol.records.batch import BatchHeader, RecordData, build_batch, stamp

BASE = 1_000


def reader(data: bytes | bytearray) -> ReadAt:
    return lambda position, size: bytes(data[position : position + size])


def log_of(rng: Random, count: int, *, gaps: bool) -> tuple[bytearray, list[tuple[int, int, int]], int]:
    """Return a log, the position and offsets (last one exclusive) of each batch, and the log's end."""
    data, batches, offset = bytearray(), [], BASE
    for _ in range(count):
        if gaps and rng.random() < 0.3:
            offset += rng.randint(1, 20)
        records = [RecordData(None, rng.randbytes(rng.randint(0, 200))) for _ in range(rng.randint(1, 5))]
        batch = build_batch(records, timestamp_ms=5)
        stamp(batch, offset, 0)
        batches.append((len(data), offset, offset + len(records)))
        data += batch
        offset += len(records)
    return data, batches, offset


def walk_of(data: bytes | bytearray, *, gaps: bool, limit: int | None) -> tuple[SoundWalk, list[tuple[int, int, int]]]:
    walk = SoundWalk(BatchWalk(reader(data), len(data), next_offset=BASE, gaps=gaps, limit=limit))
    found: list[tuple[int, BatchHeader]] = list(walk)
    return walk, [(position, header.base_offset, header.next_offset) for position, header in found]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", ["flip", "zeros", "base offset"])
def test_one_fault_costs_what_it_hit(kind: str, gaps: bool) -> None:
    """One flipped bit in a BaseOffset once cut off everything after it."""
    for seed in range(300):
        rng = Random(seed)
        data, batches, end = log_of(rng, rng.randint(1, 12), gaps=gaps)
        hit = rng.choice(batches)
        start = hit[0] + rng.randrange(8) if kind == "base offset" else rng.randrange(len(data))
        size = rng.randint(1, 600) if kind == "zeros" else 1
        before = bytes(data)
        if kind == "zeros":
            data[start : start + size] = bytes(min(size, len(data) - start))
        else:
            data[start] ^= 1 << rng.randrange(8)
        ends = [position for position, _, _ in batches[1:]] + [len(data)]
        intact = [
            batch for batch, stop in zip(batches, ends, strict=True) if data[batch[0] : stop] == before[batch[0] : stop]
        ]
        walk, found = walk_of(data, gaps=gaps, limit=end)
        if (
            gaps
        ):  # an offset that still fits between its neighbours may be believed, one that speaks against another not
            assert len(set(intact) - set(found)) <= 1, seed
            assert len(set(found) - set(intact)) <= 1, seed
        elif kind == "flip" and found != intact:  # the leader epoch is in no checksum
            assert [other for other in batches if other in found] == found == batches, seed
        else:
            assert found == intact, seed
        assert_complete(walk, found, gaps=gaps, end=end)


def assert_complete(walk: SoundWalk, found: list[tuple[int, int, int]], *, gaps: bool, end: int) -> None:
    """Check that, without gaps, each offset is in exactly one batch or damaged range."""
    spans = sorted([(first, after) for _, first, after in found] + [(lost[0], lost[1]) for lost in walk.damaged])
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    if not gaps:
        if walk.fault is not None:
            spans.append((walk.next_offset, end))
        assert (spans[0][0], spans[-1][1]) == (BASE, end)
        assert all(before[1] == after[0] for before, after in pairwise(spans))


def test_a_misplaced_first_batch_of_a_compacted_log_does_not_hide_the_others() -> None:
    data, batches, end = log_of(Random(1), 6, gaps=False)
    data[batches[0][0] + 2] ^= 1
    walk, found = walk_of(data, gaps=True, limit=None)
    assert found == batches[1:]
    assert walk.damaged == [
        DamagedRange(
            BASE,
            batches[1][1],
            0,
            batches[1][0],
            f"base offset {batches[1][1]} after offset {batches[0][2] + (1 << 40) - 1}",
        )
    ]
    assert (walk.next_offset, walk.fault) == (end, None)


def test_the_batch_behind_lost_ones_does_not_begin_where_they_did() -> None:
    """Zeros cover the earlier batches and the batch's BaseOffset; it once got the first lost batch's offset."""
    data, batches, _ = log_of(Random(1), 6, gaps=False)
    moved = batches[2][0]
    data[batches[0][0] : moved] = bytes(moved)
    data[moved : moved + 8] = BASE.to_bytes(8, "big")
    walk, found = walk_of(data, gaps=True, limit=None)
    assert found == batches[3:]
    assert [tuple(lost[:2]) for lost in walk.damaged] == [(BASE, BASE + 1), (BASE + 1, batches[3][1])]
    assert walk.fault is None


def test_missing_batches_are_a_range_without_bytes() -> None:
    data, batches, end = log_of(Random(2), 6, gaps=False)
    del data[batches[2][0] : batches[3][0]]
    walk, found = walk_of(data, gaps=False, limit=end)
    assert len(found) == 5
    assert [tuple(lost[:4]) for lost in walk.damaged] == [(batches[2][1], batches[3][1], batches[2][0], batches[2][0])]


def test_what_covers_an_offset() -> None:
    ranges = [DamagedRange(3, 5, 0, 0, ""), DamagedRange(9, 10, 0, 0, "")]
    assert [covering(ranges, offset) for offset in (2, 3, 4, 5, 9, 10)] == [
        None,
        ranges[0],
        ranges[0],
        None,
        ranges[1],
        None,
    ]


def test_only_the_beginning_of_a_batch_is_a_write_that_was_cut_off() -> None:
    data, batches, _ = log_of(Random(3), 2, gaps=False)
    at = batches[1][0]
    for cut in (at + 1, at + 60, at + 61, len(data) - 1):
        assert runs_past_the_end(reader(data[:cut]), cut, at)
    data[at + 8] ^= 1  # a length that is too large is not one
    assert not runs_past_the_end(reader(data), len(data), at)
    zeroed = data[:at] + bytes(200)
    assert not runs_past_the_end(reader(zeroed), len(zeroed), at)


@pytest.mark.parametrize("field", [23, 57])  # the last offset delta, the number of records
@pytest.mark.parametrize("bit", [0, 1, 6])
def test_a_header_is_not_believed_to_have_more_records_than_its_bytes(field: int, bit: int) -> None:
    """A header's claim could put the log end offset millions ahead of every record."""
    batch = build_batch([RecordData(b"k", b"v")] * 3, timestamp_ms=1)
    batch[field] ^= 1 << bit
    assert believed_end(lambda position, size: bytes(batch[position : position + size]), len(batch), 0, 0) == 3
