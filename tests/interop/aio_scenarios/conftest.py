"""One broker for all scenarios, and the outcome of each, stored on request."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.aio_scenarios.stage import Stage
from tests.interop.aio_scenarios.table import update
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind

SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
}
_outcomes: dict[str, str] = {}


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


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the outcome; of a parametrized test, note the worst one."""
    before, _, test = report.nodeid.partition("/aio_scenarios/")
    name = test.partition("[")[0]
    if before and test and (report.when == "call" or not report.passed) and _outcomes.get(name) != "failed":
        _outcomes[name] = report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--update-aio-scenarios") and _outcomes:
        update(session.config.getoption("--broker"), _outcomes)
