"""Log lines of one kind are limited in number, and suppressed ones are counted."""

from __future__ import annotations

import logging
import tracemalloc

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.bounded_log import MOST_CHARACTERS, MOST_OF_A_NAME, BoundedLog, BoundedLogs, cut

logger = logging.getLogger("test_bounded_log")


class Now:
    ms = 0

    def __call__(self) -> int:
        return self.ms


def test_what_comes_too_often_is_left_out_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = Now()
    log = BoundedLog(logger, now, most=2, period_ms=100)
    with caplog.at_level(logging.INFO, logger=logger.name):
        for number in range(5):
            log.log(logging.INFO, "number %d", number, number=number)
        now.ms = 99
        log.log(logging.INFO, "number %d", 5)
        assert log.left_out == 4
        now.ms = 100
        log.log(logging.INFO, "number %d", 6, number=6)
        log.log(logging.INFO, "number %d", 7)
    assert caplog.messages == [
        "number 0",
        "number 1",
        "number 6 (4 such lines before this one were left out)",
        "number 7",
    ]
    assert [record.__dict__["fields"] for record in caplog.records][1:3] == [
        {"number": 1},
        {"number": 6, "left_out": 4},
    ]


def test_a_level_that_is_off_costs_no_line(caplog: pytest.LogCaptureFixture) -> None:
    log = BoundedLog(logger, Now(), most=1)
    with caplog.at_level(logging.WARNING, logger=logger.name):
        log.log(logging.INFO, "off")
        log.log(logging.WARNING, "on")
    assert (caplog.messages, log.left_out) == (["on"], 0)


def test_lines_that_are_alike_are_left_out_and_counted_when_the_minute_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = VirtualClock()
    logs = BoundedLogs(clock, most_alike=2, period_ms=100)
    with caplog.at_level(logging.WARNING, logger=logger.name):
        for number in range(5):
            logs.log(logger, "192.0.2.1", "login", logging.WARNING, "refused %d", number, user="a")
        logs.log(logger, "192.0.2.1", "other", logging.WARNING, "other")
        logs.log(logger, "192.0.2.2", "login", logging.WARNING, "refused there")
        assert caplog.messages == ["refused 0", "refused 1", "other", "refused there"]
        clock.advance(100)
        assert caplog.messages[4:] == ["refused 4 (3 such lines were left out, this is the last)"]
        assert caplog.records[-1].__dict__["fields"] == {"user": "a", "left_out": 3}
        logs.log(logger, "192.0.2.1", "login", logging.WARNING, "refused again")
        clock.advance(1_000)
    assert caplog.messages[5:] == ["refused again"]


def test_one_client_with_ever_other_reasons_has_so_many_lines_and_others_theirs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = VirtualClock()
    logs = BoundedLogs(clock, most=5, most_clients=3, period_ms=100)
    with caplog.at_level(logging.WARNING, logger=logger.name):
        for number in range(1_000):
            logs.log(logger, "greedy", number, logging.WARNING, "greedy %d", number)
        logs.log(logger, "honest", 0, logging.WARNING, "honest")
        assert caplog.messages == [*(f"greedy {number}" for number in range(5)), "honest"]
        clock.advance(100)
        assert caplog.messages[6:] == ["greedy 999 (995 such lines were left out, this is the last)"]
        caplog.clear()
        for number in range(1_000):  # addresses without end
            logs.log(logger, f"client {number}", "login", logging.WARNING, "from %d", number)
        assert len(caplog.messages) <= 3 + 1 + 5
        clock.advance(100)
        assert sum(record.__dict__["fields"].get("left_out", 0) for record in caplog.records) == 1_000 - 9


def test_long_texts_are_cut(caplog: pytest.LogCaptureFixture) -> None:
    log = BoundedLog(logger, Now())
    with caplog.at_level(logging.WARNING, logger=logger.name):
        log.log(logging.WARNING, "%s", "x" * 32_000, name="x" * 32_000)
    assert caplog.messages == ["x" * MOST_CHARACTERS + "... (32000 characters)"]
    assert caplog.records[0].__dict__["fields"] == {"name": "x" * MOST_OF_A_NAME + "... (32000 characters)"}
    assert cut("x" * MOST_OF_A_NAME) == "x" * MOST_OF_A_NAME
    assert cut("x" * 257) == "x" * 256 + "... (257 characters)"
    assert cut(7) == 7


def test_of_long_texts_no_more_is_kept_than_is_written() -> None:
    """Before login a client may send half a megabyte of text, different each time."""
    clock = VirtualClock()
    logs = BoundedLogs(clock)
    tracemalloc.start()
    for number in range(200):
        reason = f"{number:03}" + "x" * 500_000
        logs.log(logger, "127.0.0.1", reason, logging.ERROR, "%s", reason, reason=reason)
    del reason
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000
    clock.advance(60_000)
