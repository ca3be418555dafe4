"""The outcomes of Apache Kafka's tests: the expected ones, and the table made of them.

`expected.json` has a verdict of each test for each broker, `expected_by_node.json` for a node in front of each cluster:
`passed`, `failed`, or `left out: ` and the reason.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from devtools.documents import write_between
from devtools.kafka.apache_kafka import ROOT
from tests.interop.kafka_tests.suite import Suite
from tests.interop.kafka_tests.worker import Result
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.node_under_test import NODE_CLUSTER

EXPECTED: Final = Path(__file__).with_name("expected.json")
BY_NODE: Final = EXPECTED.with_stem("expected_by_node")
DOCUMENT: Final = ROOT / "docs" / "evidence" / "kafka-tests.md"
BEGIN: Final = "<!-- made by: make interop-kafka-tests ARGS=--update-kafka-tests -->"
BEGIN_NODES: Final = "<!-- made by: make interop-kafka-tests ARGS='--broker=node --update-kafka-tests' -->"
END: Final = "<!-- end of what is made -->"
LEFT_OUT: Final = "left out: "
_KINDS: Final[Mapping[str, str]] = {"ours": "shareq", "apache": "Apache Kafka 4.4.0"}
CLUSTERS: Final[Mapping[str, str]] = {
    "ours": "shareq",
    "3.9.1": "Apache Kafka 3.9.1",
    "4.3.1": "Apache Kafka 4.3.1",
}
"""The clusters in front of which nodes are tested."""

Verdicts = dict[str, dict[str, str]]
"""The outcomes by test, for each broker, or for each cluster with a node in front of it."""


def expected() -> Verdicts:
    found: Verdicts = json.loads(EXPECTED.read_text())
    return found


def expected_by_node() -> Verdicts:
    found: Verdicts = json.loads(BY_NODE.read_text())
    return {cluster: found.get(cluster, {}) for cluster in CLUSTERS}


def expected_of(kind: Kind) -> dict[str, str]:
    """Return the expected verdicts of one kind of broker; for a node, in front of this run's cluster."""
    return expected_by_node()[NODE_CLUSTER] if kind == "node" else expected()[kind]


def in_words(results: Mapping[str, Result]) -> dict[str, str]:
    return {
        name: f"{LEFT_OUT}{result.reason}" if result.verdict == "left out" else result.verdict
        for name, result in results.items()
    }


def of_suite(verdicts: Mapping[str, str], suite: Suite) -> dict[str, str]:
    return {name: verdict for name, verdict in verdicts.items() if suite.has(name)}


def update(kind: Kind, suite: Suite, verdicts: Mapping[str, str]) -> None:
    """Write the verdicts of the suite's tests to the file of expectations, and rewrite the tables."""
    both, by_node = expected(), expected_by_node()
    of_kind, place = (by_node, NODE_CLUSTER) if kind == "node" else (both, kind)
    kept = {name: verdict for name, verdict in of_kind[place].items() if not suite.has(name)}
    of_kind[place] = dict(sorted({**kept, **verdicts}.items()))
    for file, found in ((EXPECTED, both), (BY_NODE, by_node)):
        file.write_text(json.dumps(found, indent=1) + "\n")
    write_between(DOCUMENT, BEGIN, END, lines(both))
    write_between(DOCUMENT, BEGIN_NODES, END, lines_by_node(by_node, both["ours"]))


def lines(both: Verdicts) -> list[str]:
    """Return the lines between the marks: figures by class, failures, and reasons for leaving tests out."""
    return [*_figures(both, _KINDS), *_failures(both), *_not_asked(both), *_left_out(both)]


def lines_by_node(by_node: Verdicts, at_a_broker: Mapping[str, str]) -> list[str]:
    """Return the lines between the marks of nodes: figures by class, and the tests with another outcome.

    `at_a_broker` are shareq's verdicts to compare with.
    """
    other: dict[tuple[str, str], list[str]] = {}
    for name in sorted({name for verdicts in by_node.values() for name in verdicts}):
        found = {cluster: verdicts[name] for cluster, verdicts in by_node.items() if name in verdicts}
        for verdict in {*found.values()} - {at_a_broker.get(name)}:
            places = [CLUSTERS[cluster] for cluster in found if found[cluster] == verdict]
            other.setdefault((verdict, "all" if len(places) == len(found) else ", ".join(places)), []).append(name)
    made = _figures(by_node, {cluster: f"Before {name}" for cluster, name in CLUSTERS.items()})
    made += ["Other than at a broker of shareq:", ""]
    for (verdict, places_of), names in sorted(other.items()):
        which = _listed(names) if verdict == "failed" else _named(names, at_a_broker)
        made.append(f"* {verdict} ({len(names)}, before {places_of}): {which}")
    missing = [_missing(f"a node before {CLUSTERS[cluster]}", at_a_broker, by_node[cluster]) for cluster in by_node]
    return [*made, "", *chain.from_iterable(missing)]


def _figures(both: Verdicts, places: Mapping[str, str]) -> list[str]:
    classes = {name.partition(".")[0] for verdicts in both.values() for name in verdicts}
    figures = [f"{place}: {_counts(both[kind])}" for kind, place in places.items()]
    return ["", f"{len(classes)} classes. {'. '.join(figures)}.", ""]


def _counts(verdicts: Mapping[str, str]) -> str:
    found = Counter(verdict.partition(":")[0] for verdict in verdicts.values())
    return ", ".join(f"{found[what]} {what}" for what in ("passed", "failed", "left out"))


def _failures(both: Verdicts) -> list[str]:
    failed = {kind: {name for name, verdict in both[kind].items() if verdict == "failed"} for kind in _KINDS}
    ours, theirs = failed["ours"], failed["apache"]
    found = (("here alone", ours - theirs), ("at Apache Kafka alone", theirs - ours), ("at both", ours & theirs))
    words = [f"{place}: {_listed(sorted(names)) or 'none'}" for place, names in found]
    return [f"Failed {'; '.join(words)}.", ""]


def _not_asked(both: Verdicts) -> list[str]:
    made: list[str] = []
    pairs: tuple[tuple[Kind, Kind], ...] = (("ours", "apache"), ("apache", "ours"))
    for kind, other in pairs:
        made += _missing(_KINDS[kind], both[other], both[kind])
    return made


def _missing(place: str, all_tests: Mapping[str, str], asked: Mapping[str, str]) -> list[str]:
    missing = all_tests.keys() - asked.keys()
    classes = {name.partition(".")[0] for name in missing}
    return [f"Not asked of {place} so far: {len(missing)} tests of {len(classes)} classes.", ""] if missing else []


def _left_out(both: Verdicts) -> list[str]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for name in sorted({*both["ours"], *both["apache"]}):
        which = [kind for kind in _KINDS if both[kind].get(name, "").startswith(LEFT_OUT)]
        if which:
            where = "both" if len(which) == len(_KINDS) else _KINDS[which[0]]
            reasons.setdefault((both[which[0]][name].removeprefix(LEFT_OUT), where), []).append(name)
    made = ["Left out:", ""]
    for (reason, where), names in sorted(reasons.items()):
        made.append(f"* {reason} ({len(names)}, at {where}): {_named(names, both['ours'])}")
    return made


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _named(names: Sequence[str], everything: Collection[str]) -> str:
    """Return the classes of the tests, each with how many tests it has among them."""
    sizes, found = (Counter(name.partition(".")[0] for name in some) for some in (everything, names))
    return ", ".join(f"`{short}` ({'all' if count == sizes[short] > 1 else count})" for short, count in found.items())
