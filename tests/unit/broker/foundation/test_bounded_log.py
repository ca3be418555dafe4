"""Lines of a kind are bounded in number, and those that are left out are counted."""

from __future__ import annotations

import logging

import pytest

from shareq.broker.foundation.bounded_log import BoundedLog

logger = logging.getLogger("test_bounded_log")


class Now:
    """A clock that is set by hand."""

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
