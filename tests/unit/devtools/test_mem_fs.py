"""The disk in memory loses exactly what a real one may lose."""

from __future__ import annotations

import errno
from collections.abc import Callable
from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel, MemFs, SimulatedCrash
from devtools.in_memory.virtual_clock import VirtualClock


def disk(seed: int = 0) -> tuple[MemFs, VirtualClock]:
    clock = VirtualClock()
    fs = MemFs(clock.call_soon, Random(seed))
    fs.make_dirs("d")
    fs.sync_dir("d")
    return fs, clock


def survivors(prepare: Callable[[MemFs], None], model: CrashModel) -> set[bytes | None]:
    found: set[bytes | None] = set()
    for seed in range(200):
        fs, _ = disk(seed)
        prepare(fs)
        fs.crash(model, Random(seed))
        found.add(bytes(fs.content("d/f")) if fs.exists("d") and fs.exists("d/f") else None)
    return found


def synced_then_more(fs: MemFs) -> None:
    file = fs.open("d/f", create=True)
    file.append([b"ab"])
    file.sync()
    fs.sync_dir("d")
    fs.sync_dir("d")
    file.append([b"cd"])


def test_a_killed_process_loses_nothing_it_has_written() -> None:
    assert survivors(synced_then_more, CrashModel.PROCESS_KILL) == {b"abcd"}


def test_a_power_cut_loses_unsynced_bytes_anywhere() -> None:
    left = {None, b"ab", b"abc", b"abcd", b"ab\0", b"ab\0\0", b"abc\0"}
    assert survivors(synced_then_more, CrashModel.POWER_LOSS) - {None} == left - {None}


def test_a_new_file_is_gone_unless_its_folder_was_synced() -> None:
    def unsynced(fs: MemFs) -> None:
        file = fs.open("d/f", create=True)
        file.append([b"x"])
        file.sync()

    def synced(fs: MemFs) -> None:
        unsynced(fs)
        fs.sync_dir("d")

    assert survivors(unsynced, CrashModel.POWER_LOSS) >= {None, b"x"}
    fs, _ = disk()
    synced(fs)
    for seed in range(50):
        fs.crash(CrashModel.POWER_LOSS, Random(seed))
        if fs.exists("d"):  # the folder's own creation is made durable by a sync of its parent
            assert fs.content("d/f") == b"x"


def test_an_unsynced_replacement_may_be_undone_but_never_mixed() -> None:
    def replace(fs: MemFs) -> None:
        fs.write_atomic("d/f", b"old", sync=True)
        fs.write_atomic("d/f", b"newer")

    left = survivors(replace, CrashModel.POWER_LOSS)
    assert b"old" in left
    assert b"newer" in left
    assert b"" in left  # renamed before its bytes were on disk, which is why `sync` exists


def test_an_unsynced_truncation_may_be_undone() -> None:
    def cut(fs: MemFs) -> None:
        file = fs.open("d/f", create=True)
        file.append([b"abcdef"])
        file.sync()
        fs.sync_dir("d")
        file.truncate(2)

    assert survivors(cut, CrashModel.POWER_LOSS) - {None} == {b"ab", b"abcdef"}


def test_a_background_sync_covers_what_was_written_before_it_began() -> None:
    lost = set()
    for seed in range(60):
        fs, clock = disk(seed)
        file = fs.open("d/f", create=True)
        fs.sync_dir("d")
        file.append([b"ab"])
        fs.sync_soon([file], lambda _error: None)
        file.append([b"cd"])
        clock.run_until_idle()
        fs.crash(CrashModel.POWER_LOSS, Random(seed))
        if fs.exists("d"):
            content = bytes(fs.content("d/f"))
            assert content.startswith(b"ab")
            lost.add(content)
    assert b"ab" in lost


def test_dying_in_a_write_tears_it_and_nothing_works_afterwards() -> None:
    fs, _ = disk()
    file = fs.open("d/f", create=True)
    fs.crash_at = fs.steps + 1
    with pytest.raises(SimulatedCrash):
        file.append([b"0123456789"])
    with pytest.raises(SimulatedCrash):
        fs.list_dir("d")
    fs.crash(CrashModel.PROCESS_KILL, Random(0))
    assert b"0123456789".startswith(fs.content("d/f"))
    with pytest.raises(AssertionError, match="after a crash"):
        file.size()


def test_a_full_disk_takes_what_fits() -> None:
    fs, _ = disk()
    file = fs.open("d/f", create=True)
    fs.space_left = 3
    with pytest.raises(OSError, match="no space left") as raised:
        file.append([b"abcde"])
    assert raised.value.errno == errno.ENOSPC
    assert file.size() == 3
    file.truncate(1)
    assert fs.space_left == 2
    file.append([b"xy"])


def test_virtual_time_runs_calls_in_order_at_their_time() -> None:
    clock = VirtualClock(now_ms=100)
    events: list[tuple[str, int]] = []

    def note(name: str) -> None:
        events.append((name, clock.now_ms()))

    def timer() -> None:
        note("timer")
        clock.call_soon(lambda: note("soon"))

    clock.call_at(150, lambda: note("late"))
    clock.call_at(120, timer)
    clock.call_at(120, lambda: note("same time"))
    clock.call_at(130, lambda: note("never")).cancel()
    clock.call_soon(lambda: note("first"))
    assert clock.run_until_idle() == 1
    clock.advance(30)
    assert clock.now_ms() == 130
    assert clock.next_timer_ms() == 150
    assert clock.advance_to_next_timer()
    assert not clock.advance_to_next_timer()
    assert events == [("first", 100), ("timer", 120), ("soon", 120), ("same time", 120), ("late", 150)]


def test_a_background_sync_of_a_folder_covers_the_names_of_before() -> None:
    seen = set()
    for seed in range(60):
        fs, clock = disk(seed)
        fs.open("d/a", create=True).close()
        fs.sync_soon([], lambda _error: None, folders=[".", "d"])
        fs.open("d/b", create=True).close()
        clock.run_until_idle()
        fs.crash(CrashModel.POWER_LOSS, Random(seed))
        seen.add(tuple(fs.list_dir("d")))
    assert seen == {("a",), ("a", "b")}


def test_only_a_power_loss_starts_the_machine_again() -> None:
    fs, _ = disk()
    first = fs.boot_id()
    fs.crash(CrashModel.PROCESS_KILL, Random(0))
    assert fs.boot_id() == first
    fs.crash(CrashModel.POWER_LOSS, Random(0))
    assert fs.boot_id() != first
