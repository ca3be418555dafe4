"""The check whether a process runs, even at the moment when it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.processes import children, runs


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_one_that_ended_does_not_run_before_it_is_reaped_and_after() -> None:
    assert runs(os.getpid())
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not runs(process.pid)
    process.wait()
    assert not runs(process.pid)


@pytest.mark.parametrize("error", [FileNotFoundError, ProcessLookupError])
def test_one_that_ends_while_it_is_looked_at_does_not_run(
    monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    """The error of reading an opened file differs from that of opening it."""

    def ended(_: Path) -> str:
        raise error

    monkeypatch.setattr(Path, "read_text", ended)
    assert not runs(1)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_children_are_those_of_all_threads_and_none_of_what_has_ended() -> None:
    before = children(os.getpid())
    with ThreadPoolExecutor(1) as other:
        process = other.submit(subprocess.Popen, [sys.executable, "-c", "input()"], stdin=subprocess.PIPE).result()
        assert sorted(children(os.getpid())) == sorted([*before, process.pid])
    process.communicate(b"\n")
    assert process.pid not in children(os.getpid())
    assert children(process.pid) == []
