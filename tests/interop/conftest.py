from __future__ import annotations

import gc
import logging
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.interop.support import by_node
from tests.interop.support.cluster import cluster
from tests.interop.support.fixtures import both_brokers, broker, broker_kind, no_dead_broker, unique
from tests.interop.support.java_driver import JavaDriver, JavaDrivers, why_no_java
from tests.interop.support.node_under_test import NODE_CLUSTER
from tests.interop.support.protocol import why_not

__all__ = ["both_brokers", "broker", "broker_kind", "cluster", "no_dead_broker", "unique"]

HERE = Path(__file__).parent

# The clients leave sockets to the garbage collector when a broker goes away under them.
_LEAKS_OF_CLIENTS = ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


IN_MAKE_TEST: Final = {"test_celery.py", "test_taskiq.py"}
"""The files whose scenarios need only Python: files of the same names in `tests/wire` run them on shareq."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            if item.path.name in IN_MAKE_TEST and _broker_of(item) == ("ours", "PLAINTEXT"):
                item.add_marker(pytest.mark.skip(reason=f"`make test` has it: tests/wire/{item.path.name}"))
            for warning in _LEAKS_OF_CLIENTS:
                item.add_marker(pytest.mark.filterwarnings(warning))
            if _broker_of(item)[1] == "SASL_SSL" and (why := why_not(item.nodeid)) is not None:
                item.add_marker(pytest.mark.skip(reason=f"not over SASL_SSL: {why}"))
            if _broker_of(item)[0] == "node" and (why := by_node.why_not(item.nodeid)) is not None:
                item.add_marker(pytest.mark.skip(reason=why))
            if _broker_of(item)[0] == "apache" and is_the_same_on_any_broker(item):
                item.add_marker(pytest.mark.skip(reason="asks no broker that --broker chooses: `make interop` has it"))


def _broker_of(item: pytest.Item) -> tuple[str, str]:
    return item.config.getoption("--broker"), item.config.getoption("--protocol")


def is_the_same_on_any_broker(item: pytest.Item) -> bool:
    """Return whether a test uses neither the chosen broker nor jars of a chosen version."""
    chosen = {"broker_kind", "both_brokers"}.intersection(getattr(item, "fixturenames", ()))
    return not chosen and "KAFKA_VERSION" not in os.environ


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print with `--protocol=SASL_SSL` how many tests did not run with it, by reason; for nodes all outcomes."""
    if config.getoption("--protocol") == "SASL_SSL":
        skipped = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", ())]
        reasons = Counter(reason.split(": ", 2)[2] for reason in skipped if "not over SASL_SSL: " in reason)
        terminalreporter.section("not over SASL_SSL")
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count:4} {reason}")
        terminalreporter.write_line(f"{reasons.total():4} in all")
    if config.getoption("--broker") == "node" and not hasattr(config, "workerinput"):
        found = by_node.found_in(list(_outcomes(terminalreporter)))
        terminalreporter.section(f"suites by way of a node before {NODE_CLUSTER}")
        for file, one in found.items():
            counts = f"{one.passed} passed, {len(one.failed)} failed"
            terminalreporter.write_line(f"{file}: {counts}, left out: {dict(one.left_out) or 'none'}")
        if config.getoption("--update-node-suites"):
            by_node.update(NODE_CLUSTER, found)


def _outcomes(terminalreporter: pytest.TerminalReporter) -> Iterator[tuple[str, str, str]]:
    for kind in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(kind, ()):
            outcome = "failed" if kind == "error" else kind
            if report.when == "call" or outcome != "passed":
                reason = report.longrepr[2].removeprefix("Skipped: ") if kind == "skipped" else ""
                yield report.nodeid, outcome, reason


@pytest.fixture(scope="module", autouse=True)
def _collect_leaks_here() -> Iterator[None]:
    """Collect the test's garbage while clients are not allowed to log: pytest would keep their sockets with the
    records.
    """
    loggers = [logging.getLogger("kafka"), logging.getLogger("aiokafka")]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    yield
    for logger in loggers:
        logger.setLevel(logging.NOTSET)
    gc.collect()


@pytest.fixture(scope="session")
def java_drivers() -> Iterator[JavaDrivers]:
    drivers = JavaDrivers()
    yield drivers
    drivers.close()


@pytest.fixture(scope="module")
def java(java_drivers: JavaDrivers) -> JavaDriver:
    missing = why_no_java()
    if missing is not None:
        pytest.skip(missing)
    return java_drivers.driver()
