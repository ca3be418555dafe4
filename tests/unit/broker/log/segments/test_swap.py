"""Crashes, failures and full disks at every operation of a pass, in both crash models.

In every case the log has the same content, accepts appends, and the next pass completes the work.
"""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from devtools.in_memory.mem_fs import CrashModel, SimulatedCrash
from shareq.broker.log.cleaner.schedule import CleanerSettings
from shareq.broker.log.cleaner.survivors import Rule, latest_value, share_state
from shareq.broker.log.segments.reader import ReadResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import Record
from tests.support.worlds.cleaner import COMPACTED, append, clean, fill, state_of, transient_files
from tests.support.worlds.log_world import DATA, TOPIC, LogWorld, read_all

FOLDER = f"{DATA}/{TOPIC}-0"


def dirty_world(rule: Rule, seed: int = 0) -> LogWorld:
    """Return two clean segments of an earlier pass, and many dirty ones, with deletions, several keys and merges."""
    world = LogWorld(COMPACTED, flush_every_message=True, seed=seed, rule=rule)
    kinds = (b"\0\0", b"\0\1") if rule is share_state else (b"",)
    world.cleaner = CleanerSettings(enable=False)
    for number in range(12):
        append(world, (kinds[0] + b"once%d" % number, b"x" * 20))
    world.cleaner = CleanerSettings()
    clean(world)
    assert world.logs.cleaner.passes == 1
    world.cleaner = CleanerSettings(enable=False)
    for number in range(22):
        kind = kinds[number % 7 % len(kinds)]
        value = None if number % 11 == 5 and kind == kinds[0] else b"v%d" % number
        append(world, (kind + b"k%d" % (number % 3), value), (kinds[-1] + b"l%d" % (number % 4), b"w%d" % number))
    world.cleaner = CleanerSettings()
    return world


def contents(world: LogWorld, rule: Rule) -> tuple[int, int, dict[bytes, list[bytes | None]]]:
    log = world.log
    return log.log_start_offset, log.log_end_offset, state_of(read_all(log, max_bytes=300), rule)


def keys_and_values(records: list[Record]) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in records]


def half_done(world: LogWorld) -> list[str]:
    """Return transient files, except those that may stay until the next start."""
    return [path for path in transient_files(world) if not path.endswith(".deleted")]


class Outcome:
    """The result of an undisturbed pass over the dirty log."""

    def __init__(self, rule: Rule, prepare: Callable[[], LogWorld]) -> None:
        world = prepare()
        self.before = contents(world, rule)
        self.steps = world.fs.steps
        clean(world)
        assert world.logs.cleaner.passes == 2
        assert contents(world, rule) == self.before
        self.last_step = world.fs.steps
        self.records = keys_and_values(read_all(world.log))
        self.bases = [segment.base_offset for segment in world.log.segments]


@pytest.fixture(scope="module", params=[latest_value, share_state], ids=["latest_value", "share_state"])
def case(request: pytest.FixtureRequest) -> tuple[Rule, Outcome]:
    rule: Rule = request.param
    return rule, Outcome(rule, lambda: dirty_world(rule))


@pytest.mark.parametrize("model", list(CrashModel))
def test_dying_at_every_disk_operation(case: tuple[Rule, Outcome], model: CrashModel) -> None:
    rule, good = case
    assert good.last_step - good.steps > 25
    for step in range(good.steps + 1, good.last_step + 1):
        world = dirty_world(rule, seed=step)
        world.fs.crash_at = step
        with pytest.raises(SimulatedCrash):
            clean(world)
        world.crash(model)
        world.start()
        assert transient_files(world) == []
        assert contents(world, rule) == good.before
        clean(world)
        assert keys_and_values(read_all(world.log)) == good.records
        fill(world, 3)
        after = contents(world, rule)
        world.restart()
        assert contents(world, rule) == after


