"""Positions of groups, transferred once by runs that are killed anywhere, to the offsets of the same records."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from random import Random

import pytest

from shareq.client.errors import BrokerError
from shareq.ops.migrate import offset_syncs
from shareq.ops.migrate.errors import Conflict
from shareq.ops.migrate.group_ports import Committed, Redrive, ShareState, StateRange
from shareq.ops.migrate.groups import GroupOptions, Groups
from shareq.ops.migrate.ports import Partition, Topic
from shareq.ops.migrate.report import MigrationRow
from shareq.ops.migrate.run import Migration, Options
from shareq.ops.migrate.states import Comparison, compared, offsets_in, translated
from shareq.protocol.errors import ErrorCode
from tests.support.each import for_each
from tests.support.fakes.migration_clusters import Fate, Killed, MemorySource, MemoryTarget, compact, fill
from tests.support.fakes.migration_groups import ALL_STATES, NewGroups, OldGroups

PARTITION = "orders", 0


class World:
    """A topic with all kinds of batches, and groups that have consumed part of it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.fate = Fate(seed)
        self.source = MemorySource("old", Fate())
        self.source.make(Topic("orders", "", 1, False, {}))
        self.target = MemoryTarget("new", self.fate)
        self.log = self.source.logs[PARTITION]
        fill(self.log, self.random, 30)
        self.old = OldGroups()
        self.new = NewGroups(self.fate)

    def state(self) -> ShareState:
        """Return a state with ranges of all kinds, up to the log's end at most."""
        points = sorted(self.random.sample(range(self.log.end + 1), self.random.randint(2, 9)))
        ranges = [
            StateRange(first, after - 1, self.random.choice(ALL_STATES), self.random.randint(1, 4))
            for first, after in pairwise(points)
            if self.random.random() < 0.7
        ]
        return ShareState(points[0], tuple(ranges))

    def migration(self, *groups: str, at_least_once: bool = False, cut_over: bool = True) -> Migration:
        options = GroupOptions(groups, at_least_once)
        return Migration(
            self.source,
            self.target,
            Options(cut_over=cut_over),
            lambda topic: Groups(self.old, self.new, topic, options),
        )

    def run(self, *groups: str, at_least_once: bool = False) -> list[MigrationRow]:
        migration = self.migration(*groups, at_least_once=at_least_once)
        return list(migration.run(migration.plan()))

    def run_until_done(self) -> list[MigrationRow]:
        while True:
            try:
                return self.run()
            except Killed:
                self.fate.kill *= 0.95
            except Conflict as error:  # a killed run's write arrived late
                if "another shareq migrate" not in str(error):
                    raise

    def ids(self) -> list[int]:
        return [each.offset for each in self.log.records()]


def what_is_known(state: ShareState, offsets: Collection[int]) -> dict[int, tuple[int, int]]:
    return {
        offset: (each.state, each.deliveries)
        for each in state.ranges
        for offset in offsets
        if each.first <= offset <= each.last and offset >= state.start
    }


@pytest.fixture(autouse=True)
def close_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_syncs, "SPACING_BYTES", 300)


@for_each("seed", range(25))
def test_what_a_share_group_has_done_is_known_of_the_same_records(seed: int) -> None:
    world = World(seed)
    state = world.state()
    world.old.states["packers"] = {PARTITION: state}
    world.fate.kill = 0.05
    world.run_until_done()
    ids = world.ids()
    moved = world.new.states["packers"][PARTITION]
    there = {ids[offset]: known for offset, known in what_is_known(moved, range(len(ids))).items()}
    assert there == what_is_known(state, ids)
    assert [each for each in ids if each >= state.start] == ids[moved.start :]
    assert ("packers", PARTITION) in world.old.taken


@for_each("seed", range(25))
def test_a_committed_offset_is_that_of_the_same_record(seed: int) -> None:
    world = World(seed)
    offset = world.random.randint(0, world.log.end)
    world.old.committed["readers"] = {PARTITION: Committed(offset, "mine"), ("others", 0): Committed(3)}
    world.fate.kill = 0.05
    world.run_until_done()
    ids = world.ids()
    (moved,) = world.new.committed["readers"].values()
    assert [each for each in ids if each >= offset] == ids[moved.offset :]
    assert moved.metadata == "mine"


