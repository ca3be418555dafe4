"""`.txnindex` files, byte by byte, and lookups of aborted transactions."""

from __future__ import annotations

import struct
from random import Random

import pytest

from shareq.broker.log.aborted_transactions import AbortedTransactions, transaction_marker
from shareq.broker.log.segments.txn_index import AbortedTransaction, entries_from_bytes, entries_to_bytes
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.control import ControlRecord, ControlType, build_end_transaction_marker

ENTRIES = [
    AbortedTransaction(7, 100, 120, 121),
    AbortedTransaction(9, 90, 130, 110),
    AbortedTransaction(8, 110, 131, 132),
]


def test_bytes_are_apache_kafkas() -> None:
    assert entries_to_bytes(ENTRIES[:1]) == struct.pack(">hqqqq", 0, 7, 100, 120, 121)
    assert len(entries_to_bytes(ENTRIES)) == 3 * 34
    assert entries_to_bytes([]) == b""
    assert entries_from_bytes(entries_to_bytes(ENTRIES), 100, 132) == ENTRIES


@pytest.mark.parametrize(
    "entry",
    [
        (1, 7, 100, 120, 121),  # another version
        (0, -1, 100, 120, 121),
        (0, 7, 121, 120, 121),  # ends before it begins
        (0, 7, -1, 120, 121),
        (0, 7, 100, 120, 122),  # stable beyond its marker
        (0, 7, 100, 120, -1),
        (0, 7, 90, 99, 100),  # its marker is in an earlier segment
        (0, 7, 100, 132, 133),  # its marker is in none
    ],
)
def test_what_cannot_be_of_the_segment_is_no_good(entry: tuple[int, ...]) -> None:
    assert entries_from_bytes(struct.pack(">hqqqq", *entry), 100, 132) is None


def test_the_first_transaction_of_the_first_producer_may_be_empty() -> None:
    """Producer id 0 and offset 0 are valid, and so is a transaction of which only the marker is left."""
    first = AbortedTransaction(0, 0, 0, 0)
    assert entries_from_bytes(entries_to_bytes([first]), 0, 1) == [first]


def test_a_file_cut_short_or_out_of_order_is_no_good() -> None:
    data = entries_to_bytes(ENTRIES)
    for size in range(len(data)):
        assert (entries_from_bytes(data[:size], 100, 132) is None) == (size % 34 != 0)
    assert entries_from_bytes(entries_to_bytes(ENTRIES[::-1]), 100, 132) is None
    assert entries_from_bytes(entries_to_bytes([ENTRIES[0], ENTRIES[0]]), 100, 132) is None


def test_what_a_control_batch_says_of_a_transaction() -> None:
    for commit, kind in ((True, ControlType.COMMIT), (False, ControlType.ABORT)):
        marker = build_end_transaction_marker(
            commit=commit, producer_id=4, producer_epoch=1, coordinator_epoch=6, timestamp_ms=0
        )
        assert transaction_marker(marker) == ControlRecord(0, kind, 6)
    leader_change = build_batch([RecordData(struct.pack(">hh", 0, 2), b"")], timestamp_ms=0, control=True)
    assert transaction_marker(leader_change) is None
    emptied = leader_change[:61]  # compaction has taken its record
    struct.pack_into(">i", emptied, 8, 61 - 12)
    struct.pack_into(">i", emptied, 57, 0)
    assert transaction_marker(emptied) is None


def random_entries(rng: Random, count: int) -> list[AbortedTransaction]:
    """Return entries like those of a log with a few producers.

    The stable offset is the first offset of the oldest open transaction.
    """
    began: dict[int, int] = {}
    entries: list[AbortedTransaction] = []
    offset = rng.randint(0, 50)
    while len(entries) < count:
        producer = rng.randint(1, 4)
        if producer in began and rng.random() < 0.4:
            first = began.pop(producer)
            entries.append(AbortedTransaction(producer, first, offset, min([offset + 1, *began.values()])))
        else:
            began.setdefault(producer, offset)
        offset += rng.randint(1, 5)
    return entries


@pytest.mark.parametrize("seed", range(30))
def test_looking_up_is_as_asking_every_entry(seed: int) -> None:
    rng = Random(seed)
    entries = random_entries(rng, rng.randint(0, 40))
    index = AbortedTransactions(entries)
    assert list(index) == entries
    end = entries[-1].last_offset + 3 if entries else 10
    for _ in range(50):
        first = rng.randint(0, end)
        upper = rng.randint(first, end)
        expected = [entry for entry in entries if entry.last_offset >= first and entry.first_offset < upper]
        assert index.overlapping(first, upper) == expected
        assert index.ending_in(first, upper) == [entry for entry in entries if first <= entry.last_offset < upper]


@pytest.mark.parametrize("seed", range(10))
def test_both_ends_can_be_cut_off_and_a_part_replaced(seed: int) -> None:
    rng = Random(seed)
    entries = random_entries(rng, 30)
    index = AbortedTransactions(entries)
    low, high = sorted(rng.sample(range(entries[-1].last_offset + 2), 2))
    kept = [entry for entry in entries if not low <= entry.last_offset < high or rng.random() < 0.5]
    index.replace(low, high, [entry for entry in kept if low <= entry.last_offset < high])
    assert list(index) == kept
    index.truncate(high)
    index.remove_before(low)
    assert list(index) == [entry for entry in kept if low <= entry.last_offset < high]


def test_a_marker_before_the_last_one_is_refused() -> None:
    index = AbortedTransactions(ENTRIES)
    with pytest.raises(ValueError, match="ends at 131, after 131"):
        index.add(ENTRIES[-1])
