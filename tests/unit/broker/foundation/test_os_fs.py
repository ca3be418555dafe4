"""The operating system's file system behind the port, on a real disk."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import shareq.broker.foundation.os_fs as os_fs_module
from shareq.broker.foundation.environment import SyncErrors
from shareq.broker.foundation.os_fs import OsFs, open_to_others


class HandBack:
    """A `call_soon_threadsafe` whose calls the test runs."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.arrived = threading.Condition()

    def __call__(self, call: Callable[[], None]) -> None:
        with self.arrived:
            self.calls.append(call)
            self.arrived.notify()

    def run_one(self) -> None:
        with self.arrived:
            assert self.arrived.wait_for(lambda: bool(self.calls), timeout=10)
            call = self.calls.pop(0)
        call()


@pytest.fixture
def hand_back() -> HandBack:
    return HandBack()


@pytest.fixture
def fs(hand_back: HandBack) -> Iterator[OsFs]:
    fs = OsFs(hand_back)
    yield fs
    fs.close()


def test_a_file_is_appended_to_read_and_truncated(fs: OsFs, tmp_path: Path) -> None:
    path = f"{tmp_path}/file"
    with pytest.raises(FileNotFoundError):
        fs.open(path)
    file = fs.open(path, create=True)
    assert (file.path, file.size()) == (path, 0)
    file.append([b"one", bytearray(b"two"), memoryview(b"three")])
    file.append([b"!"])
    assert file.size() == 12
    assert file.read_at(3, 3) == b"two"
    assert file.read_at(6, 100) == b"three!"
    assert file.read_at(12, 5) == b""
    file.truncate(6)
    file.append([b"four"])
    file.sync()
    file.close()
    again = fs.open(path)
    assert again.size() == 10
    assert again.read_at(0, 20) == b"onetwofour"
    again.close()


def test_more_buffers_than_one_call_takes(fs: OsFs, tmp_path: Path) -> None:
    file = fs.open(f"{tmp_path}/file", create=True)
    buffers = [b"%d," % at for at in range(5_000)]
    file.append(buffers)
    assert file.size() == sum(map(len, buffers))
    assert file.read_at(0, 1 << 20) == b"".join(buffers)
    file.close()


