"""Copies of all kinds of logs by runs that are killed anywhere, with lost responses and late batches."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Final

import pytest

from shareq.client.errors import ClientError, Unreachable
from shareq.ops.migrate import journal, offset_syncs
from shareq.ops.migrate.errors import Conflict
from shareq.ops.migrate.groups import GroupOptions, Groups
from shareq.ops.migrate.journal import MovedTopic
from shareq.ops.migrate.journal import topic as topic_entry
from shareq.ops.migrate.journal_topic import JournalTopic
from shareq.ops.migrate.mapping import downstream
from shareq.ops.migrate.plan import STAGING, total_row
from shareq.ops.migrate.ports import Partition, Sample, SentBatch, Topic
from shareq.ops.migrate.report import MigrationRow
from shareq.ops.migrate.run import AT_ONCE, NO_PROGRESS, Migration, Options, Progress, in_turns
from shareq.protocol.records.batch import build_batch, decode_records, read_header, stamp
from shareq.protocol.records.record_codec import Record, RecordData
from tests.support.each import for_each
from tests.support.fakes.migration_clusters import (
    Fate,
    Killed,
    MemorySource,
    MemoryTarget,
    compact,
    fill,
    keep_last,
)
from tests.support.fakes.migration_groups import NewGroups, OldGroups
from tests.support.fixed_seeds import FixedSeeds

ORDERS: Final = Topic("orders", "", 2, False, {"cleanup.policy": "compact", "shareq.made.up": "1"}, 1_000_000)
MOST_RUNS: Final = 60


def clusters(seed: int, fate: Fate) -> tuple[MemorySource, MemoryTarget]:
    """Return a source with all kinds of logs, one of which begins inside a batch."""
    random = Random(seed)
    source = MemorySource("old", Fate())
    source.make(ORDERS)
    source.make(Topic("__consumer_offsets", "", 1, True, {}))
    for number in range(2):
        fill(source.logs["orders", number], random, random.randint(0, 40))
    first = source.logs["orders", 0]
    first.start = random.randint(0, first.end // 2)
    return source, MemoryTarget("new", fate, refuses=["shareq.made.up"])


def moved(source: MemorySource, target: MemoryTarget, *, cut_over: bool = False) -> list[MigrationRow]:
    migration = migration_of(source, target, cut_over=cut_over)
    return list(migration.run(migration.plan()))


def migration_of(
    source: MemorySource, target: MemoryTarget, *, cut_over: bool = False, progress: Progress = NO_PROGRESS
) -> Migration:
    old, new = OldGroups(), NewGroups(target.fate)
    options = Options(cut_over=cut_over)
    return Migration(source, target, options, lambda topic: Groups(old, new, topic, GroupOptions()), progress=progress)


def content(records: list[Record]) -> list[tuple[object, ...]]:
    return [(each.timestamp, each.key, each.value, each.headers) for each in records]


def check_same(source: MemorySource, target: MemoryTarget) -> None:
    """Check that each record is at the target once, in order, and that each offset maps to its own."""
    topic = JournalTopic(target, "old")
    assert topic.read()
    for number in range(2):
        partition = "orders", number
        there, here = target.logs[partition], source.logs[partition]
        assert content(there.records()) == content(here.records())
        assert [each.offset for each in there.records()] == list(range(there.end))
        offsets = [each.offset for each in here.records()]
        copied = topic.known.copied(*partition)
        expected = {offset: bisect_left(offsets, offset) for offset in range(here.end + 1)}
        assert downstream(topic, copied, expected) == expected
        some = expected.keys() & {0, here.end // 3, here.end // 2, here.end}
        assert downstream(topic, copied, some) == {each: expected[each] for each in some}


def run_seed(seed: int) -> Counter[str]:
    random = Random(seed)
    fate = Fate(seed, kill=random.choice([0.01, 0.03, 0.1]), lose=random.choice([0.0, 0.1]))
    source, target = clusters(seed, fate)
    runs = 0
    while True:
        runs += 1
        if runs > MOST_RUNS:
            fate.kill = fate.lose = 0.0
        try:
            rows = moved(source, target)
        except Killed:
            if random.random() < 0.1:
                fill(source.logs["orders", 1], random, 3)  # producers go on
            continue
        except Conflict as error:
            # A killed run's append to the journal, which arrived late and which the next run had not read.
            if "another shareq migrate" not in str(error):
                raise
            fate.happened["overtaken"] = fate.happened.get("overtaken", 0) + 1
            continue
        break
    assert {row.outcome for row in rows if row.kind == "records"} == {"verified"}
    fate.kill = fate.lose = 0.0
    check_same(source, target)
    for late in fate.late:
        late()
    check_same(source, target)
    return Counter({**fate.happened, "runs": runs})


@pytest.fixture(autouse=True)
def close_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_syncs, "SPACING_BYTES", 300)


FIXED = FixedSeeds(run_seed, range(30), chunk=6)


@pytest.mark.parametrize("first", FIXED.firsts)
def test_whatever_ends_a_run_each_record_is_copied_once(first: int) -> None:
    FIXED.run_from(first)


def test_enough_has_happened() -> None:
    assert not FIXED.too_seldom({"killed": 100, "lost": 30, "late": 10})


# -- one thing at a time


def still(seed: int = 3) -> tuple[MemorySource, MemoryTarget]:
    return clusters(seed, Fate())


def test_a_topic_is_staged_until_the_cut_over_and_has_its_own_properties_then() -> None:
    source, target = still()
    moved(source, target)
    staged = target.known["orders"].configs
    assert staged.items() >= STAGING.items()
    assert int(staged["max.message.bytes"]) > ORDERS.largest_batch
    rows = moved(source, target, cut_over=True)
    assert target.known["orders"].configs == {"cleanup.policy": "compact"}
    assert [(row.outcome, row.note) for row in rows if row.kind != "records"] == [
        ("moved", ""),
        ("left", "shareq.made.up: Unknown topic config name: shareq.made.up"),
    ]


def test_a_plan_changes_nothing() -> None:
    source, target = still()
    migration = migration_of(source, target)
    rows = list(migration.planned_rows(migration.plan()))
    assert [(row.kind, row.outcome) for row in rows] == [
        ("topic", "planned"),
        ("config", "left"),
        ("records", "planned"),
        ("records", "planned"),
        ("total", "planned"),
    ]
    assert not target.known


def total(source: MemorySource, target: MemoryTarget) -> MigrationRow:
    migration = migration_of(source, target)
    return list(migration.planned_rows(migration.plan()))[-1]


def test_a_plan_says_what_is_left_to_copy() -> None:
    source, target = still()
    everything = total(source, target)
    assert everything.bytes == sum(source.sizes().values())
    moved(source, target)
    assert (total(source, target).bytes, total(source, target).note) == (0, "nothing is left to copy")
    source.logs["orders", 1].append(build_batch([RecordData(b"k", b"v")], timestamp_ms=1))
    assert 0 < (total(source, target).bytes or 0) < (everything.bytes or 0)
    moved(source, target, cut_over=True)
    source.logs["orders", 1].append(build_batch([RecordData(b"k", b"v")], timestamp_ms=1))
    assert total(source, target).bytes == 0  # nothing is copied any more


@for_each("size", [None, 8_000_000])
def test_a_plan_says_how_long_by_what_was_read_just_now(size: int | None) -> None:
    """The sample gives the estimate where the source, as nodes do, reports no sizes."""
    row = total_row(400, size, Sample(2_000_000, 100, 0.5))
    assert row.bytes == 8_000_000
    about = "" if size else "about "
    assert row.note.startswith(f"{about}8.0 MB to copy: 2 s at least, by 2.0 MB that were read in 0.5 s at the source")


def test_a_topic_that_the_target_has_is_left_alone() -> None:
    source, target = still()
    target.make(ORDERS)
    (row,) = moved(source, target, cut_over=True)
    assert (row.outcome, row.note) == (
        "refused",
        "the target has a topic of this name that this migration has not made",
    )
    assert target.logs["orders", 0].end == 0


def test_a_topic_that_is_made_again_by_another_is_left_alone() -> None:
    source, target = still()
    moved(source, target)
    target.make(ORDERS)
    (row,) = moved(source, target)
    assert (row.outcome, row.note) == (
        "refused",
        "this migration has made it at the target, and another one has made it again there",
    )


def test_a_topic_that_was_deleted_at_the_target_is_copied_once_more() -> None:
    source, target = still()
    moved(source, target)
    del target.known["orders"]
    moved(source, target)
    check_same(source, target)


def test_a_target_that_lost_what_it_had_confirmed_gets_it_again() -> None:
    source, target = still()
    moved(source, target)
    log = target.logs["orders", 1]
    lost = [read_header(batch) for batch in log.batches[-3:]]
    del log.batches[-3:]
    log.end = lost[0].base_offset
    log.producers.clear()
    moved(source, target)
    check_same(source, target)


@for_each("numbers", [2, 6, 8_000])
@for_each("seed", range(10))
def test_an_offset_is_found_whatever_the_source_has_lost_since(
    seed: int, numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offset_syncs, "SPACING_BYTES", 10_000)
    monkeypatch.setattr(offset_syncs, "MOST_NUMBERS", numbers)
    random = Random(seed)
    source, target = clusters(seed, Fate())
    log = source.logs["orders", 1]
    offsets = [each.offset for each in log.records()]
    expected = {offset: bisect_left(offsets, offset) for offset in range(log.end + 1)}
    moved(source, target)
    compact(log, random)
    fill(log, random, 3)
    log.start = log.end // 3
    moved(source, target)
    topic = JournalTopic(target, "old")
    topic.read()
    assert downstream(topic, topic.known.copied("orders", 1), expected) == expected


def test_a_target_that_lost_what_it_had_confirmed_is_found_after_its_journal_was_compacted() -> None:
    """What is written again comes after journal entries with a higher number, which were lost."""
    source, target = clusters(7, Fate())
    moved(source, target)
    log = target.logs["orders", 1]
    left = len(log.batches) // 2
    log.end = read_header(log.batches[left]).base_offset
    del log.batches[left:]
    log.producers.clear()
    moved(source, target)
    keep_last(target.logs[journal.name_of("old"), 0])
    check_same(source, target)
    assert {row.outcome for row in moved(source, target) if row.kind == "records"} == {"verified"}


def test_records_of_others_at_the_target_are_a_conflict() -> None:
    source, target = still()
    moved(source, target)
    target.logs["orders", 1].produce(build_batch([RecordData(b"k", b"v")], timestamp_ms=1))
    with pytest.raises(Conflict, match=r"partition orders-1 ends at offset \d+ at the target, the copy at \d+"):
        moved(source, target)


def test_two_runs_at_a_time_are_a_conflict() -> None:
    _, target = still()
    first, second = JournalTopic(target, "old"), JournalTopic(target, "old")
    first.open()
    second.open()
    first.write([topic_entry("orders", MovedTopic())])
    with pytest.raises(Conflict, match="another shareq migrate writes to topic"):
        second.write([topic_entry("returns", MovedTopic())])


def test_a_journal_that_is_damaged_is_not_believed() -> None:
    source, target = clusters(1, Fate())
    moved(source, target)
    log = target.logs[journal.name_of("old"), 0]
    log.batches[2] = log.batches[2][:-1] + bytes([log.batches[2][-1] ^ 1])
    with pytest.raises(Conflict, match="is damaged"):
        moved(source, target)


def test_what_comes_after_the_cut_over_is_reported() -> None:
    source, target = still()
    moved(source, target, cut_over=True)
    end = source.logs["orders", 1].end
    source.logs["orders", 1].append(build_batch([RecordData(b"k", b"v")], timestamp_ms=1))
    (row,) = [row for row in moved(source, target, cut_over=True) if row.outcome == "differs"]
    assert row.note == f"offsets {end} to {end} came after the cut-over, and are at the source alone"


def test_a_byte_that_differs_at_the_target_is_found() -> None:
    source, target = still()
    moved(source, target)
    log = target.logs["orders", 1]
    other = decode_records(log.batches[4], exact=True)
    records = [RecordData(each.key, b"other", each.headers, each.timestamp) for each in other]
    changed = build_batch(records, timestamp_ms=0)
    stamp(changed, read_header(log.batches[4]).base_offset, 0)
    log.batches[4] = bytes(changed)
    (row,) = [row for row in migration_of(source, target).verify_only() if row.outcome == "differs"]
    assert row.partition == 1
    assert row.note.startswith("differs in offsets ")


def test_parts_are_compared_while_others_are_copied() -> None:
    """The written records are still in the target's memory at that time."""
    source, target = still()
    for number in range(2):
        fill(source.logs["orders", number], Random(number), 60)
    done: list[tuple[str, int]] = []
    progress = Progress(
        copied=lambda size: done.append(("copied", size)), compared=lambda size: done.append(("compared", size))
    )
    migration = migration_of(source, target, progress=progress)
    rows = list(migration.run(migration.plan()))
    assert {row.outcome for row in rows if row.kind == "records"} == {"verified"}
    ahead = most = 0
    for what, size in done:
        ahead += size if what == "copied" else -size
        most = max(most, ahead)
    assert ahead == 0  # each part once
    assert most < sum(size for what, size in done if what == "copied") / 4


