from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest, Kind, why_unavailable_here


@pytest.fixture(scope="session")
def broker_kind(request: pytest.FixtureRequest) -> Kind:
    """Return the kind chosen by `--broker`; tests are skipped if it cannot run."""
    kind: Kind = request.config.getoption("--broker")
    missing = why_unavailable_here(kind)
    if missing is not None:
        pytest.skip(missing)
    return kind


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest, broker_kind: Kind) -> Iterator[BrokerUnderTest]:
    """Run one process per module, shared by its tests, which use topics and groups of their own.

    A module that needs other server properties sets `BROKER_SETTINGS = {"name": "value"}`, and `OUR_SETTINGS` for
    shareq alone.
    """
    settings = dict(getattr(request.module, "BROKER_SETTINGS", {}))
    if broker_kind == "ours":
        settings |= getattr(request.module, "OUR_SETTINGS", {})
    broker = BrokerUnderTest(broker_kind, settings)
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()


@pytest.fixture(autouse=True)
def no_dead_broker(request: pytest.FixtureRequest) -> None:
    """Fail at once if an earlier test ended the broker; otherwise each client would wait for its timeout."""
    if "broker" in request.fixturenames:
        broker = request.getfixturevalue("broker")
        if isinstance(broker, BrokerUnderTest):
            must_live(broker)


def must_live(broker: BrokerUnderTest) -> None:
    if broker.has_died:
        pytest.fail(f"the broker has died ({broker.last_exit_code}):\n{broker.log_tail()}", pytrace=False)


@pytest.fixture(scope="module")
def both_brokers(request: pytest.FixtureRequest) -> Iterator[list[BrokerUnderTest]]:
    """Yield shareq, then Apache Kafka, each with the module's `BROKER_SETTINGS`; skipped without `--side-by-side`."""
    if not request.config.getoption("--side-by-side"):
        pytest.skip("needs --side-by-side")
    kinds: tuple[Kind, ...] = ("ours", "apache")
    for kind in kinds:
        if missing := why_unavailable_here(kind):
            pytest.skip(missing)
    both = [BrokerUnderTest(kind, request.module.BROKER_SETTINGS) for kind in kinds]
    try:
        for broker in both:
            broker.start()
        yield both
    finally:
        for broker in both:
            broker.remove()


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Return a maker of unique names: `unique("topic")` -> `topic-3f9c1b`, with one suffix per test."""
    suffix = uuid.uuid4().hex[:6]
    return lambda name: f"{name}-{suffix}"