def test_partial_writes_are_continued(fs: OsFs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = fs.open(f"{tmp_path}/file", create=True)
    real_write, real_writev = os.write, os.writev
    monkeypatch.setattr(os, "write", lambda fd, data: real_write(fd, memoryview(data)[:3]))
    monkeypatch.setattr(os, "writev", lambda fd, parts: real_writev(fd, [memoryview(b"".join(parts))[:4]]))
    file.append([b"0123456789"])
    file.append([b"abc", b"", b"defgh", b"ij"])
    assert file.size() == 20
    monkeypatch.undo()
    assert file.read_at(0, 100) == b"0123456789abcdefghij"
    file.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_an_error(fs: OsFs) -> None:
    file = fs.open("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        file.append([b"x"])
    file.close()


def test_files_are_replaced_whole(fs: OsFs, tmp_path: Path) -> None:
    path = f"{tmp_path}/checkpoint"
    for sync in (False, True):
        fs.write_atomic(path, b"content %d" % sync, sync=sync)
        assert fs.read_bytes(path) == b"content %d" % sync
    assert fs.list_dir(str(tmp_path)) == ["checkpoint"]
    with pytest.raises(FileNotFoundError):
        fs.write_atomic(f"{tmp_path}/nowhere/x", b"")


def test_folders(fs: OsFs, tmp_path: Path) -> None:
    root = f"{tmp_path}/a/b"
    fs.make_dirs(root)
    fs.make_dirs(root)
    for name in ("z", "y"):
        fs.open(f"{root}/{name}", create=True).close()
    fs.make_dirs(f"{root}/sub/sub")
    fs.sync_dir(root)
    assert fs.list_dir(root) == ["sub", "y", "z"]
    fs.rename(f"{root}/y", f"{root}/z")
    fs.rename(root, f"{tmp_path}/a/c")
    assert not fs.exists(root)
    fs.remove(f"{tmp_path}/a/c/z")
    with pytest.raises(FileNotFoundError):
        fs.remove(f"{tmp_path}/a/c/z")
    (tmp_path / "outside").mkdir()
    (tmp_path / "a/c/link").symlink_to(tmp_path / "outside")
    (tmp_path / "file").touch()
    names = ("outside", "a/c/link", "file", "absent", "file/below")
    assert [fs.is_folder(f"{tmp_path}/{name}") for name in names] == [True, False, False, False, False]
    assert [fs.is_file(f"{tmp_path}/{name}") for name in names] == [False, False, True, False, False]
    with pytest.raises(OSError, match="not empty"):
        fs.remove_dir(f"{tmp_path}/a/c")
    fs.remove_dir(f"{tmp_path}/outside")
    assert fs.list_dir(str(tmp_path)) == ["a", "file"]
    with pytest.raises(NotADirectoryError):
        fs.list_dir(f"{tmp_path}/file")


def test_a_lock_is_one_processs(fs: OsFs, tmp_path: Path) -> None:
    path = f"{tmp_path}/.lock"
    release = fs.lock(path)
    with pytest.raises(BlockingIOError):
        fs.lock(path)
    try_it = f"""
import sys
sys.path[:0] = {sys.path!r}
from shareq.broker.foundation.os_fs import OsFs, open_to_others
try:
    OsFs(print).lock({path!r})
except BlockingIOError:
    print("taken")
else:
    print("free")
"""
    tried = [subprocess.run([sys.executable, "-c", try_it], capture_output=True, text=True, check=True)]
    release()
    tried.append(subprocess.run([sys.executable, "-c", try_it], capture_output=True, text=True, check=True))
    assert [run.stdout.strip() for run in tried] == ["taken", "free"]


def test_syncing_in_the_background_calls_back_on_the_loop(fs: OsFs, hand_back: HandBack, tmp_path: Path) -> None:
    files = [fs.open(f"{tmp_path}/{at}", create=True) for at in range(3)]
    results: list[SyncErrors] = []
    for file in files:
        file.append([b"x"])
    fs.sync_soon(files, results.append)
    fs.sync_soon([], results.append)
    hand_back.run_one()
    hand_back.run_one()
    assert results == [{}, {}]
    for file in files:
        file.close()


def test_a_file_closed_under_a_background_sync_is_closed_when_that_is_over(
    fs: OsFs, hand_back: HandBack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed at once, the file could let the sync hit another file with the same descriptor."""
    began, go_on = threading.Event(), threading.Event()
    synced: list[int] = []

    def slow_sync(fd: int) -> None:
        began.set()
        assert go_on.wait(10)
        synced.append(os.fstat(fd).st_ino)

    monkeypatch.setattr(os_fs_module, "_sync_data", slow_sync)
    file = fs.open(f"{tmp_path}/file", create=True)
    inode = os.stat(f"{tmp_path}/file").st_ino
    results: list[SyncErrors] = []
    fs.sync_soon([file], results.append)
    assert began.wait(10)
    file.close()
    other = fs.open(f"{tmp_path}/other", create=True)
    go_on.set()
    hand_back.run_one()
    assert (results, synced) == ([{}], [inode])
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.read_at(0, 1)
    other.close()


def test_what_one_call_syncs_is_synced_at_once(
    fs: OsFs, hand_back: HandBack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(3)
    monkeypatch.setattr(os_fs_module, "_sync_data", lambda _fd: together.wait(10))
    monkeypatch.setattr(os, "fsync", lambda _fd: together.wait(10))
    files = [fs.open(f"{tmp_path}/{at}", create=True) for at in range(2)]
    results: list[SyncErrors] = []
    fs.sync_soon(files, results.append, folders=[str(tmp_path)])
    hand_back.run_one()
    assert results == [{}]
    for file in files:
        file.close()


def test_where_the_disk_is_slow_as_many_files_are_synced_at_once_as_wait(
    fs: OsFs, hand_back: HandBack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With four at a time, 64 logs once waited 16 times as long as one sync takes."""
    monkeypatch.setattr(os_fs_module, "_SLOW_S", 0.0)
    files = [fs.open(f"{tmp_path}/{at}", create=True) for at in range(20)]
    results: list[SyncErrors] = []
    fs.sync_soon(files[:1], results.append)  # the first one shows how slow it is
    hand_back.run_one()
    together = threading.Barrier(20)
    monkeypatch.setattr(os_fs_module, "_sync_data", lambda _fd: together.wait(10))
    for file in files:
        fs.sync_soon([file], results.append)
    while len(results) < 21:
        hand_back.run_one()
    assert results == [{}] * 21
    for file in files:
        file.close()


def test_one_end_that_fails_does_not_keep_the_others_from_their_callers(
    fs: OsFs, hand_back: HandBack, tmp_path: Path
) -> None:
    file = fs.open(f"{tmp_path}/file", create=True)
    results: list[SyncErrors] = []

    def fails(_errors: SyncErrors) -> None:
        raise ValueError("planned")

    fs.sync_soon([file], fails)
    fs.sync_soon([file], results.append)
    fs.close()  # both are over
    with pytest.raises(ValueError, match="planned"):
        hand_back.run_one()
    assert results == [{}]
    file.close()


def test_a_sync_ends_with_its_last_file_and_reports_which_failed(
    fs: OsFs, hand_back: HandBack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    synced: list[int] = []

    def sync(fd: int) -> None:
        name = Path(os.readlink(f"/proc/self/fd/{fd}")).name
        assert name != "0" or go_on.wait(10)
        if name == "1":
            raise OSError(5, "input/output error")
        synced.append(int(name))

    monkeypatch.setattr(os_fs_module, "_sync_data", sync)
    files = [fs.open(f"{tmp_path}/{at}", create=True) for at in range(9)]
    first: list[SyncErrors] = []
    second: list[SyncErrors] = []
    fs.sync_soon(files, first.append)
    fs.sync_soon(files[2:3], second.append)
    hand_back.run_one()
    assert (first, second) == ([], [{}])  # one file of the first call is under way still
    go_on.set()
    hand_back.run_one()
    assert list(first[0]) == [f"{tmp_path}/1"]
    assert sorted(synced) == [0, 2, 2, 3, 4, 5, 6, 7, 8]
    for file in files:
        file.close()


def test_closing_waits_for_every_sync(
    fs: OsFs, hand_back: HandBack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()
    synced: list[int] = []

    def slow_sync(fd: int) -> None:
        began.set()
        assert go_on.wait(10)
        synced.append(fd)

    monkeypatch.setattr(os_fs_module, "_sync_data", slow_sync)
    files = [fs.open(f"{tmp_path}/{at}", create=True) for at in range(12)]
    fs.sync_soon(files, lambda _errors: None)
    assert began.wait(10)
    closing = threading.Thread(target=fs.close)
    closing.start()
    go_on.set()
    closing.join(10)
    assert (closing.is_alive(), len(synced), len(hand_back.calls)) == (False, 12, 1)


def test_a_failed_background_sync_is_reported(
    fs: OsFs, hand_back: HandBack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing_sync(_fd: int) -> None:
        raise OSError(5, "input/output error")

    monkeypatch.setattr(os_fs_module, "_sync_data", failing_sync)
    file = fs.open(f"{tmp_path}/file", create=True)
    results: list[SyncErrors] = []
    fs.sync_soon([file], results.append)
    hand_back.run_one()
    assert [type(error) for error in results[0].values()] == [OSError]
    file.close()


async def test_it_hands_back_to_a_real_loop(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    fs = OsFs(loop.call_soon_threadsafe)
    file = fs.open(f"{tmp_path}/file", create=True)
    done = loop.create_future()
    fs.sync_soon([file], done.set_result)
    assert await asyncio.wait_for(done, 10) == {}
    file.close()
    fs.close()


def test_names_are_synced_in_the_background(
    fs: OsFs, hand_back: HandBack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    results: list[SyncErrors] = []
    fs.sync_soon([], results.append, folders=[str(tmp_path)], bulk=True)
    hand_back.run_one()
    fs.sync_soon([], results.append, folders=[f"{tmp_path}/absent"])
    hand_back.run_one()
    assert results[0] == {}
    assert [(path, type(error)) for path, error in results[1].items()] == [(f"{tmp_path}/absent", FileNotFoundError)]
    assert synced == [os.stat(tmp_path).st_ino]


def test_the_machines_start_has_a_name_that_stays(fs: OsFs) -> None:
    assert fs.boot_id() == fs.boot_id() != ""


def test_an_allocated_file_has_blocks_of_its_own_and_gives_them_back(fs: OsFs, tmp_path: Path) -> None:
    path = f"{tmp_path}/reserve"
    fs.allocate(path, 1 << 20)
    fs.allocate(path, 3 << 20)
    fs.allocate(path, 1 << 20)  # never less
    assert (os.stat(path).st_size, os.stat(path).st_blocks * 512) >= (3 << 20, 3 << 20)
    file = fs.open(path)
    file.truncate(0)
    file.close()
    assert os.stat(path).st_blocks == 0


def test_without_room_an_allocated_file_stays_as_long_as_it_was(
    fs: OsFs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, position: int, size: int) -> None:
        os.ftruncate(fd, position + size // 2)
        raise OSError(errno.ENOSPC, "no space left on device")

    fs.allocate(f"{tmp_path}/reserve", 4096)
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="no space left"):
        fs.allocate(f"{tmp_path}/reserve", 8192)
    assert os.stat(f"{tmp_path}/reserve").st_size == 4096


def test_zeros_stand_in_where_blocks_cannot_be_had(fs: OsFs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    fs.allocate(f"{tmp_path}/reserve", 100_000)
    fs.allocate(f"{tmp_path}/reserve", 100_001)
    assert fs.read_bytes(f"{tmp_path}/reserve") == bytes(100_001)


def test_what_is_made_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Logs hold records, metadata holds keys, and opening the lock file is enough to lock it."""
    fs, data = OsFs(lambda _: None), tmp_path / "data"
    before = os.umask(0)
    try:
        fs.make_dirs(f"{data}/t-0")
        fs.open(f"{data}/t-0/0.log", create=True).close()
        fs.write_atomic(f"{data}/shareq.data", b"x")
        fs.allocate(f"{data}/reserve", 10)
        fs.lock(f"{data}/.lock")()
    finally:
        os.umask(before)
        fs.close()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in data.rglob("*")}
    assert modes == {"t-0": 0o700, "0.log": 0o600, "shareq.data": 0o600, "reserve": 0o600, ".lock": 0o600}


def test_a_lock_that_a_former_release_made_is_taken_from_other_users(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    lock.touch()
    lock.chmod(0o644)
    fs = OsFs(lambda _: None)
    fs.lock(str(lock))()
    fs.close()
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600


@pytest.mark.parametrize(("mode", "shown"), [(0o755, "0755"), (0o701, "0701"), (0o770, ""), (0o700, "")])
def test_a_folder_that_others_may_enter_is_found_out(tmp_path: Path, mode: int, shown: str) -> None:
    tmp_path.chmod(mode)
    assert open_to_others(str(tmp_path)) == shown
