"""The disk in memory with pages: each unsynced one is kept, lost or torn separately, and names in any order."""

from __future__ import annotations

import errno
from collections.abc import Callable
from random import Random

import pytest

from devtools.in_memory.disk.content import PAGE, SECTORS
from devtools.in_memory.mem_fs import CrashModel, MemFs
from devtools.in_memory.virtual_clock import VirtualClock


def disk(seed: int = 0) -> MemFs:
    clock = VirtualClock()
    fs = MemFs(clock.call_soon, Random(seed))
    fs.loses_pages = True
    fs.make_dirs("d")
    fs.sync_dir(".")
    return fs


def lose_power(prepare: Callable[[MemFs], object], seed: int) -> MemFs:
    fs = disk(seed)
    prepare(fs)
    fs.crash(CrashModel.POWER_LOSS, Random(seed))
    return fs


def content(fs: MemFs, path: str = "d/f") -> bytes | None:
    return bytes(fs.content(path)) if fs.exists(path) else None


def synced_pages_then_more(fs: MemFs) -> None:
    file = fs.open("d/f", create=True)
    file.append([b"s" * (PAGE + 10)])
    file.sync()
    fs.sync_dir("d")
    file.append([b"u" * (3 * PAGE)])


def test_a_lost_page_may_be_followed_by_one_that_was_kept() -> None:
    holes = torn = shorter = whole = 0
    for seed in range(300):
        left = content(lose_power(synced_pages_then_more, seed))
        assert left is not None
        assert left.startswith(b"s" * (PAGE + 10))
        rest = left[PAGE + 10 :]
        assert set(rest) <= {0, ord("u")}
        holes += b"\0u" in rest
        shorter += len(left) < 4 * PAGE + 10
        whole += rest == b"u" * (3 * PAGE)
        changes = [at for at in range(PAGE + 11, len(left)) if left[at] != left[at - 1]]
        assert all(at % (PAGE // SECTORS) == 0 for at in changes)
        torn += any(at % PAGE for at in changes)
    assert min(holes, torn, shorter, whole) > 10


def test_a_truncation_may_be_undone_page_by_page() -> None:
    def cut_and_write_again(fs: MemFs) -> None:
        file = fs.open("d/f", create=True)
        file.append([b"a" * (2 * PAGE)])
        file.sync()
        fs.sync_dir("d")
        file.truncate(10)
        file.append([b"b" * (2 * PAGE)])

    found = set()
    for seed in range(300):
        left = content(lose_power(cut_and_write_again, seed))
        assert left is not None
        assert left.startswith(b"a" * 10)
        found.add((left[10:11], left[PAGE : PAGE + 1]))
    assert found >= {(b"a", b"a"), (b"b", b"b"), (b"a", b"b"), (b"b", b"a")}


def test_names_are_undone_in_any_order_but_each_as_a_whole() -> None:
    def change_names(fs: MemFs) -> None:
        fs.write_atomic("d/a", b"old", sync=True)
        fs.write_atomic("d/b", b"b", sync=True)
        for name, data in (("a", b"new"), ("c", b"c")):
            fs.open(f"d/{name}.tmp", create=True).append([data])
            fs.rename(f"d/{name}.tmp", f"d/{name}")
        fs.remove("d/b")

    found = set()
    for seed in range(300):
        fs = lose_power(change_names, seed)
        assert fs.exists("d/a"), "a replacement is one operation"
        found.add((content(fs, "d/a") == b"old", fs.exists("d/b"), fs.exists("d/c")))
        assert not (fs.exists("d/c") and fs.exists("d/c.tmp"))
    assert found == {(a, b, c) for a in (False, True) for b in (False, True) for c in (False, True)}


def test_synced_names_and_bytes_survive() -> None:
    def durable(fs: MemFs) -> None:
        fs.write_atomic("d/f", b"x" * 9_000, sync=True)
        fs.open("d/g", create=True)

    for seed in range(100):
        assert content(lose_power(durable, seed)) == b"x" * 9_000


def test_what_a_failed_sync_should_have_written_is_not_made_up_for_by_the_next() -> None:
    """Linux marks the page as clean after it has reported the failed write once, so the page is lost."""
    fs = disk()
    file = fs.open("d/f", create=True)
    fs.sync_dir("d")
    file.append([b"a" * PAGE])
    file.sync()
    file.append([b"b" * PAGE])
    fs.drops_failed_syncs = True
    fs.fail = lambda kind, path: OSError(errno.EIO, "planned", path) if kind == "sync" else None
    with pytest.raises(OSError, match="planned"):
        file.sync()
    fs.fail = None
    file.append([b"c" * 10])
    file.sync()
    assert content(fs) == b"a" * PAGE + b"b" * PAGE + b"c" * 10
    fs.crash(CrashModel.POWER_LOSS, Random(1))
    assert content(fs) == b"a" * PAGE + bytes(PAGE) + b"c" * 10


def test_a_sync_that_lies_saves_nothing() -> None:
    found = set()
    for seed in range(100):
        fs = disk(seed)
        fs.sync_lies = lambda path: path == "d/f"
        file = fs.open("d/f", create=True)
        fs.sync_dir("d")
        file.append([b"x" * 10])
        file.sync()
        fs.crash(CrashModel.POWER_LOSS, Random(seed))
        found.add(content(fs))
    assert {b"", b"x" * 10} <= found


def test_damage_stays_and_unreadable_bytes_are_errors() -> None:
    fs = disk()
    fs.write_atomic("d/f", b"\0" * 100, sync=True)
    fs.flip_bit("d/f", 3, 7)
    fs.open("d/f").truncate(50)
    fs.flip_bit("d/f", 4, 0)
    fs.crash(CrashModel.POWER_LOSS, Random(0))
    assert fs.read_bytes("d/f")[:5] == b"\0\0\0\x80\x01"
    fs.zero("d/f", 0, 4)
    fs.cut("d/f", 5)
    assert fs.read_bytes("d/f") == b"\0\0\0\0\x01"
    fs.make_unreadable("d/f", 4, 6)
    file = fs.open("d/f")
    assert file.read_at(0, 4) == bytes(4)
    reads: list[Callable[[], bytes]] = [lambda: file.read_at(1, 4), lambda: fs.read_bytes("d/f")]
    for read in reads:
        with pytest.raises(OSError, match="read failed") as raised:
            read()
        assert raised.value.errno == errno.EIO
