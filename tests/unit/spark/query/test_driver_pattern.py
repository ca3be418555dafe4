"""A query that reads the topics of a pattern: existing topics, those created later, and none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.clients.admin import create_topic, produce, read_from_start
from shareq.spark.offsets import INITIAL, SourceOffset
from shareq.spark.options import SourceOptions
from shareq.spark.query import driver as driver_module
from shareq.spark.query.driver import Driver
from shareq.testing import Broker
from tests.support.waiting import until


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(mode="thread") as running:
        yield running


@pytest.fixture
def driver(broker: Broker, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """Run a driver that reads topics named `TEST-` and one letter, and looks for new ones each time."""
    monkeypatch.setattr(driver_module, "TOPICS_MS", 0)
    monkeypatch.setattr(driver_module, "LOOK_MS", 100)
    prefix = request.node.name
    read_from_start(broker.bootstrap, prefix)
    given = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "kafka.group.id": prefix,
        "subscribePattern": f"{prefix}-[a-z]",
    }
    made = Driver(SourceOptions.parse(given))
    yield made
    made.close()


def write(broker: Broker, *topics: str) -> None:
    for topic in topics:
        create_topic(broker.bootstrap, topic, 1)
        produce(broker.bootstrap, topic, [(0, topic.encode())])


def topics_until(driver: Driver, wanted: set[str], start: SourceOffset = INITIAL) -> SourceOffset:
    """Take micro-batches until each of these topics had one. Return the last offset."""
    seen: set[str] = set()

    def taken() -> bool:
        nonlocal start
        end = driver.latest(start, None)
        if end is not None:
            seen.update(key.topic for key in end.batch)
            start = end
        return seen >= wanted

    until(taken)
    assert seen == wanted
    return start


def test_topics_that_there_are_and_that_come_later(
    broker: Broker, driver: Driver, request: pytest.FixtureRequest
) -> None:
    name = request.node.name
    write(broker, f"{name}-a", f"{name}-b", f"{name}-aa", f"x{name}-a")
    start = topics_until(driver, {f"{name}-a", f"{name}-b"})
    write(broker, f"{name}-c", f"{name}-cc")
    topics_until(driver, {f"{name}-c"}, start)


def test_a_query_may_begin_before_there_is_a_topic(
    broker: Broker, driver: Driver, request: pytest.FixtureRequest
) -> None:
    name = request.node.name
    assert driver.latest(INITIAL, None) is None
    write(broker, f"{name}-a")
    topics_until(driver, {f"{name}-a"})


def test_available_now_ends_where_no_topic_is(driver: Driver) -> None:
    driver.prepare_available_now()
    assert driver.latest(INITIAL, None) is None


def test_available_now_reads_all_topics_that_there_are(
    broker: Broker, driver: Driver, request: pytest.FixtureRequest
) -> None:
    name = request.node.name
    write(broker, f"{name}-a", f"{name}-b")
    driver.prepare_available_now()
    start = topics_until(driver, {f"{name}-a", f"{name}-b"})
    assert driver.latest(start, None) is None
