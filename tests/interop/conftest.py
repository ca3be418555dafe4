"""The broker under test: one process a module, shared by its tests, which use topics and groups of their own.

A module that needs other server properties sets `BROKER_SETTINGS = {"name": "value"}`, and `OUR_SETTINGS` for shareq
alone.
"""

from __future__ import annotations

import gc
import logging
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest, Kind, why_unavailable_here
from tests.interop.support.java_driver import JavaDriver, why_no_java

HERE = Path(__file__).parent

# The clients leave sockets to the garbage collector when a broker goes away under them.
_LEAKS_OF_CLIENTS = ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            for warning in _LEAKS_OF_CLIENTS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="module", autouse=True)
def _collect_leaks_here() -> Iterator[None]:
    """While the warnings are still ignored. The clients may not log: pytest would keep sockets with the records."""
    loggers = [logging.getLogger("kafka"), logging.getLogger("aiokafka")]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    yield
    for logger in loggers:
        logger.setLevel(logging.NOTSET)
    gc.collect()


@pytest.fixture(scope="session")
def broker_kind(request: pytest.FixtureRequest) -> Kind:
    kind: Kind = request.config.getoption("--broker")
    missing = why_unavailable_here(kind)
    if missing is not None:
        pytest.skip(missing)
    return kind


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest, broker_kind: Kind) -> Iterator[BrokerUnderTest]:
    settings = dict(getattr(request.module, "BROKER_SETTINGS", {}))
    if broker_kind == "ours":
        settings |= getattr(request.module, "OUR_SETTINGS", {})
    broker = BrokerUnderTest(broker_kind, settings)
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()


@pytest.fixture(scope="module")
def java() -> Iterator[JavaDriver]:
    missing = why_no_java()
    if missing is not None:
        pytest.skip(missing)
    driver = JavaDriver()
    yield driver
    driver.close()


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Names that no other test uses: `unique("topic")` -> `topic-3f9c1b`, the same suffix within a test."""
    suffix = uuid.uuid4().hex[:6]
    return lambda name: f"{name}-{suffix}"
