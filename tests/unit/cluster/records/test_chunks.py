from __future__ import annotations

import struct
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.foundation.turn_budget import unpaused
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.cluster.records.aborted import united
from shareq.cluster.records.chunks import Answered, Transactions, chunk_of
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import decode_records
from tests.support.coroutines import finished
from tests.support.stored_batches import batch, marker

UNDECIDED = Transactions(decided=False, aborted=())


class Row(NamedTuple):
    producer_id: int
    first_offset: int


def read(data: bytes | memoryview, offset: int = 0, transactions: Transactions = UNDECIDED) -> Answered:
    return finished(chunk_of(data, offset, transactions, unpaused))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.data())
def test_whole_batches_come_and_a_cut_one_does_not(counts: list[int], data: st.DataObject) -> None:
    base, stored, ends = 0, b"", []
    for count in counts:
        stored += batch(base, count, epoch=3)
        base += count
        ends.append((len(stored), base))
    size = data.draw(st.integers(0, len(stored)))
    answered = read(memoryview(stored)[:size])
    whole = [(at, end) for at, end in ends if at <= size]
    assert answered.fault is None
    if not whole:
        assert answered.chunk is None
        return
    chunk = answered.chunk
    assert chunk is not None
    assert chunk.records == stored[: whole[-1][0]]
    assert (chunk.first_offset, chunk.next_offset, answered.epochs) == (0, whole[-1][1], [(3, 0)])
    for span in chunk.batches:
        records = decode_records(chunk.records[span.position : span.position + span.size])
        assert [record.offset for record in records] == list(range(span.base_offset, span.last_offset + 1))


def test_an_answer_is_not_held_in_memory_by_a_view_of_it() -> None:
    answered = read(memoryview(batch(0)))
    assert answered.chunk is not None
    assert isinstance(answered.chunk.records, bytes)


def test_batches_before_the_offset_are_left_out_and_gaps_are_covered() -> None:
    answered = read(batch(0, 2) + batch(7, 3), 4)
    chunk = answered.chunk
    assert chunk is not None
    assert (chunk.first_offset, chunk.next_offset) == (4, 10)
    assert [(span.base_offset, span.position) for span in chunk.batches] == [(7, 0)]
    assert chunk.records == batch(7, 3)


@pytest.mark.parametrize("at", [21, 40, 61, -1])
def test_damage_is_never_served(at: int) -> None:
    sound, damaged = batch(0, 3), bytearray(batch(3, 3))
    damaged[at] ^= 0x55
    behind = batch(6)
    answered = read(sound + bytes(damaged) + behind)
    assert answered.chunk is not None
    assert answered.chunk.records == sound
    fault = read(bytes(damaged) + behind, 3).fault
    assert fault is not None
    assert (fault.error, fault.first_offset, fault.next_offset) == (ErrorCode.CORRUPT_MESSAGE, 3, 6)


def test_a_damaged_batch_with_nothing_behind_it_hides_one_offset_alone() -> None:
    damaged = bytearray(batch(3, 3))
    struct.pack_into(">i", damaged, 23, 1_000_000)  # its last offset delta
    fault = read(bytes(damaged), 3).fault
    assert fault is not None
    assert (fault.first_offset, fault.next_offset) == (3, 4)


@pytest.mark.parametrize("magic", [0, 1])
def test_records_of_an_old_format_are_refused(magic: int) -> None:
    old = struct.pack(">qiIbb", 5, 22, 0, magic, 0) + b"\0" * 16
    fault = read(old, 5).fault
    assert fault is not None
    assert fault.error is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert f"magic {magic} at offset 5" in fault.text
    assert read(batch(4) + old, 4).fault is None


def test_offsets_that_go_back_end_a_chunk() -> None:
    answered = read(batch(0, 5) + batch(2, 2))
    assert answered.chunk is not None
    assert answered.chunk.next_offset == 5


def test_a_chunk_without_transactions_is_decided_whatever_was_asked_for() -> None:
    plain = read(batch(0) + marker(1, 7, commit=False)).chunk
    assert plain is not None
    assert plain.aborted == ()
    open_one = read(batch(0) + batch(1, producer_id=7)).chunk
    assert open_one is not None
    assert open_one.aborted is None


def test_an_aborted_transaction_ends_with_its_producers_next_marker() -> None:
    """The response names a producer and a first offset, which may lie before it."""
    stored = (
        batch(10, producer_id=1)
        + batch(11, producer_id=2)
        + marker(12, 1, commit=False)
        + batch(13, producer_id=1)
        + marker(14, 2, commit=False)
        + marker(15, 1, commit=True)
        + batch(16, producer_id=1)
        + batch(17)
    )
    rows = [Row(1, 4), Row(2, 11), Row(1, 16)]
    chunk = read(stored, 10, Transactions(decided=True, aborted=rows)).chunk
    assert chunk is not None
    assert chunk.aborted == [
        AbortedTransaction(1, 4, 12, -1),
        AbortedTransaction(2, 11, 14, -1),
        AbortedTransaction(1, 16, 17, -1),
    ]


def test_parts_of_one_transaction_are_one() -> None:
    parts = [[AbortedTransaction(1, 4, 12, -1), AbortedTransaction(2, 0, 3, -1)], [AbortedTransaction(1, 4, 20, -1)]]
    assert united(parts, 4, 30) == [AbortedTransaction(1, 4, 20, -1)]
    assert united(parts, 0, 4) == [AbortedTransaction(2, 0, 3, -1)]


def test_where_leader_epochs_begin() -> None:
    stored = batch(0, epoch=2) + batch(1, epoch=2) + batch(2, epoch=5) + batch(3, epoch=6)
    assert read(stored).epochs == [(2, 0), (5, 2), (6, 3)]
