"""The broker under test, clients of it that leak, and the Java client."""

from __future__ import annotations

import gc
import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.support.cluster import cluster
from tests.interop.support.fixtures import both_brokers, broker, broker_kind, unique
from tests.interop.support.java_driver import JavaDriver, why_no_java
from tests.interop.support.protocol import why_not

__all__ = ["both_brokers", "broker", "broker_kind", "cluster", "unique"]

HERE = Path(__file__).parent

# The clients leave sockets to the garbage collector when a broker goes away under them.
_LEAKS_OF_CLIENTS = ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            for warning in _LEAKS_OF_CLIENTS:
                item.add_marker(pytest.mark.filterwarnings(warning))
            if item.config.getoption("--protocol") == "SASL_SSL" and (why := why_not(item.nodeid)) is not None:
                item.add_marker(pytest.mark.skip(reason=f"not over SASL_SSL: {why}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print, with `--protocol=SASL_SSL`, how many tests had no such run, by their reasons."""
    if config.getoption("--protocol") == "SASL_SSL":
        skipped = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", ())]
        reasons = Counter(reason.split(": ", 2)[2] for reason in skipped if "not over SASL_SSL: " in reason)
        terminalreporter.section("not over SASL_SSL")
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count:4} {reason}")
        terminalreporter.write_line(f"{reasons.total():4} in all")


@pytest.fixture(scope="module", autouse=True)
def _collect_leaks_here() -> Iterator[None]:
    """Collect while the warnings are still ignored.

    The clients may not log: pytest would keep sockets with the records.
    """
    loggers = [logging.getLogger("kafka"), logging.getLogger("aiokafka")]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    yield
    for logger in loggers:
        logger.setLevel(logging.NOTSET)
    gc.collect()


@pytest.fixture(scope="module")
def java() -> Iterator[JavaDriver]:
    missing = why_no_java()
    if missing is not None:
        pytest.skip(missing)
    driver = JavaDriver()
    yield driver
    driver.close()
