"""Dead letters of a node in front of Apache Kafka: 3.9.1 and 4.3.1, without opt-in by topic, and 4.4.0."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.kafka import apache_kafka
from devtools.kafka.apache_kafka import ApacheKafka
from tests.support.node_process import command_line
from tests.wire.test_node_dead_letters import letters_by_way_of, serve

pytestmark = pytest.mark.interop

CONSENT = {"3.9.1": ("shareq.dlq.topics=dlq.*",), "4.3.1": ("shareq.dlq.topics=other,dlq.orders",), "4.4.0": ()}
"""The properties that the node is given to make letters possible."""


@pytest.fixture(params=CONSENT)
def cluster(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    version = request.param
    missing = apache_kafka.why_unavailable(version)
    if missing is not None:
        pytest.skip(missing)
    folder = apache_kafka.unused_folder("letters")
    broker = ApacheKafka(folder, {}, version=version)
    try:
        broker.start(120)
        yield version, broker.address
        broker.stop()
    finally:
        broker.kill()
        shutil.rmtree(folder)


def test_what_died_by_way_of_a_node_is_in_a_topic_of_apache_kafka(tmp_path: Path, cluster: tuple[str, str]) -> None:
    version, address = cluster
    with command_line(tmp_path, serve(address, *CONSENT[version])) as node:
        node.wait_until_ready()
        letters_by_way_of(node)
