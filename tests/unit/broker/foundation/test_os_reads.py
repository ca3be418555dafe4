"""The operating system's page cache: reads of cached data, and threads that load the rest."""

from __future__ import annotations

import errno
import os
import queue
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shareq.broker.foundation import os_reads
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.foundation.os_reads import Loads

CONTENT = bytes(range(256)) * 1_000


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "file"
    file.write_bytes(CONTENT)
    return str(file)


class Loop:
    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.results: list[OSError | None] = []

    def hand_back(self, call: Callable[[], None]) -> None:
        self._calls.put(call)

    def run_until(self, count: int) -> None:
        while len(self.results) < count:
            self._calls.get(timeout=30)()


def refusing(error: int) -> Callable[..., int]:
    def preadv(*_args: Any) -> int:
        raise OSError(error, os.strerror(error))

    return preadv


def test_what_the_page_cache_has_is_read(path: str) -> None:
    fs = OsFs(lambda call: call())
    file = fs.open(path)
    assert file.read_cached(10, 100) == CONTENT[10:110]
    assert file.read_cached(0, len(CONTENT) + 5) == CONTENT, "as any read: shorter at the end of the file"
    assert file.read_cached(len(CONTENT) + 5, 5) == b""
    assert file.read_cached(5, 0) == b""
    assert fs.read_bytes_cached(path) == CONTENT
    file.close()


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="Linux alone says what is in memory")
def test_what_it_lacks_is_not(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fs = OsFs(lambda call: call())
    file = fs.open(path)
    monkeypatch.setattr(os, "preadv", refusing(errno.EAGAIN))
    assert file.read_cached(10, 100) is None
    assert fs.read_bytes_cached(path) is None
    monkeypatch.setattr(os, "preadv", lambda _fd, buffers, _at, _flags: len(buffers[0]) - 1)
    assert file.read_cached(10, 100) is None, "a part of it"
    monkeypatch.setattr(os, "preadv", refusing(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        file.read_cached(10, 100)
    file.close()


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_system_that_cannot_say_reads_as_ever(path: str, error: int, monkeypatch: pytest.MonkeyPatch) -> None:
    file = OsFs(lambda call: call()).open(path)
    monkeypatch.setattr(os, "preadv", refusing(error))
    assert file.read_cached(10, 100) == CONTENT[10:110]
    monkeypatch.setattr(os, "preadv", refusing(errno.EAGAIN))
    assert file.read_cached(10, 100) == CONTENT[10:110], "it is not asked again"
    file.close()
    monkeypatch.setattr(os_reads, "_NO_WAIT", None)
    fs = OsFs(lambda call: call())
    again = fs.open(path)
    assert again.read_cached(10, 100) == CONTENT[10:110]
    assert fs.read_bytes_cached(path) == CONTENT
    again.close()


@pytest.mark.skipif(not os_reads._SENDS, reason="this system sends to sockets alone")
def test_what_is_loaded_is_not_copied_where_the_system_can_do_without(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pread", refusing(errno.EIO))
    os_reads.load(path, 100, 1 << 31)
    monkeypatch.setattr(os, "sendfile", refusing(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        os_reads.load(path, 100, 10)


@pytest.mark.skipif(not os_reads._SENDS, reason="this system sends to sockets alone")
def test_what_cannot_be_sent_is_read(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sendfile", refusing(errno.EINVAL))
    os_reads.load(path, 100, 1 << 31)
    monkeypatch.setattr(os, "pread", refusing(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        os_reads.load(path, 100, 10)


@pytest.mark.parametrize("ahead", [False, True])
def test_threads_load_and_hand_back(path: str, ahead: bool) -> None:
    loop = Loop()
    loads = Loads(loop.hand_back)
    for position in range(20):
        loads.add(path, position * 1_000, 1_000, loop.results.append, ahead=ahead)
    loads.add(path, 0, 1 << 31, loop.results.append, ahead=ahead)
    loop.run_until(21)
    assert loop.results == [None] * 21
    loads.close()


def test_what_cannot_be_loaded_is_reported(path: str) -> None:
    loop = Loop()
    loads = Loads(loop.hand_back)
    loads.add(path + ".gone", 0, 10, loop.results.append, ahead=False)
    loop.run_until(1)
    assert isinstance(loop.results[0], FileNotFoundError)
    loads.close()


def test_jobs_that_have_not_begun_end_with_the_threads(path: str) -> None:
    loads = Loads(lambda call: call())
    for _ in range(1_000):
        loads.add(path, 0, len(CONTENT), lambda _error: None, ahead=False)
    loads.close()
    loads.close()


def test_a_loop_that_is_closed_is_no_error(path: str) -> None:
    def closed(_call: Callable[[], None]) -> None:
        raise RuntimeError("Event loop is closed")

    loads = Loads(closed)
    loads.add(path, 0, 10, lambda _error: None, ahead=False)
    loads.close()