@for_each("seed", range(10))
def test_what_groups_have_done_is_that_of_the_same_records_when_the_source_was_compacted_since(seed: int) -> None:
    """Of the source's records fewer are left than were copied, so offsets are mapped without counting them."""
    world = World(seed)
    ids = world.ids()
    list((copy := world.migration(cut_over=False)).run(copy.plan()))
    state = world.state()
    offset = world.random.randint(0, world.log.end)
    world.old.states["packers"] = {PARTITION: state}
    world.old.committed["readers"] = {PARTITION: Committed(offset)}
    compact(world.log, world.random)
    world.run()
    moved = world.new.states["packers"][PARTITION]
    assert [each for each in ids if each >= offset] == ids[world.new.committed["readers"][PARTITION].offset :]
    assert [each for each in ids if each >= state.start] == ids[moved.start :]
    assert {ids[at]: known for at, known in what_is_known(moved, range(len(ids))).items()} == what_is_known(state, ids)


def test_what_was_handed_over_is_the_targets_own() -> None:
    world = World(1)
    world.old.committed["readers"] = {PARTITION: Committed(2)}
    world.old.states["packers"] = {PARTITION: ShareState(1, ())}
    world.run()
    world.new.committed["readers"][PARTITION] = Committed(9)
    world.new.states["packers"][PARTITION] = ShareState(9, ())
    world.run()
    assert world.new.committed["readers"][PARTITION].offset == 9
    assert world.new.states["packers"][PARTITION].start == 9


def test_groups_may_follow_when_the_topics_are_opened() -> None:
    """Two runs move the groups: share groups are the nodes', consumer groups their cluster's, at another address."""
    world = World(1)
    world.old.committed["readers"] = {PARTITION: Committed(2)}
    world.old.states["packers"] = {PARTITION: ShareState(1, ())}
    world.run("packers")
    assert "readers" not in world.new.committed
    assert [row.outcome for row in world.run("readers") if row.name == "readers"] == ["moved"]
    assert PARTITION in world.new.committed["readers"]


def test_what_others_have_done_at_the_target_is_left() -> None:
    world = World(1)
    world.old.committed["readers"] = {PARTITION: Committed(2)}
    world.old.states["packers"] = {PARTITION: ShareState(1, ())}
    world.new.committed["readers"] = {PARTITION: Committed(9)}
    world.new.states["packers"] = {PARTITION: ShareState(9, ())}
    refused = {row.name: row.note for row in world.run() if row.outcome == "refused"}
    assert refused == {
        "readers": "orders: the target has an offset of its own",
        "packers": "orders: the group has begun at the target",
    }
    assert world.new.committed["readers"][PARTITION].offset == 9
    assert world.new.states["packers"][PARTITION].start == 9


def test_groups_with_members_stop_the_cut_over_before_anything_is_taken_over() -> None:
    world = World(1)
    world.old.committed["readers"] = {PARTITION: Committed(2)}
    world.old.members.add("readers")
    world.old.states["packers"] = {PARTITION: ShareState(1, ())}
    rows = world.run()
    assert [(row.name, row.outcome) for row in rows if row.kind == "offsets"] == [("readers", "refused")]
    assert [row.outcome for row in rows if row.kind == "topic"] == ["copied"]
    assert not world.old.taken
    assert not world.new.committed


def test_a_share_group_with_members_at_the_target_is_refused() -> None:
    world = World(1)
    world.old.states["packers"] = {PARTITION: ShareState(1, ())}
    world.new.members.add("packers")
    (row,) = [row for row in world.run() if row.kind == "share-group"]
    assert (row.outcome, row.note) == ("refused", str(BrokerError(ErrorCode.NON_EMPTY_GROUP, "share group packers")))


def test_where_no_state_can_be_written_the_operator_decides() -> None:
    world = World(1)
    state = ShareState(0, (StateRange(0, 1, 0, 1), StateRange(2, world.log.end - 1, 2, 1)))
    world.old.states["packers"] = {PARTITION: state}
    world.new.writable = ()
    (row,) = [row for row in world.run() if row.kind == "share-group"]
    assert row.outcome == "refused"
    assert "--at-least-once" in row.note
    assert not world.old.taken
    (row,) = [row for row in world.run(at_least_once=True) if row.kind == "share-group"]
    done = sum(offset >= 2 for offset in world.ids())
    assert (row.outcome, row.note) == ("moved", f"orders: {done} records that are done come again")
    assert world.new.states["packers"][PARTITION] == ShareState(0, ())


def test_properties_that_the_target_does_not_know_are_named() -> None:
    world = World(1)
    world.old.configs["packers"] = {"share.isolation.level": "read_committed", "shareq.paused": "true"}
    rows = [(row.outcome, row.note) for row in world.run() if row.kind == "config"]
    assert rows == [("moved", "share.isolation.level"), ("left", "shareq.paused: Unknown group config")]
    assert world.new.configs == {"packers": {"share.isolation.level": "read_committed"}}


