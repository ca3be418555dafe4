"""The work of a cut-over depends on the records since the last pass, not on the topic's size; counted, not timed."""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from shareq.ops.migrate.group_ports import Committed, ShareState, StateRange
from shareq.ops.migrate.groups import GroupOptions, Groups
from shareq.ops.migrate.ports import Partition, Topic
from shareq.ops.migrate.report import MigrationRow
from shareq.ops.migrate.run import Migration, Options, Progress
from shareq.protocol.records.batch import build_batch
from shareq.protocol.records.record_codec import RecordData
from tests.support.fakes.migration_clusters import Fate, MemorySource, MemoryTarget, fill
from tests.support.fakes.migration_groups import NewGroups, OldGroups

PARTITIONS: Final = 20
NEW: Final = 3
"""The batches that each partition gets during the last pass of the run, and again at the cut-over."""
DONE: Final = 10
"""The offsets that the share group finishes meanwhile."""
MOST_BATCHES: Final = PARTITIONS * (2 * NEW + DONE + 12)
"""The most batches that are read: new records once at the source and once at the target, finished ones once. A fetch
may return some batches more.
"""
MOST_CALLS: Final = PARTITIONS * 20


class Counts(NamedTuple):
    calls: int
    batches: int


class World:
    """A topic with transactions, whose offsets differ between the clusters, and groups in the middle of it."""

    def __init__(self, batches: int) -> None:
        random = Random(batches)
        self.source, self.target = MemorySource("old", Fate()), MemoryTarget("new", Fate())
        self.source.make(Topic("orders", "", PARTITIONS, False, {}))
        self.old, self.new = OldGroups(), NewGroups(self.target.fate)
        self.middles: dict[Partition, int] = {}
        for partition, log in self.source.logs.items():
            fill(log, random, batches)
            self.middles[partition] = log.end // 2
        self.old.committed["readers"] = {each: Committed(at) for each, at in self.middles.items()}
        self.go_on(0)
        self.at_cut_over: list[Counts] = []

    def go_on(self, by: int) -> None:
        """Let the share group consume some records in each partition."""
        starts = {each: at + by for each, at in self.middles.items()}
        self.old.states["packers"] = {
            each: ShareState(start, (StateRange(start + 2, start + 3, 2, 1),)) for each, start in starts.items()
        }

    def produce(self) -> None:
        for log in self.source.logs.values():
            for _ in range(NEW):
                log.append(build_batch([RecordData(b"k", b"v")], timestamp_ms=1))

    def counts(self) -> Counts:
        return Counts(self.source.asked + self.target.asked, self.source.read + self.target.read)

    def cut_over(self, begins: bool) -> None:
        self.at_cut_over.append(self.counts())
        if begins:
            self.produce()
            self.go_on(DONE)

    def run(self) -> list[MigrationRow]:
        migration = Migration(
            self.source,
            self.target,
            Options(cut_over=True),
            lambda topic: Groups(self.old, self.new, topic, GroupOptions()),
            progress=Progress(cut_over=self.cut_over),
        )
        return list(migration.run(migration.plan()))


def cut_over(batches: int) -> tuple[Counts, Counts]:
    world = World(batches)
    rows = world.run()
    assert {row.outcome for row in rows} == {"moved", "verified"}
    for partition, log in world.source.logs.items():
        ids = [each.offset for each in log.records()]
        start = world.middles[partition] + DONE
        assert [each for each in ids if each >= start] == ids[world.new.states["packers"][partition].start :]
    before, after = world.at_cut_over
    return world.counts(), Counts(after.calls - before.calls, after.batches - before.batches)


def test_a_cut_over_is_as_long_whatever_the_topics_have() -> None:
    for batches in (40, 160):
        whole, last = cut_over(batches)
        assert whole.batches > 2 * PARTITIONS * batches  # the count includes everything that is read
        assert last.batches <= MOST_BATCHES
        assert last.calls <= MOST_CALLS


def test_a_transaction_that_stays_open_stops_the_cut_over_before_anything_is_taken_over() -> None:
    world = World(20)
    world.source.logs["orders", 3].open_from = 7
    (row,) = [row for row in world.run() if row.outcome == "refused"]
    assert row[:3] == ("records", "orders", 3)
    assert row.note == "a transaction is open from offset 7 on: end its producer, or abort it"
    assert not world.old.taken
    assert not world.at_cut_over