def test_a_loss_of_power_that_keeps_any_names(case: tuple[Rule, Outcome]) -> None:
    """The file system keeps the last rename and loses earlier ones."""
    rule, good = case
    for seed in range(80):
        world = dirty_world(rule, seed=seed)
        world.fs.loses_pages = True
        world.fs.crash_at = world.fs.steps + 1 + seed % (good.last_step - good.steps)
        with pytest.raises(SimulatedCrash):
            clean(world)
        world.crash(CrashModel.POWER_LOSS)
        world.start()
        assert contents(world, rule) == good.before


@pytest.mark.parametrize("model", list(CrashModel))
def test_dying_again_during_recovery(case: tuple[Rule, Outcome], model: CrashModel) -> None:
    """A start that finishes a swap crashes at each of its operations."""
    rule, good = case
    died = 0
    for step in range(good.steps + 10, good.last_step + 1, 6):
        for later in range(1, 12):
            world = dirty_world(rule, seed=step * 100 + later)
            world.fs.crash_at = step
            with pytest.raises(SimulatedCrash):
                clean(world)
            world.crash(model)
            world.fs.crash_at = world.fs.steps + later
            try:
                world.start()
            except SimulatedCrash:
                died += 1
            else:
                break
            world.crash(model)
            world.start()
            assert contents(world, rule) == good.before
    assert died > 10


@pytest.mark.parametrize("model", list(CrashModel))
def test_no_crash_leaves_an_index_of_the_old_segment_beside_the_new_one(model: CrashModel) -> None:
    """With batches of one size the old index would lead to a wrong batch and silently skip others."""

    def world_of(seed: int) -> LogWorld:
        world = LogWorld(COMPACTED, flush_every_message=True, seed=seed)
        world.cleaner = CleanerSettings(enable=False)
        for number in range(26):
            append(world, (b"odd%02d" % (number % 8) if number % 2 else b"key%02d" % number, b"v"))
        world.cleaner = CleanerSettings()
        return world

    world = world_of(0)
    first = world.fs.steps
    clean(world)
    left = [record.offset for record in read_all(world.log)]
    assert (left[:9], world.log.segments[1].base_offset) == ([0, 2, 4, 6, 8, 10, 12, 14, 16], 16)
    for step in range(first + 1, world.fs.steps + 1):
        world = world_of(step)
        world.fs.crash_at = step
        with pytest.raises(SimulatedCrash):
            clean(world)
        world.crash(model)
        world.start()
        for offset in left:
            result = world.log.read(offset, 1, upto=world.log.high_watermark)
            assert isinstance(result, ReadResult)
            assert result.batches[0].base_offset == offset


def failing(step: int) -> Callable[[str, str], OSError | None]:
    left = [step]

    def fail(kind: str, path: str) -> OSError | None:
        left[0] -= 1
        return OSError(errno.EIO, "input/output error", path) if left[0] == 0 else None

    return fail


def test_an_io_error_at_every_disk_operation(case: tuple[Rule, Outcome], caplog: pytest.LogCaptureFixture) -> None:
    """The log is unchanged or cleaned, work continues and is tried again later, and one line reports the error."""
    rule, good = case
    left_alone = 0
    for step in range(1, good.last_step - good.steps + 1):
        world = dirty_world(rule, seed=step)
        world.fs.fail = failing(step)
        caplog.clear()
        clean(world)
        world.fs.fail = None
        assert contents(world, rule) == good.before
        errors = [record for record in caplog.records if record.levelname == "ERROR"]
        assert len(errors) == len(world.logs.cleaner.uncleanable) <= 1
        left_alone += len(errors)
        assert world.log.refusal is ErrorCode.NONE
        if step % 2:
            world.clock.advance(6 * 60_000)
            clean(world)
            assert world.logs.cleaner.uncleanable == []
            assert keys_and_values(read_all(world.log)) == good.records
            assert half_done(world) == []
        world.crash(CrashModel.PROCESS_KILL)
        world.start()
        assert transient_files(world) == []
        assert contents(world, rule) == good.before
        clean(world)
        assert keys_and_values(read_all(world.log)) == good.records
    assert left_alone > 10


