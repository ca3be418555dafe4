"""Traces of system calls, and the disk states that a kill or a power loss may leave."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.campaign.storage.disk import PAGE, Disk, Names
from tests.campaign.storage.trace import Begun, Call, parse, strings

ROOT = Path("/data")
LOG = "/data/t-0/0.log"


def quoted(data: bytes | str) -> str:
    raw = data.encode() if isinstance(data, str) else data
    return '"' + "".join(f"\\x{byte:02x}" for byte in raw) + '"'


class Machine:
    """System calls of one process, in strace's format."""

    def __init__(self, names: Names = Names.JOURNAL) -> None:
        self.disk = Disk(ROOT, names)
        self.call(f"mkdir({quoted('/data/t-0')}, 0777)", 0)
        self.call(f"openat(AT_FDCWD, {quoted('/data')}, O_RDONLY|O_DIRECTORY)", 3)

    def call(self, text: str, result: int) -> None:
        for one in parse([f"7 100.5 {text} = {result} <0.000010>"]):
            self.disk.apply(one)

    def open(self, path: str, fd: int, flags: str = "O_RDWR|O_CREAT|O_APPEND") -> None:
        self.call(f"openat(AT_FDCWD, {quoted(path)}, {flags}, 0644)", fd)

    def write(self, fd: int, data: bytes) -> None:
        self.call(f"write({fd}, {quoted(data)}, {len(data)})", len(data))

    def images(self, tries: int = 200) -> Iterable[dict[str, bytes | None]]:
        return [dict(self.disk.after_power_loss(random.Random(seed)).files) for seed in range(tries)]

    def now(self) -> dict[str, bytes | None]:
        return dict(self.disk.as_it_is().files)


def test_lines_of_strace_become_calls() -> None:
    lines = [
        '12 5.000000001 write(4, "\\x61\\x62", 2) = 2 <0.000100>',
        "12 5.1 fdatasync(4 <unfinished ...>",
        '13 5.2 unlink("\\x61")  = -1 ENOENT (No such file or directory) <0.000003>',
        "12 5.3 <... fdatasync resumed>) = 0 <0.200000>",
        "13 5.4 write(4, <unfinished ...>",
        "13 5.4 +++ killed by SIGKILL +++",
    ]
    write, begun, ended = parse(lines)
    assert write == Call(12, "write", '4, "\\x61\\x62", 2', 2, 5_000_000_001, 5_000_100_001)
    assert strings(write.arguments) == [b"ab"]
    assert begun == Begun(12, "fdatasync", "4", 5_100_000_000)
    assert ended == Call(12, "fdatasync", "4", 0, 5_100_000_000, 5_300_000_000)


def test_a_kill_leaves_every_completed_call() -> None:
    machine = Machine()
    machine.open(LOG, 4)
    machine.write(4, b"abc")
    machine.call(f"writev(4, [{{iov_base={quoted(b'de')}, iov_len=2}}, {{iov_base={quoted(b'f')}, iov_len=1}}], 2)", 3)
    machine.call(f"pwrite64(4, {quoted(b'X')}, 1, 1)", 1)
    assert machine.now() == {"t-0": None, "t-0/0.log": b"aXcdef"}
    machine.call("ftruncate(4, 2)", 0)
    machine.call(f"rename({quoted(LOG)}, {quoted('/data/t-0/1.log')})", 0)
    assert machine.now() == {"t-0": None, "t-0/1.log": b"aX"}
    machine.call(f"unlink({quoted('/data/t-0/1.log')})", 0)
    machine.call(f"rmdir({quoted('/data/t-0')})", 0)
    assert machine.now() == {}


def test_what_was_synced_survives_and_the_rest_may_not() -> None:
    machine = Machine()
    machine.open(LOG, 4)
    machine.write(4, b"a" * 10)
    machine.call("fdatasync(4)", 0)
    machine.write(4, b"b" * 10)
    found = {image["t-0/0.log"] for image in machine.images()}
    assert found == {b"a" * 10, b"a" * 10 + b"b" * 10}


def test_pages_are_lost_each_by_itself() -> None:
    machine = Machine()
    machine.open(LOG, 4)
    machine.call("fsync(4)", 0)
    machine.write(4, b"1" * PAGE + b"2" * PAGE)
    found = {image["t-0/0.log"] for image in machine.images()}
    assert found == {b"", b"1" * PAGE, bytes(PAGE) + b"2" * PAGE, b"1" * PAGE + b"2" * PAGE}


