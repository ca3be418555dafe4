"""The suites run against a node: the selection, the tests that no node can run, and the table of outcomes.

`make interop-by-node` runs them in front of the cluster that NODE_CLUSTER names; with `--update-node-suites` it writes
`by_node.json`, beside this file, and docs/evidence/suites-by-node.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from devtools.documents import write_between
from devtools.kafka.apache_kafka import ROOT
from tests.interop.kafka_tests.table import CLUSTERS, LEFT_OUT, expected_by_node

RESULTS: Final = Path(__file__).with_name("by_node.json")
DOCUMENT: Final = ROOT / "docs" / "evidence" / "suites-by-node.md"
BEGIN: Final = "<!-- made by: make interop-by-node ARGS=--update-node-suites -->"
END: Final = "<!-- end of what is made -->"
SUITES: Final[Mapping[str, str]] = {
    "test_confluent_share_consumer.py": "librdkafka's share consumer",
    "test_share_fetch_rows.py": "share fetches, row by row",
    "test_share_bad_input.py": "bad input in requests of share groups",
    "test_java_share_consumer.py": "Java's share consumer",
    "test_franz_go_share_suite.py": "franz-go's own share tests",
    "test_aio.py": "our asyncio client",
    "test_worker.py": "our workers",
    "test_taskiq.py": "taskiq",
    "test_celery.py": "Celery's workers",
    "test_celery_suite.py": "Celery's own integration tests",
    "test_kombu_suite.py": "kombu's own tests of transports",
    "test_classic_consumers.py": "classic groups of four clients",
    "test_consumer_groups.py": "groups of KIP-848 of two clients",
    "test_transactional_producers.py": "transactional producers",
    "test_connect.py": "Kafka Connect and MirrorMaker 2",
    "test_spark.py": "Spark's Kafka source and sink",
}
"""The suites of `make interop-by-node` and `make interop-spark-by-node`."""
KAFKA_TESTS: Final = "Apache Kafka's own share tests"
ALONE: Final = ("passed", "left out", "failed")

_LONG: Final = "takes a quarter of an hour; a broker is asked"
CANNOT: Final[Mapping[str, str]] = {
    "/test_celery_suite.py::test_the_rest_of_it": _LONG,
    "/test_celery_suite.py::test_the_same_on_redis": "talks to Redis alone",
}
"""The reason why a test is not run against a node, by a part of the test's id."""
_SKIPPED: Final = "not by way of a node: "


class Found(NamedTuple):
    """The outcome of one suite in front of one cluster: `left_out` counts tests by reason."""

    passed: int
    failed: Sequence[str]
    left_out: Mapping[str, int]


Results = dict[str, dict[str, Found]]
"""The outcomes by cluster, then by file."""


def why_not(node_id: str) -> str | None:
    return next((f"{_SKIPPED}{why}" for part, why in CANNOT.items() if part in node_id), None)


def found_in(outcomes: Sequence[tuple[str, str, str]]) -> dict[str, Found]:
    """Return the counts of each suite. `outcomes`: a test's id, `passed`, `failed` or `skipped`, and a reason."""
    files: dict[str, list[tuple[str, str, str]]] = {}
    for node_id, outcome, reason in outcomes:
        file, _, test = node_id.rpartition("/")[2].partition("::")
        files.setdefault(file, []).append((test, outcome, reason.removeprefix(_SKIPPED)))
    return {
        file: Found(
            sum(outcome == "passed" for _, outcome, _ in tests),
            sorted({test for test, outcome, _ in tests if outcome == "failed"}),
            dict(sorted(Counter(reason for _, outcome, reason in tests if outcome == "skipped").items())),
        )
        for file, tests in files.items()
        if file in SUITES
    }


def results() -> Results:
    written = json.loads(RESULTS.read_text())
    return {cluster: {file: Found(**row) for file, row in written.get(cluster, {}).items()} for cluster in CLUSTERS}


def update(cluster: str, found: Mapping[str, Found]) -> None:
    known = results()
    known[cluster] |= found
    rows = {each: {file: one._asdict() for file, one in sorted(of.items())} for each, of in known.items()}
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    write_between(DOCUMENT, BEGIN, END, lines(known, kafkas_own(expected_by_node())))


def kafkas_own(verdicts: Mapping[str, Mapping[str, str]]) -> dict[str, Found]:
    made = {}
    for cluster, of in verdicts.items():
        reasons = [verdict.removeprefix(LEFT_OUT) for verdict in of.values() if verdict.startswith(LEFT_OUT)]
        failed = sorted(name for name, verdict in of.items() if verdict == "failed")
        made[cluster] = Found(sum(verdict == "passed" for verdict in of.values()), failed, Counter(reasons))
    return made


def lines(known: Results, kafkas: Mapping[str, Found]) -> list[str]:
    """Return the lines between the marks: figures by suite, reasons for leaving tests out, failures."""
    made = ["", f"Tests {'/'.join(ALONE)}:", ""]
    for file, name in SUITES.items():
        found = {cluster: known[cluster].get(file) for cluster in CLUSTERS}
        made.append(f"* [{name}](../../tests/interop/{file}): {_cells(found)}")
    found = {cluster: kafkas.get(cluster) for cluster in CLUSTERS}
    made += [f"* [{KAFKA_TESTS}](kafka-tests.md#through-a-node): {_cells(found)}", ""]
    return [*made, *_left_out(known), *_failed(known)]


def _cells(found: Mapping[str, Found | None]) -> str:
    """Return the figures of all clusters, or a single figure if they are equal."""
    places: dict[str, list[str]] = {}
    for cluster, of_cluster in found.items():
        places.setdefault(_cell(of_cluster), []).append(CLUSTERS[cluster])
    return "; ".join(cell if len(places) == 1 else f"{cell} ({', '.join(names)})" for cell, names in places.items())


def _cell(found: Found | None) -> str:
    if found is None or not (found.passed or found.failed or found.left_out):
        return "not asked"
    return f"{found.passed}/{sum(found.left_out.values())}/{len(found.failed)}"


def _left_out(known: Results) -> list[str]:
    rows: dict[tuple[str, str, int], list[str]] = {}
    for cluster, suites in known.items():
        for file, found in suites.items():
            for reason, count in found.left_out.items():
                rows.setdefault((reason, file, count), []).append(CLUSTERS[cluster])
    made = [
        f"* {SUITES[file]}, {count} tests, before {_all_or(places)}: {reason}"
        for (reason, file, count), places in sorted(rows.items())
    ]
    return ["Left out, apart from Apache Kafka's own:", "", *made, ""]


def _failed(known: Results) -> list[str]:
    rows: dict[str, list[str]] = {}
    for cluster, suites in known.items():
        for file, found in suites.items():
            for test in found.failed:
                rows.setdefault(f"`{file}::{test}`", []).append(CLUSTERS[cluster])
    named = [f"{test} ({_all_or(places)})" for test, places in sorted(rows.items())]
    return [f"Failed: {', '.join(named) or 'none'}."]


def _all_or(places: Sequence[str]) -> str:
    return "each" if len(places) == len(CLUSTERS) else ", ".join(places)