def test_works_take_turns_and_few_are_under_way_at_once() -> None:
    begun: list[int] = []
    ended: list[int] = []

    def work(number: int) -> Iterator[None]:
        begun.append(number)
        for _ in range(3):
            assert len(begun) - len(ended) <= AT_ONCE
            yield
        ended.append(number)

    in_turns(work(number) for number in range(10))
    assert begun == ended == list(range(10))


def test_damage_at_the_source_is_not_copied() -> None:
    source, target = still()
    log = source.logs["orders", 1]
    log.batches[2] = log.batches[2][:-1] + bytes([log.batches[2][-1] ^ 1])
    with pytest.raises(ClientError, match=r"partition orders-1 at the source: the batch at offset .* is damaged"):
        moved(source, target)


class Restarted(MemoryTarget):
    """A target that is killed after `dies_at` batches, and then knows none of their producers.

    Apache Kafka forgets producers whose last batch has a timestamp of a day ago, or none.
    """

    dies_at = -1

    def send(self, partition: Partition, batch: bytes | bytearray) -> SentBatch:
        sent = super().send(partition, batch)
        self.dies_at -= 1
        return NeverAnswered() if self.dies_at == 0 else sent

    def pause(self, error: ClientError) -> None:
        for log in self.logs.values():
            log.producers.clear()


class NeverAnswered:
    def appended(self) -> int | None:
        raise Unreachable("no answer")


@pytest.mark.parametrize("dies_at", [1, 2, 3, 4, 5, 6, 7, 8])
def test_a_batch_that_a_killed_target_has_taken_is_not_sent_again(dies_at: int) -> None:
    source, _ = clusters(3, Fate())
    target = Restarted("new", Fate(), refuses=["shareq.made.up"])
    target.dies_at = dies_at
    moved(source, target)
    assert target.dies_at < 0
    check_same(source, target)