def test_a_sync_covers_what_was_written_before_it_began() -> None:
    machine = Machine()
    machine.open(LOG, 4)
    machine.write(4, b"1" * PAGE)
    begun, ended = parse(["9 5.1 fdatasync(4 <unfinished ...>", "9 5.3 <... fdatasync resumed>) = 0 <0.2>"])
    machine.disk.apply(begun)
    machine.write(4, b"2" * PAGE)
    assert machine.disk.apply(ended), "it makes something safe"
    found = {image["t-0/0.log"] for image in machine.images()}
    assert found == {b"1" * PAGE, b"1" * PAGE + b"2" * PAGE}


def test_a_descriptor_is_free_before_its_close_returns() -> None:
    """Another thread reuses the descriptor, and its sync is of the file that this thread opened."""
    machine = Machine(Names.POSIX)
    machine.open("/data/t-0/1", 4)
    machine.write(4, b"abc")
    machine.call("fsync(4)", 0)
    trace = [
        "9 5.1 close(4 <unfinished ...>",
        f"8 5.2 openat(AT_FDCWD, {quoted('/data/t-0')}, O_RDONLY|O_DIRECTORY) = 4 <0.1>",
        "9 5.3 <... close resumed>) = 0 <0.2>",
        "8 5.4 fsync(4) = 0 <0.1>",
        "8 5.5 close(4) = 0 <0.1>",
    ]
    for call in parse(trace):
        machine.disk.apply(call)
    assert all("t-0" not in image or image.get("t-0/1") == b"abc" for image in machine.images())


def test_by_the_journal_names_survive_in_their_order_and_any_sync_brings_them_along() -> None:
    machine = Machine()
    machine.open("/data/t-0/1", 4)
    machine.open("/data/t-0/2", 5)
    assert {tuple(image) for image in machine.images()} == {
        (),
        ("t-0",),
        ("t-0", "t-0/1"),
        ("t-0", "t-0/1", "t-0/2"),
    }
    machine.call("fsync(4)", 0)
    assert {tuple(image) for image in machine.images()} == {("t-0", "t-0/1", "t-0/2")}


def test_by_posix_a_name_is_safe_when_its_folder_was_synced() -> None:
    machine = Machine(Names.POSIX)
    machine.call("fsync(3)", 0)
    machine.open("/data/t-0/1", 4)
    machine.open("/data/t-0/2", 5)
    machine.call("fsync(4)", 0)
    assert {tuple(image) for image in machine.images()} == {
        ("t-0",),
        ("t-0", "t-0/1"),
        ("t-0", "t-0/2"),
        ("t-0", "t-0/1", "t-0/2"),
    }
    machine.open("/data/t-0", 6, "O_RDONLY|O_DIRECTORY")
    machine.call("fsync(6)", 0)
    assert {tuple(image) for image in machine.images()} == {("t-0", "t-0/1", "t-0/2")}


@pytest.mark.parametrize("names", Names)
def test_a_rename_that_was_not_synced_leaves_the_old_or_the_new_content(names: Names) -> None:
    machine = Machine(names)
    machine.open("/data/c", 4, "O_WRONLY|O_CREAT|O_TRUNC")
    machine.write(4, b"old")
    machine.call("fsync(4)", 0)
    machine.call("fsync(3)", 0)
    machine.open("/data/c.tmp", 5, "O_WRONLY|O_CREAT|O_TRUNC")
    machine.write(5, b"new")
    machine.call("fsync(5)", 0)
    machine.call(f"rename({quoted('/data/c.tmp')}, {quoted('/data/c')})", 0)
    assert {image["c"] for image in machine.images()} == {b"old", b"new"}


def test_what_a_kill_cut_off_is_taken_from_the_folder() -> None:
    machine = Machine()
    machine.open(LOG, 4)
    machine.write(4, b"ab")
    assert machine.disk.adopt({"t-0/0.log": b"ab"}) == []
    assert set(machine.disk.adopt({"t-0/0.log": b"abc", "t-0/x": b""})) == {"t-0/0.log", "t-0/x"}
    assert machine.now() == {"t-0": None, "t-0/0.log": b"abc", "t-0/x": b""}


def test_a_write_may_be_torn_for_a_while() -> None:
    machine = Machine()
    machine.open(LOG, 4)
    machine.write(4, b"ab")
    (following,) = parse([f"7 1.0 write(4, {quoted(b'cdef')}, 4) = 4 <0.1>"])
    seen = set()
    for seed in range(50):
        with machine.disk.torn(following, random.Random(seed)):
            seen.add(machine.now()["t-0/0.log"])
        assert machine.now()["t-0/0.log"] == b"ab"
    assert seen == {b"ab", b"abc", b"abcd", b"abcde", b"abcdef"}
