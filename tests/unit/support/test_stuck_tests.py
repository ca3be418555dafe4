"""A test that waits for ever shows where it waits; the others cost nothing."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.stuck_tests import ARMED_EVERY_S, OPTION, StuckTests

WAITS_S: Final = 600.0


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Open a pipe whose writing end the plugin closes."""
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def test_the_tracebacks_of_a_test_that_waits_are_written(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    plugin = StuckTests(writing, 0.01 - ARMED_EVERY_S)
    plugin.pytest_runtest_protocol()
    assert os.read(reading, 9).startswith(b"Timeout (")
    plugin.pytest_unconfigure()
    assert b"test_the_tracebacks_of_a_test_that_waits_are_written" in _rest(reading)


def test_tests_of_one_minute_arm_once_and_none_waits_for_longer_than_it_may(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0
    armed: list[tuple[float, float]] = []
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda after_s, file: armed.append((now_s, after_s)))
    plugin = StuckTests(pipe[1], WAITS_S, lambda: now_s)
    for now_s in (0.0, 1.0, ARMED_EVERY_S - 1.0, ARMED_EVERY_S, ARMED_EVERY_S + 1.0, 900.0):
        plugin.pytest_runtest_protocol()
        since_s, after_s = armed[-1]
        assert WAITS_S < since_s + after_s - now_s <= WAITS_S + ARMED_EVERY_S
    assert [since_s for since_s, _ in armed] == [0.0, ARMED_EVERY_S, 900.0]
    plugin.pytest_unconfigure()


def test_a_debugger_may_wait(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda after_s, file: calls.append("armed"))
    monkeypatch.setattr(faulthandler, "cancel_dump_traceback_later", lambda: calls.append("disarmed"))
    plugin = StuckTests(pipe[1], WAITS_S, lambda: 0.0)
    plugin.pytest_runtest_protocol()
    plugin.pytest_enter_pdb()
    plugin.pytest_runtest_protocol()
    assert calls == ["armed", "disarmed", "armed"]
    plugin.pytest_unconfigure()


def test_this_run_has_the_plugin_instead_of_that_of_pytest(pytestconfig: pytest.Config) -> None:
    assert float(pytestconfig.getini(OPTION)) == WAITS_S
    plugins = pytestconfig.pluginmanager
    assert not plugins.has_plugin("faulthandler")
    assert any(isinstance(plugin, StuckTests) for plugin in plugins.get_plugins())


def _rest(reading: int) -> bytes:
    """Read to the end, after the writing end was closed."""
    found = b""
    while block := os.read(reading, 1 << 16):
        found += block
    return found
