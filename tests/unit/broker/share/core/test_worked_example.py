"""KIP-932's worked example ("Operation / State changes / Cumulative state"), step by step, with both crash points.

Offsets 100-120 of one partition, one record per record batch, three consumers. After each step the test compares the
start offset, the first offset behind the window (the KIP's end offset is exclusive), the records in flight, and the
persisted state in normal form: without batches below the start offset, and with the start offset advanced over finished
records in front. The KIP and Apache Kafka 4.3.1 write different bytes, but always the same normal form.
"""

from __future__ import annotations

from shareq.broker.share.core.partition import SharePartition
from tests.support.models.share_partition import (
    ACCEPT,
    KEY,
    LOG_END,
    RECORDS,
    RELEASE,
    ack,
    batches,
    fetch,
    rows_of,
    settings,
    share_partition,
    states,
    write_of,
    written,
)
from tests.support.models.share_world import Persisted

C1, C2, C3 = "c1", "c2", "c3"
LOCK_MS = 1_000


class Example:
    """The share partition of group G1, and its coordinator's stored state."""

    def __init__(self) -> None:
        self.persisted = Persisted(start=100)
        self.partition = share_partition(start=100, lock_ms=LOCK_MS)
        self.writes = 0

    def acknowledge(
        self, member: str, first: int, last: int, kind: int
    ) -> tuple[int, int, list[tuple[int, int, int, int]]]:
        """Acknowledge, and return the write: (start offset, delivery complete count, batches)."""
        effects = ack(self.partition, first, last, kind, member=member).effects
        return self._store(effects)

    def expire(self, now_ms: int) -> tuple[int, int, list[tuple[int, int, int, int]]]:
        return self._store(self.partition.on_deadline(now_ms))

    def _store(self, effects: tuple[object, ...]) -> tuple[int, int, list[tuple[int, int, int, int]]]:
        write = write_of(effects)  # type: ignore[arg-type]
        self.persisted.apply(write)
        self.writes += 1
        written(self.partition, [write])
        return write.start_offset, write.delivery_complete_count, rows_of(write)

    def now(self) -> tuple[int, int, str]:
        """Return the start offset, the exclusive end offset and the records in flight."""
        partition = self.partition
        in_flight = states(partition)
        return partition.start_offset, partition.end_offset + 1 if in_flight else partition.end_offset, in_flight

    def normalised(self) -> tuple[int, list[tuple[int, int, int, int]]]:
        rows = [tuple(row) for row in self.persisted.batches()]
        start = self.persisted.start
        while rows and rows[0][0] == start and rows[0][2] in (2, 4):
            start = rows.pop(0)[1] + 1
        return start, rows  # type: ignore[return-value]

    def restarted(self) -> SharePartition:
        partition = SharePartition(KEY, 4, settings(lock_ms=LOCK_MS))
        partition.load(7, self.persisted.start, self.persisted.batches(), log_start_offset=0, log_end_offset=LOG_END)
        return partition


def until_120_is_fetched(example: Example) -> None:
    """Apply the table's rows up to and including "fetch 110 and 120", and compare each with the table."""
    partition = example.partition
    assert example.now() == (100, 100, "")  # start
    assert example.normalised() == (100, [])

    assert fetch(partition, batches(100, 109), C1) == [(100, 109, 1)]
    assert example.now() == (100, 110, "100-109 Acquired(1) c1")

    assert example.acknowledge(C1, 100, 109, ACCEPT) == (100, 10, [(100, 109, 2, 1)])
    assert example.now() == (110, 110, "")
    assert example.normalised() == (110, [])

    log = batches(110, 120)
    assert fetch(partition, log, C1, max_records=3) == [(110, 112, 1)]
    assert fetch(partition, log[3:], C2, max_records=6, now_ms=500) == [(113, 118, 1)]
    assert fetch(partition, log[9:], C3, max_records=1, now_ms=500) == [(119, 119, 1)]
    assert example.now() == (
        110,
        120,
        "110-112 Acquired(1) c1, 113-118 Acquired(1) c2, 119 Acquired(1) c3",
    )

    assert example.acknowledge(C1, 110, 110, RELEASE) == (110, 0, [(110, 110, 0, 1)])
    assert example.now() == (
        110,
        120,
        "110 Available(1), 111-112 Acquired(1) c1, 113-118 Acquired(1) c2, 119 Acquired(1) c3",
    )
    assert example.normalised() == (110, [(110, 110, 0, 1)])

    assert example.acknowledge(C3, 119, 119, ACCEPT) == (110, 1, [(119, 119, 2, 1)])
    assert example.normalised() == (110, [(110, 110, 0, 1), (119, 119, 2, 1)])

    assert partition.next_fetch_offset() == 110
    assert fetch(partition, log, C1, now_ms=600) == [(110, 110, 2), (120, 120, 1)]
    assert example.now() == (
        110,
        121,
        "110 Acquired(2) c1, 111-112 Acquired(1) c1, 113-118 Acquired(1) c2, 119 Acknowledged(1), 120 Acquired(1) c1",
    )
    assert example.normalised() == (110, [(110, 110, 0, 1), (119, 119, 2, 1)])


