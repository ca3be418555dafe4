"""Apache Kafka's tools with the same output on our broker as on Apache Kafka.

A scenario's commands run on our broker; their output is compared with the transcript of Apache Kafka in `transcripts/`.
`--side-by-side` runs Apache Kafka as well instead of reading transcripts; `--broker=apache` checks the transcripts;
with `--update-transcripts` it writes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest, Kind, why_unavailable_here
from tests.interop.support.java_driver import JavaDriver
from tests.interop.support.tool_session import Session
from tests.interop.support.transcript import FOLDER, Step, parse, render, unlike
from tests.interop.tool_scenarios import (
    administration,
    configs,
    consume,
    consumer_groups,
    groups,
    internal_topics,
    quotas,
    share_groups,
)

pytestmark = pytest.mark.interop
Scenario = Callable[[Session], None]

SCENARIOS: dict[str, Scenario] = {
    "share-groups-listing": share_groups.listing,
    "share-groups-describing": share_groups.describing,
    "share-groups-resetting": share_groups.resetting,
    "share-groups-deleting-offsets": share_groups.deleting_offsets,
    "share-groups-deleting-groups": share_groups.deleting_groups,
    "share-groups-lasting": share_groups.lasting,
    "share-groups-wrong-arguments": share_groups.wrong_arguments,
    "configs-of-groups": configs.of_groups,
    "configs-of-brokers": configs.of_brokers,
    "configs-of-the-state-topic": configs.of_the_state_topic,
    "quotas-of-clients": quotas.of_clients,
    "groups": groups.filters,
    "console-share-consumer": consume.console,
    "consumer-groups-describing": consumer_groups.describing,
    "consumer-groups-after-a-consumer": consumer_groups.after_a_consumer,
    "consumer-groups-beside-a-member": consumer_groups.beside_a_member,
    "consumer-groups-on-disk": consumer_groups.on_disk,
    "consumer-groups-resetting": consumer_groups.resetting,
    "consumer-groups-deleting": consumer_groups.deleting,
    "share-consumer-perf-test": consume.performance,
    "verifiable-share-consumer": consume.verifiable,
    "internal-topics-prepared-group": internal_topics.prepared_group,
    "internal-topics-fresh-group": internal_topics.fresh_group,
    "deleting-records": administration.deleting_records,
    "cluster": administration.cluster,
}
# The same on both brokers. Apache Kafka needs the replication factors, and the first two to be quick.
SETTINGS = {
    "group.share.assignment.interval.ms": "0",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
}


def play(scenario: Scenario, kind: Kind, java: JavaDriver, folder: Path) -> list[Step]:
    folder.mkdir()
    broker = BrokerUnderTest(kind, SETTINGS)
    try:
        broker.start()
        run = Session(broker, java, folder)
        scenario(run)
        return run.steps
    finally:
        broker.remove()


@pytest.mark.parametrize("name", SCENARIOS)
def test_same_output(
    name: str, broker_kind: Kind, java: JavaDriver, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    steps = play(SCENARIOS[name], broker_kind, java, tmp_path / broker_kind)
    recorded = FOLDER / f"{name}.txt"
    if request.config.getoption("--update-transcripts"):
        assert broker_kind == "apache", "transcripts are made by Apache Kafka"
        recorded.write_text(render(steps))
        return
    if broker_kind == "apache":
        steps = [replace(step, differs=None) for step in steps]
    elif request.config.getoption("--side-by-side"):
        missing = why_unavailable_here("apache")
        assert missing is None, missing
        recorded = tmp_path / recorded.name
        recorded.write_text(render(play(SCENARIOS[name], "apache", java, tmp_path / "apache")))
    problems = unlike(steps, parse(recorded.read_text()))
    assert not problems, "\n\n".join(problems)


def test_every_transcript_has_a_scenario() -> None:
    assert {file.stem for file in FOLDER.glob("*.txt")} == set(SCENARIOS)
