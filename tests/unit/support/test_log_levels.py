"""A test that sets the level of all loggers hides no log lines from later tests in its process."""

from __future__ import annotations

import logging

import pytest


def test_a_level_is_set_and_left() -> None:
    logging.getLogger().setLevel(logging.CRITICAL)


def test_the_next_test_sees_its_warnings(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("shareq.worker").warning("released")
    assert caplog.messages == ["released"]
