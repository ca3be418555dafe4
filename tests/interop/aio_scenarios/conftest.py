"""One broker for all scenarios."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.aio_scenarios.stage import Stage
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind

SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
}


@pytest.fixture(scope="package")
def broker(broker_kind: Kind) -> Iterator[BrokerUnderTest]:
    broker = BrokerUnderTest(broker_kind, SETTINGS)
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()


@pytest.fixture(scope="package")
def stage(broker: BrokerUnderTest) -> Iterator[Stage]:
    stage = Stage(broker)
    yield stage
    stage.close()