def test_properties_of_many_groups_take_few_requests() -> None:
    world = World(1)
    isolation = {"share.isolation.level": "read_committed"}
    world.old.configs = {f"g{each}": dict(isolation) for each in range(50)}
    world.run()
    assert len(world.new.changes) == 1
    assert len(world.new.configs) == 50
    for each in range(10):
        world.old.configs[f"g{each}"] |= {"shareq.paused": "true", "share.record.lock.duration.ms": "20000"}
    world.run()
    assert len(world.new.changes) == 1 + 1 + 3
    assert world.new.configs["g3"] == {**isolation, "share.record.lock.duration.ms": "20000"}


def test_a_redrive_ends_with_the_cut_over_before_the_last_records_are_copied() -> None:
    world = World(1)
    world.old.under_way = [Redrive("again", "dead", "orders", 7), Redrive("other", "dead", "returns", 3)]
    migration = world.migration()
    planned = [row for row in migration.planned_rows(migration.plan()) if row.kind == "redrive"]
    assert [(row.name, row.outcome) for row in planned] == [("again", "left")]
    assert len(world.old.under_way) == 2
    (row,) = [row for row in world.run() if row.kind == "redrive"]
    assert row.note == "ends with the cut-over: 7 letters of dead were not looked at, and stay there"
    assert [each.name for each in world.old.under_way] == ["other"]


def test_records_whose_delays_end_are_counted() -> None:
    world = World(1)
    ranges = (StateRange(0, 0, 0, 1), StateRange(1, 1, 2, 1), StateRange(2, 2, 0, 2))
    world.old.states["packers"] = {PARTITION: ShareState(0, ranges)}
    world.old.configs["packers"] = {"shareq.redelivery.backoff.ms": "1000"}
    (row,) = [row for row in world.run() if row.kind == "share-group"]
    there = sum(offset in (0, 2) for offset in world.ids())
    assert row.note == f"orders; {there} that failed are available at once, as their delays end"


def test_what_was_handed_over_is_compared() -> None:
    world = World(1)
    world.old.committed["readers"] = {PARTITION: Committed(2)}
    world.old.states["packers"] = {PARTITION: ShareState(3, ())}
    world.run()

    def rows() -> dict[str, tuple[str, str]]:
        return {row.name: (row.outcome, row.note) for row in world.migration().verify_only() if row.kind != "records"}

    assert rows() == {"readers": ("verified", "orders"), "packers": ("verified", "orders")}
    world.new.committed["readers"][PARTITION] = Committed(0)
    world.new.states["packers"][PARTITION] = ShareState(25, ())
    assert rows() == {
        "readers": ("differs", "orders: the group is at 0 at the target"),
        "packers": ("verified", "orders: has gone on to 25"),
    }


class SlowGroups(NewGroups):
    """A target whose share coordinators execute requests of killed first runs late."""

    def __init__(self, fate: Fate, kills: int) -> None:
        super().__init__(fate)
        self.kills = kills
        self.late: list[Mapping[Partition, int]] = []

    def begin(self, group: str, starts: Mapping[Partition, int]) -> int:
        if len(self.late) < self.kills:
            self.late.append(starts)
            raise Killed
        return super().begin(group, starts)


@for_each("kills", [1, 2, 3])
def test_what_killed_runs_asked_for_is_refused_once_a_run_has_ended(kills: int) -> None:
    """Apache Kafka 4.3.1 retries after one, two and four seconds, whatever happened to the client."""
    world = World(1)
    world.new = slow = SlowGroups(world.fate, kills)
    world.old.states["packers"] = {PARTITION: ShareState(0, (StateRange(0, world.log.end - 1, 2, 1),))}
    world.run_until_done()
    moved = slow.states["packers"][PARTITION]
    assert moved.ranges
    assert len(slow.late) == kills
    for starts in slow.late:
        slow.initialize("packers", starts, 0)
    assert slow.states["packers"][PARTITION] == moved
    assert verified_states(world) == [("verified", "orders")]


@for_each("seed", range(50))
def test_what_comes_late_takes_nothing_back(seed: int) -> None:
    """Runs are killed anywhere, and requests that the target did not answer in time are repeated."""
    world = World(seed)
    world.old.states["packers"] = {PARTITION: world.state(), ("others", 0): None}
    world.fate.kill, world.fate.lose = 0.05, 0.3
    world.run_until_done()
    moved = world.new.states["packers"][PARTITION]
    world.fate.kill = world.fate.lose = 0
    for each in world.fate.late:
        each()
    assert world.new.states["packers"][PARTITION] == moved
    assert [outcome for outcome, _ in verified_states(world)] == ["verified"]


