"""A pytest plugin for `make quick`: after a time limit no test starts, and the summary says how many did not."""

from __future__ import annotations

import time
from collections.abc import Generator

import pytest

_BEGAN = time.monotonic()
_LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--begin-within", type=float, default=25.0, help="seconds after the start in which tests begin")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Shorten pytest's list of tests once the time is up."""
    result = yield
    items = item.session.items
    if time.monotonic() - _BEGAN > item.config.getoption("--begin-within"):
        rest = items[items.index(item) + 1 :]
        item.config.stash[_LEFT_OUT] = item.config.stash.get(_LEFT_OUT, 0) + len(rest)
        del items[len(items) - len(rest) :]
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    left_out = terminalreporter.config.stash.get(_LEFT_OUT, 0)
    if left_out:
        terminalreporter.write_line(f"time is up: {left_out} tests left out, which `make test` runs")