def test_every_disk_operation_fails_from_some_time_on(case: tuple[Rule, Outcome]) -> None:
    """Even the operations that would undo the pass fail; then power is lost, or the disk recovers."""
    rule, good = case
    for step in range(1, good.last_step - good.steps + 1, 2):
        for recovers in (False, True):
            world = dirty_world(rule, seed=step)
            steps = world.fs.steps

            def fail(kind: str, path: str, first: int = steps + step, world: LogWorld = world) -> OSError | None:
                return OSError(errno.EIO, "input/output error", path) if world.fs.steps >= first else None

            world.fs.fail = fail
            clean(world)
            assert contents(world, rule) == good.before
            world.fs.fail = None
            if recovers:
                world.clock.advance(6 * 60_000)
                clean(world)
                assert keys_and_values(read_all(world.log)) == good.records
                assert half_done(world) == []
            world.crash(CrashModel.POWER_LOSS)
            world.start()
            assert contents(world, rule) == good.before


@pytest.mark.parametrize("room", [0, 100, 300])
def test_a_full_disk(case: tuple[Rule, Outcome], room: int) -> None:
    rule, good = case
    world = dirty_world(rule)
    world.fs.space_left = room
    clean(world)
    assert world.logs.cleaner.uncleanable == [(TOPIC, 0)]
    assert contents(world, rule) == good.before
    assert transient_files(world) == []
    world.fs.space_left = None
    world.clock.advance(6 * 60_000)
    clean(world)
    assert keys_and_values(read_all(world.log)) == good.records


def test_a_failed_sync_of_what_was_written_leaves_the_log_as_it_is(case: tuple[Rule, Outcome]) -> None:
    rule, good = case
    world = dirty_world(rule)
    world.fs.held_syncs = []
    world.logs.cleaner.look_soon()
    while not world.fs.held_syncs:
        world.clock.advance(1)
    fill_offset = world.log.log_end_offset
    assert fill_offset == good.before[1]
    world.fs.fail = lambda kind, path: OSError(errno.EIO, "sync failed", path) if kind == "sync" else None
    world.fs.held_syncs.pop(0)()
    world.fs.fail = None
    world.fs.held_syncs = None
    assert world.logs.cleaner.uncleanable == [(TOPIC, 0)]
    assert contents(world, rule) == good.before
    assert transient_files(world) == []


def test_nothing_is_replaced_before_what_replaces_it_is_on_stable_storage(case: tuple[Rule, Outcome]) -> None:
    rule, good = case
    world = dirty_world(rule)
    files = set(world.fs.paths())
    world.fs.held_syncs = []
    world.logs.cleaner.look_soon()
    world.clock.advance(5_000)
    assert world.fs.held_syncs
    assert files < set(world.fs.paths())
    assert contents(world, rule) == good.before
    while world.fs.held_syncs:
        world.fs.held_syncs.pop(0)()
    world.fs.held_syncs = None
    world.clock.advance(5_000)
    assert keys_and_values(read_all(world.log)) == good.records


def test_a_damaged_swap_file_is_thrown_away_while_what_it_replaces_is_there(caplog: pytest.LogCaptureFixture) -> None:
    world = dirty_world(latest_value)
    swap_step = 0
    while not swap_step:
        world.fs.crash_at = world.fs.steps + 1_000
        before = len(world.fs.history)
        clean(world)
        history = world.fs.history[before:]
        swap_step = next(
            at for at, (kind, path) in enumerate(history) if kind == "rename" and path.endswith(".log.cleaned")
        )
    world = dirty_world(latest_value)
    world.fs.crash_at = world.fs.steps + swap_step + 3  # the rename, the folder's sync, and in the middle of the next
    with pytest.raises(SimulatedCrash):
        clean(world)
    (swap,) = [path for path in transient_files(world) if path.endswith(".log.swap")]
    world.crash(CrashModel.PROCESS_KILL)
    world.fs.content(swap)[16] = 7  # the magic byte
    world.start()
    assert ".log.swap: damaged (magic 7), thrown away: what it was to replace is still there" in caplog.text
    assert transient_files(world) == []
    assert contents(world, latest_value) == Outcome(latest_value, lambda: dirty_world(latest_value)).before
