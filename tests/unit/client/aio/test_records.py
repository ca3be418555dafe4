"""Acquired records read from a response: each offset comes once, as a record, missing, corrupt, or beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.client.aio.consumer.records import Acquired, Piece, unread
from shareq.protocol.records.batch import Compression, build_batch
from shareq.protocol.records.checksum import crc32c
from shareq.protocol.records.control import build_end_transaction_marker
from shareq.protocol.records.record_codec import Columns, RecordData
from shareq.protocol.records.retain import emptied, open_batch, retained
from tests.support.bad_records.records import BadRecord, bad_records, batch_of


def batch(base: int, count: int, **more: object) -> bytes:
    records = [RecordData(b"k%d" % at, b"v%d" % at, (("h", b"1"),)) for at in range(base, base + count)]
    return bytes(build_batch(records, timestamp_ms=1000 + base, base_offset=base, **more))  # type: ignore[arg-type]


def compacted(base: int, count: int, kept: Sequence[int]) -> bytes:
    opened = open_batch(batch(base, count))
    left = [record for record in opened.records if record.offset in kept]
    return bytes(retained(opened, left) if left else emptied(opened.header))


def read(data: bytes, *acquired: tuple[int, int, int]) -> Piece:
    pieces = [each.piece() for each in unread(data, [Acquired(*one) for one in acquired])]
    columns = [piece.records for piece in pieces]
    return Piece(
        Columns(
            [one for each in columns for one in each.offsets],
            [one for each in columns for one in each.timestamps],
            [one for each in columns for one in each.keys],
            [one for each in columns for one in each.values],
            [one for each in columns for one in each.headers],
        ),
        [count for piece in pieces for count in piece.counts],
        [one for piece in pieces for one in piece.missing],
        [one for piece in pieces for one in piece.corrupt],
        [one for piece in pieces for one in piece.beyond],
    )


def offsets(piece: Piece) -> list[int]:
    return piece.records.offsets


def test_records_come_with_all_they_have() -> None:
    found = read(batch(5, 1), (5, 5, 3))
    assert found.records == ([5], [1005], [b"k5"], [b"v5"], [(("h", b"1"),)])
    assert found.counts == [3]
    assert not (found.missing)
    assert not (found.corrupt)
    assert not (found.beyond)


def test_only_what_was_acquired_is_read() -> None:
    found = read(batch(0, 10) + batch(10, 10), (3, 4, 1), (8, 11, 2))
    assert offsets(found) == [3, 4, 8, 9, 10, 11]
    assert found.counts == [1, 1, 2, 2, 2, 2]


def test_control_records_and_gaps_of_compaction_are_missing() -> None:
    marker = build_end_transaction_marker(
        commit=True, producer_id=7, producer_epoch=0, coordinator_epoch=0, timestamp_ms=1
    )
    marker[0:8] = (10).to_bytes(8, "big")
    data = compacted(0, 10, [2, 5]) + bytes(marker) + batch(15, 2)
    found = read(data, (0, 16, 1))
    assert offsets(found) == [2, 5, 15, 16]
    assert sorted(found.missing) == [(0, 1), (3, 4), (6, 9), (10, 10), (11, 14)]


def test_a_batch_that_is_damaged_is_corrupt_and_its_neighbours_are_read() -> None:
    damaged = bytearray(batch(10, 10))
    damaged[-1] ^= 1
    found = read(batch(0, 10) + bytes(damaged) + batch(20, 1), (5, 20, 1))
    assert offsets(found) == [5, 6, 7, 8, 9, 20]
    assert found.corrupt == [(10, 19)]


def test_what_did_not_come_is_beyond() -> None:
    found = read(batch(0, 5), (0, 9, 1), (20, 21, 1))
    assert offsets(found) == [0, 1, 2, 3, 4]
    assert found.beyond == [(5, 9), (20, 21)]
    assert read(b"", (3, 3, 1)).beyond == [(3, 3)]


def test_an_answer_that_names_more_than_there_can_be_costs_no_memory() -> None:
    """The last offset of a batch is a number that the response may invent."""
    data = bytearray(batch(0, 5))
    data[23:27] = (2**31 - 1).to_bytes(4, "big")
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    found = read(bytes(data), (0, 2**63 - 1, 1))
    assert offsets(found) == [0, 1, 2, 3, 4]
    assert found.missing == [(5, 2**31 - 1)]
    assert found.beyond == [(2**31, 2**63 - 1)]


@pytest.mark.parametrize("compression", list(Compression))
def test_compressed_batches_are_read(compression: Compression) -> None:
    assert offsets(read(batch(0, 50, compression=compression), (0, 49, 1))) == list(range(50))


@given(
    st.lists(st.tuples(st.integers(1, 6), st.sets(st.integers(0, 5)), st.booleans()), min_size=1, max_size=5),
    st.sets(st.integers(0, 34)),
)
def test_each_acquired_offset_comes_once(logs: list[tuple[int, set[int], bool]], wanted: set[int]) -> None:
    """Any part of logs with compacted and damaged batches may be acquired."""
    data, base, there, broken = b"", 0, set(), set()
    for count, kept, damage in logs:
        kept_offsets = {base + at for at in kept if at < count}
        one = bytearray(compacted(base, count, sorted(kept_offsets)))
        if damage and kept_offsets:
            one[-1] ^= 0xFF
            broken |= set(range(base, base + count))
        else:
            there |= kept_offsets
        data += bytes(one)
        base += count
    found = read(data, *((offset, offset, 1) for offset in wanted))

    def spread(ranges: Sequence[tuple[int, int]]) -> list[int]:
        return [offset for first, last in ranges for offset in range(first, last + 1)]

    seen = [*offsets(found), *spread(found.missing), *spread(found.corrupt), *spread(found.beyond)]
    assert sorted(seen) == sorted(wanted)
    assert set(offsets(found)) == wanted & there
    assert set(spread(found.corrupt)) == wanted & broken
    assert set(spread(found.beyond)) == {offset for offset in wanted if offset >= base}


def test_a_bad_record_costs_its_neighbours_nothing_nor_itself() -> None:
    bad = list(bad_records(Random(3), 100, 1_800_000_000_000, 1_000))
    odd = BadRecord(b"k", b"v", [(b"\xff", b"1"), (b"fine", None)], 5)
    healthy = BadRecord(b"k", b"v", [(b"h", b"1")], 5)
    found = read(batch_of([healthy, odd, *bad, healthy]), (0, 102, 1))
    assert offsets(found) == list(range(103))
    assert not found.corrupt
    assert found.records.headers[1] == (("\ufffd", b"1"), ("fine", None))


def test_a_large_piece_is_handed_over_in_parts_and_its_ranges_once() -> None:
    whole = read(batch(0, 10), (0, 9, 1))._replace(missing=[(10, 11)], corrupt=[(12, 12)], beyond=[(13, 20)])
    parts = list(whole.parts(4))
    assert [offsets(part) for part in parts] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [len(part.counts) for part in parts] == [4, 4, 2]
    assert parts[0][2:] == whole[2:]
    assert all(part[2:] == ((), (), ()) for part in parts[1:])
    assert list(Piece(missing=[(1, 2)]).parts(4)) == [Piece(missing=[(1, 2)])]
