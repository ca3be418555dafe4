"""Spark's own Kafka source and sink, in batches and as a stream.

Needs PySpark, so it is run by `make interop-spark`, in .venv-spark.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from devtools.clients.admin import QUIET, create_topic
from devtools.kafka.spark_kafka import connector_jars
from shareq.spark.java_home import java_home
from shareq.testing import Broker
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.json_process import JsonProcess
from tests.interop.support.protocol import properties
from tests.support.clients.shareq_cli import Shell

TIMEOUT_S = 120

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="PySpark is not here: make interop-spark"),
    pytest.mark.skipif(shutil.which("mvn") is None, reason="mvn is not on the PATH: it fetches Spark's Kafka source"),
]


@pytest.fixture(scope="module")
def program() -> Iterator[JsonProcess]:
    """Run one session for all tests of the module: it takes some seconds to start."""
    environment = {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    jars = ",".join(map(str, connector_jars()))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        program = JsonProcess([sys.executable, "-m", "tests.interop.spark.program", jars], TIMEOUT_S)
    yield program
    program.close()


def client(bootstrap: str) -> dict[str, str]:
    return {"bootstrap.servers": bootstrap, **properties(bootstrap)}


def test_batches_a_sink_and_a_stream(
    program: JsonProcess, broker: BrokerUnderTest, unique: Callable[[str], str], tmp_path: Path
) -> None:
    """Every record is read once, with its headers; a restarted stream continues."""
    source, target = unique("source"), unique("target")
    create_topic(broker.bootstrap, source, 2)
    create_topic(broker.bootstrap, target, 2)
    producer = Producer({"bootstrap.servers": broker.bootstrap, **QUIET})
    for number in range(100):
        producer.produce(source, str(number), partition=number % 2, headers=[("number", str(number))])
    assert producer.flush(20) == 0

    place = str(tmp_path / "checkpoint")
    reported = program.call("copy", client=client(broker.bootstrap), source=source, target=target, checkpoint=place)

    places = {(row["partition"], row["offset"]): row for row in reported["batch"]}
    assert len(reported["batch"]) == len(places) == 100
    for (partition, offset), row in places.items():
        text = str(offset * 2 + partition)
        assert row["value"] == text
        assert row["headers"] == {"number": text}
    assert reported["first"] == sorted(f"{number}!" for number in range(100))
    assert reported["second"] == ["more"]


@pytest.fixture(params=["there", "back"])
def ends(request: pytest.FixtureRequest, broker: BrokerUnderTest) -> Iterator[tuple[str, str]]:
    """Yield two clusters' addresses: the one under test is the target, or the source."""
    with Broker() as other:
        ends = other.bootstrap, broker.bootstrap
        yield ends if request.param == "there" else ends[::-1]


class Stream:
    """A stream of Spark's Kafka source, with its checkpoint in a folder."""

    def __init__(self, program: JsonProcess, topic: str, folder: Path) -> None:
        self._program = program
        self._topic = topic
        self._folder = folder

    def run(self, bootstrap: str, checkpoint: str, begin: str = "earliest") -> tuple[list[str], dict[str, int]]:
        where = str(self._folder / checkpoint)
        reported = self._program.call(
            "stream", client=client(bootstrap), topic=self._topic, checkpoint=where, begin=begin
        )
        return reported["values"], reported["ends"]


def produce(bootstrap: str, topic: str, values: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, **QUIET})
    for number in values:
        producer.produce(topic, str(number), partition=number % 2)
    assert producer.flush(20) == 0


def as_text(values: range) -> list[str]:
    return sorted(map(str, values))


def test_a_stream_goes_on_with_its_checkpoint_behind_a_move(
    program: JsonProcess, ends: tuple[str, str], unique: Callable[[str], str], tmp_path: Path
) -> None:
    """The steps are those of docs/spark.md for records that keep their offsets."""
    old, new = ends
    topic = unique("checkpoint")
    create_topic(old, topic, 2)
    produce(old, topic, range(100))
    stream = Stream(program, topic, tmp_path)
    assert stream.run(old, "checkpoint") == (as_text(range(100)), {"0": 50, "1": 50})
    produce(old, topic, range(100, 140))
    rows = Shell(old).json("migrate", old, new, "--topic", topic, "--group", "none", "--cut-over")
    records = [row for row in rows if row["kind"] == "records"]
    assert [row["source_end"] for row in records] == [row["target_end"] for row in records] == [70, 70]
    produce(new, topic, range(140, 160))
    assert stream.run(new, "checkpoint")[0] == as_text(range(100, 160))


def test_a_stream_begins_behind_a_move_where_a_group_has_its_offsets(
    program: JsonProcess, ends: tuple[str, str], broker: BrokerUnderTest, unique: Callable[[str], str], tmp_path: Path
) -> None:
    """The steps are those of docs/spark.md for logs with gaps from transactions."""
    if broker.kind == "node":
        pytest.skip("nodes have no consumer groups")
    old, new = ends
    topic, group = unique("checkpoint"), unique("spark")
    create_topic(old, topic, 2)
    producer = Producer({"bootstrap.servers": old, "transactional.id": topic, **QUIET})
    producer.init_transactions(30)
    for first in range(0, 100, 20):
        producer.begin_transaction()
        for number in range(first, first + 20):
            producer.produce(topic, str(number), partition=number % 2)
        producer.commit_transaction(30)
    stream = Stream(program, topic, tmp_path)
    values, places = stream.run(old, "old")
    assert values == as_text(range(100))
    assert places == {"0": 55, "1": 55}  # with a marker behind each transaction
    produce(old, topic, range(100, 140))
    for partition, offset in places.items():
        place = "--topic", f"{topic}:{partition}", "--to", str(offset)
        Shell(old).ok("groups", "reset", group, *place, "--yes")
    Shell(old).ok("migrate", old, new, "--topic", topic, "--group", group, "--cut-over")
    rows = Shell(new).json("groups", "offsets", group)
    begin = json.dumps({topic: {str(row["partition"]): row["offset"] for row in rows}})
    assert stream.run(new, "new", begin)[0] == as_text(range(100, 140))