def test_every_row_of_the_table() -> None:
    example = Example()
    until_120_is_fetched(example)
    partition = example.partition

    assert example.expire(LOCK_MS) == (110, 1, [(111, 112, 0, 1)])  # c1 kept 111 and 112 too long
    assert example.now() == (
        110,
        121,
        "110 Acquired(2) c1, 111-112 Available(1), 113-118 Acquired(1) c2, 119 Acknowledged(1), 120 Acquired(1) c1",
    )
    assert example.normalised() == (110, [(110, 112, 0, 1), (119, 119, 2, 1)])

    assert example.acknowledge(C2, 113, 118, ACCEPT) == (110, 7, [(113, 118, 2, 1)])
    assert example.normalised() == (110, [(110, 112, 0, 1), (113, 119, 2, 1)])

    assert fetch(partition, batches(111, 120), C3, now_ms=1_100) == [(111, 112, 2)]
    assert example.now() == (
        110,
        121,
        "110 Acquired(2) c1, 111-112 Acquired(2) c3, 113-118 Acknowledged(1), 119 Acknowledged(1), 120 Acquired(1) c1",
    )

    assert example.acknowledge(C1, 110, 110, ACCEPT) == (110, 8, [(110, 110, 2, 2)])
    assert example.now()[:2] == (111, 121)
    assert partition.delivery_complete_count == 7
    assert example.normalised() == (111, [(111, 112, 0, 1), (113, 119, 2, 1)])

    assert example.acknowledge(C3, 111, 112, ACCEPT) == (111, 9, [(111, 112, 2, 2)])
    assert example.now() == (120, 121, "120 Acquired(1) c1")
    assert partition.delivery_complete_count == 0
    assert example.normalised() == (120, [])
    assert example.writes == 7  # fetching writes nothing; the table's eighth write, the start offset, is the shell's


def test_a_crash_after_120_was_fetched_delivers_again_what_was_not_written() -> None:
    """110 comes again with count 2, 111-118 and 120 with 1: only 110 Available(1), 119 Acknowledged(1) are stored."""
    example = Example()
    until_120_is_fetched(example)
    partition = example.restarted()
    log = batches(110, 120)
    got: list[tuple[int, int, int]] = []
    while partition.next_fetch_offset() <= 120:
        got += fetch(partition, log[partition.next_fetch_offset() - 110 :], C2)
    assert got == [(110, 110, 2), (111, 118, 1), (120, 120, 1)]


def test_a_crash_after_the_last_row_delivers_only_120_again() -> None:
    example = Example()
    until_120_is_fetched(example)
    example.expire(LOCK_MS)
    example.acknowledge(C2, 113, 118, ACCEPT)
    fetch(example.partition, batches(111, 120), C3, now_ms=1_100)
    example.acknowledge(C1, 110, 110, ACCEPT)
    example.acknowledge(C3, 111, 112, ACCEPT)
    partition = example.restarted()
    assert (partition.start_offset, partition.next_fetch_offset(), states(partition)) == (120, 120, "")
    assert fetch(partition, batches(120, 120), C2) == [(120, 120, 1)]


def test_the_same_deliveries_from_one_record_batch_in_record_limit_mode() -> None:
    """One record batch of ten is cut by MaxRecords 3, 6 and 1 (KIP-1206)."""
    partition = share_partition(start=110)
    log = batches(110, 119, 10)
    assert fetch(partition, log, C1, max_records=3, mode=RECORDS) == [(110, 112, 1)]
    assert fetch(partition, log, C2, max_records=6, mode=RECORDS) == [(113, 118, 1)]
    assert fetch(partition, log, C3, max_records=1, mode=RECORDS) == [(119, 119, 1)]
