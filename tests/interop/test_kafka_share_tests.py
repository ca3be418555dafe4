"""Apache Kafka's own tests of share groups, as released, with a broker process in place of their own.

Outcomes are compared with `kafka_tests/expected.json` for both brokers, or `expected_by_node.json`: passed, failed, or
left out and why. A failed test is repeated alone and counts only if it fails again. `make interop-kafka-tests` runs
them (`ARGS=--broker=apache`: the reference, Apache Kafka 4.4.0; `ARGS=--broker=node`: a node in front of the cluster
that NODE_CLUSTER names); with `--update-kafka-tests` it writes the file and docs/evidence/kafka-tests.md.
"""

from __future__ import annotations

import pytest

from tests.interop.kafka_tests.suite import CLASSES, INSIDE_ONLY, Suite, methods, name_of, why_not
from tests.interop.kafka_tests.table import expected_of, in_words, of_suite, update
from tests.interop.kafka_tests.worker import Result, run
from tests.interop.support.broker_under_test import Kind

pytestmark = [pytest.mark.interop, pytest.mark.thorough]


@pytest.fixture(autouse=True)
def _runnable() -> None:
    if (missing := why_not()) is not None:
        pytest.skip(missing)


@pytest.mark.parametrize("suite", CLASSES, ids=lambda one: f"{one.short}-{one.libraries}")
def test_class_of_tests(request: pytest.FixtureRequest, broker_kind: Kind, suite: Suite) -> None:
    results = run(broker_kind, suite)
    found = in_words(results)
    if request.config.getoption("--update-kafka-tests"):
        update(broker_kind, suite, found)
    assert found == of_suite(expected_of(broker_kind), suite), reported(results)


@pytest.mark.parametrize("suite", INSIDE_ONLY, ids=lambda one: f"{one.short}-{one.libraries}")
def test_those_that_no_outside_broker_can_be_given(
    request: pytest.FixtureRequest, broker_kind: Kind, suite: Suite
) -> None:
    found = in_words({name_of(method): Result("left out", INSIDE_ONLY[suite]) for method in methods(suite)})
    if request.config.getoption("--update-kafka-tests"):
        update(broker_kind, suite, found)
    assert found == of_suite(expected_of(broker_kind), suite)


def reported(results: dict[str, Result]) -> str:
    """Return the failures, with the lines of their traces that are in Kafka's code."""
    failed = [(name, result) for name, result in sorted(results.items()) if result.verdict == "failed"]
    return "\n\n".join(f"{name}: {result.reason}\n{_of_kafka(result.trace)}" for name, result in failed)


def _of_kafka(trace: str) -> str:
    return "\n".join(line for line in trace.splitlines() if "kafka" in line and "junit" not in line)[:3000]
