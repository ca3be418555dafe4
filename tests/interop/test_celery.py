"""Celery workers on kafka-share://, on a broker of either kind, as docs/celery.md describes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.support.scenarios.celery import BROKER_SETTINGS, CeleryScenarios

__all__ = ["BROKER_SETTINGS"]

pytestmark = pytest.mark.interop


@pytest.fixture
def kill_broker(broker: BrokerUnderTest) -> Callable[[], object]:
    return lambda: broker.restart(kill=True)


class TestCelery(CeleryScenarios):
    """All scenarios for Celery workers."""
