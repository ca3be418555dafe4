"""Celery's workers on kafka-share://, on a broker of either kind: what docs/celery.md says of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.cluster import Cluster
from tests.support.scenarios.celery import BROKER_SETTINGS, CeleryScenarios

__all__ = ["BROKER_SETTINGS"]

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def cluster(broker: BrokerUnderTest) -> Iterator[Cluster]:
    made = Cluster(broker)
    yield made
    made.close()


@pytest.fixture
def kill_broker(broker: BrokerUnderTest) -> Callable[[], object]:
    return lambda: broker.restart(kill=True)


class TestCelery(CeleryScenarios):
    """All of them."""
