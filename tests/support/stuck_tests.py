"""The tracebacks of all threads, on standard error, of a test that waits for ever."""

from __future__ import annotations

import faulthandler
import os
import time
from collections.abc import Callable
from typing import Final

import pytest

OPTION: Final = "faulthandler_timeout"
ARMED_EVERY_S: Final = 60


class StuckTests:
    """The plugin that arms the dump of tracebacks, once for all tests that begin within ARMED_EVERY_S.

    pytest's own plugin starts a thread for each test and waits for its end: a third of the CPU of a quick test, and on
    a busy machine longer than the test.
    """

    def __init__(self, stderr: int, waits_s: float, now_s: Callable[[], float] = time.monotonic) -> None:
        self._stderr = stderr
        self._waits_s = waits_s
        self._now_s = now_s
        self._armed_s: float | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> None:
        now_s = self._now_s()
        if self._armed_s is None or now_s - self._armed_s >= ARMED_EVERY_S:
            faulthandler.dump_traceback_later(self._waits_s + ARMED_EVERY_S, file=self._stderr)
            self._armed_s = now_s

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        self._disarm()

    def pytest_unconfigure(self) -> None:
        self._disarm()
        os.close(self._stderr)

    def _disarm(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        self._armed_s = None


def install(config: pytest.Config) -> None:
    """Replace pytest's plugin, if its option says when a test counts as stuck.

    Standard error must not be captured yet.
    """
    plugins, waits_s = config.pluginmanager, float(config.getini(OPTION))
    if waits_s > 0 and plugins.has_plugin("faulthandler"):
        plugins.unregister(name="faulthandler")
        plugins.register(StuckTests(os.dup(2), waits_s))