def verified_states(world: World) -> list[tuple[str, str]]:
    rows = world.migration().verify_only()
    return [(row.outcome, row.note) for row in rows if row.kind == "share-group"]


def test_states_of_records_behind_the_start_are_compared_record_by_record() -> None:
    world = World(1)
    end = world.log.end
    world.old.states["packers"] = {PARTITION: ShareState(0, (StateRange(0, 5, 0, 2), StateRange(6, end - 1, 2, 1)))}
    rows = world.run()
    assert [row.outcome for row in rows if row.kind == "share-group"] == ["moved"]
    assert verified_states(world) == [("verified", "orders")]
    start, (tried, done) = world.new.states["packers"][PARTITION]
    world.new.states["packers"][PARTITION] = ShareState(start, (tried._replace(deliveries=3), done))
    some = tried.last - tried.first + 1
    assert verified_states(world) == [("verified", f"orders; with {some} records behind it, too")]
    world.new.states["packers"][PARTITION] = ShareState(start, (tried, done._replace(last=done.last - 2)))
    assert verified_states(world) == [("differs", "orders; 2 records behind the start have other states at the target")]


def test_states_that_are_not_compared_are_counted() -> None:
    world = World(1)
    world.old.states["packers"] = {PARTITION: ShareState(0, (StateRange(0, world.log.end - 1, 2, 1),))}
    world.run()
    count = len(world.ids())
    note = f"orders; states of {count} records behind the start are not compared: the target does not show them"
    world.new.shows_states = False
    assert verified_states(world) == [("verified", note)]
    other = World(1)
    other.old.states["packers"] = world.old.states["packers"]
    other.new.writable = ()
    other.run(at_least_once=True)
    assert verified_states(other) == [("verified", note.replace("show", "take"))]


@for_each("seed", range(50))
def test_what_members_do_later_is_not_counted_as_lost(seed: int) -> None:
    random = Random(seed)
    before = {offset: (random.choice(ALL_STATES), random.randint(0, 3)) for offset in range(20)}
    after = {offset: gone_on(known, random) for offset, known in before.items()}
    given, found = of_each(before, 0), of_each(after, random.choice([0, 5]))
    changed = sum(before[offset] != after[offset] for offset in range(found.start, 20))
    assert compared(given, found) == Comparison(changed, 0)
    lost = random.randrange(found.start, 20)
    was, now = random.choice([((0, 1), (0, 0)), ((2, 1), (4, 1)), ((2, 1), (0, 0)), ((3, 1), (0, 5)), ((4, 1), (3, 1))])
    changed -= before[lost] != after[lost]
    worse = of_each(before | {lost: was}, 0), of_each(after | {lost: now}, found.start)
    assert compared(*worse) == Comparison(changed, 1)


def gone_on(known: tuple[int, int], random: Random) -> tuple[int, int]:
    """Return a record's state and delivery count after members may have continued with it."""
    state, deliveries = known
    if random.random() < 0.5 or state in (2, 4):
        return known
    return (4, deliveries) if state == 3 else (random.choice(ALL_STATES), deliveries + random.randint(0, 2))


def of_each(known: dict[int, tuple[int, int]], start: int) -> ShareState:
    ranges = [StateRange(at, at, *each) for at, each in known.items() if at >= start and each != (0, 0)]
    return ShareState(start, tuple(ranges))


def test_a_topic_that_is_missing_at_the_target_is_found() -> None:
    world = World(1)
    world.run()
    del world.target.known["orders"]
    rows = list(world.migration().verify_only())
    assert [(row.kind, row.outcome, row.note) for row in rows] == [("topic", "differs", "is missing at the target")]


def test_a_record_whose_dead_letter_may_be_missing_is_available_where_that_cannot_be_kept() -> None:
    state = ShareState(5, (StateRange(5, 6, 3, 5), StateRange(7, 7, 4, 5), StateRange(8, 9, 2, 1)))
    at = {offset: offset - 5 for offset in offsets_in(state)} | {8: 3, 10: 3}
    assert translated(state, at, (0, 2, 4)) == ShareState(0, (StateRange(0, 1, 0, 5), StateRange(2, 2, 4, 5)))
    assert translated(state, at, ALL_STATES).ranges[0].state == 3
