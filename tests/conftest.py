"""Options and fixtures that every test shares."""

from __future__ import annotations

import gc
import logging
import signal
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from shareq.broker.foundation.loop.collector import COLLECTOR, MOST_YOUNG, YOUNG_LOOKS
from tests.support import file_by_file, stuck_tests
from tests.support.file_order import in_order

pytest.register_assert_rewrite("tests.support.scenarios")

if settings.get_current_profile_name() == "default":
    # How long an example takes says nothing about the code on a machine that other programs keep busy.
    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--broker",
        choices=["ours", "apache", "node"],
        default="ours",
        help="which broker the interop tests run against: shareq, Apache Kafka as the judge of the tests, or a node of "
        "shareq before the cluster that NODE_CLUSTER names (4.3.1, 3.9.1, ours)",
    )
    parser.addoption(
        "--protocol",
        choices=["PLAINTEXT", "SASL_SSL"],
        default="PLAINTEXT",
        help="how the interop tests' clients talk to brokers that have no listeners of their own",
    )
    parser.addoption(
        "--side-by-side",
        action="store_true",
        help="tests of Apache Kafka's tools: run Apache Kafka as well, instead of comparing with its transcripts",
    )
    parser.addoption(
        "--update-transcripts",
        action="store_true",
        help="with --broker=apache: write down what Apache Kafka's tools print, to compare with",
    )
    parser.addoption(
        "--update-clients-table",
        action="store_true",
        help="with tests/interop/test_every_client.py: write what each client can do into docs/evidence/clients.md",
    )
    parser.addoption(
        "--update-kafka-tests",
        action="store_true",
        help="with tests/interop/test_kafka_share_tests.py: write expected.json and docs/evidence/kafka-tests.md",
    )
    parser.addoption(
        "--update-node-suites",
        action="store_true",
        help="with --broker=node: write what became of the suites into docs/evidence/suites-by-node.md",
    )
    parser.addoption(
        "--update-aio-scenarios",
        action="store_true",
        help="with tests/interop/aio_scenarios: write results.json there and docs/evidence/aio-scenarios.md",
    )
    parser.addoption(
        "--update-security-matrix",
        action="store_true",
        help="with test_security_matrix.py, test_source_tls.py: write docs/evidence/security-matrix.md",
    )
    file_by_file.add_option(parser)


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background so. Children inherit it, and those that a test interrupts would go on.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Make clients talk SASL_SSL before any test module has imported them.

    The collector looks as rarely as in a broker: every 700 objects, it took a tenth of the time of all tests.
    """
    gc.set_threshold(MOST_YOUNG, YOUNG_LOOKS)
    if config.getoption("--protocol") == "SASL_SSL":
        from tests.interop.support.protocol import install

        install()
    file_by_file.install(config)
    stuck_tests.install(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        places = {file: at for at, file in enumerate(in_order(list(dict.fromkeys(map(_file_of, items)))))}
        items.sort(key=lambda item: places[_file_of(item)])


def _file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    with file_by_file.without_collector():
        result = yield
    gc.freeze()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Keep Celery, which sets the level of all loggers for its process, from hiding the lines of later tests."""
    root = logging.getLogger()
    level = root.level
    try:
        return (yield)
    finally:
        root.setLevel(level)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Switch the collector on again: a broker whose test ended during long work has left it off."""
    COLLECTOR.let_go_by_all()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the broker's log with a failed test that has a `broker` fixture."""
    report = yield
    broker: Any = getattr(item, "funcargs", {}).get("broker")
    if report.failed and hasattr(broker, "log_tail"):
        report.sections.append(("broker log", broker.log_tail()))
    return report
