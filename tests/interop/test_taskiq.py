"""Taskiq over share groups, on a broker of either kind, as docs/taskiq.md describes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.support.scenarios.taskiq import BROKER_SETTINGS, TaskiqScenarios

__all__ = ["BROKER_SETTINGS"]

pytestmark = pytest.mark.interop


@pytest.fixture
def restart(broker: BrokerUnderTest) -> Callable[[], object]:
    return broker.restart


class TestTaskiq(TaskiqScenarios):
    """All scenarios for taskiq workers."""
