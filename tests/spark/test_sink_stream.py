"""`df.writeStream.format("kafka-share")`: each micro-batch once, over restarts and kills; judged by another client."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devtools.clients.admin import create_topic
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.spark.support.jobs import Job
from tests.spark.support.judge import seen
from tests.spark.support.share_stream import ShareStream
from tests.spark.support.sink_job import FILES_OF_BATCH

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIMEOUT_S = 300
LINES = 40
AHEAD = 10
"""The most files that wait for their micro-batch: on a slow machine a job would never come to the end of more."""


@pytest.fixture
def stream(spark: SparkSession, broker: BrokerUnderTest, unique: Callable[[str], str], tmp_path: Path) -> ShareStream:
    return ShareStream(spark, broker.bootstrap, unique("from"), unique("group"), tmp_path, partitions=2)


def pipe(stream: ShareStream, rows: DataFrame, topic: str, **options: object) -> None:
    writer = rows.writeStream.format("kafka-share").option("kafka.bootstrap.servers", stream.bootstrap)
    for name, value in options.items():
        writer = writer.option(name, str(value))
    writer = writer.option("topic", topic).option("checkpointLocation", str(stream.folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(TIMEOUT_S), "the query does not end"


def values(stream: ShareStream, topic: str) -> list[bytes]:
    return sorted(each.value or b"" for each in seen(stream.bootstrap, topic))


def test_from_a_share_group_into_a_topic_each_record_once_although_batches_are_replayed(
    stream: ShareStream, unique: Callable[[str], str]
) -> None:
    """A micro-batch that the sink has committed is written again, as after a kill before Spark's commit log."""
    topic = unique("to")
    create_topic(stream.bootstrap, topic, 3)
    stream.create()
    expected: list[bytes] = []
    for turn in range(3):
        expected += stream.produce(60, start=60 * turn)
        pipe(stream, stream.load(maxRecordsPerTrigger=40).select("key", "value"), topic)
        assert values(stream, topic) == sorted(expected)
        stream.forget_commit(max(stream.committed()))
    pipe(stream, stream.load().select("key", "value"), topic)
    assert values(stream, topic) == sorted(expected)


def test_without_transactions_a_replayed_batch_is_there_twice(
    stream: ShareStream, unique: Callable[[str], str]
) -> None:
    topic = unique("to")
    create_topic(stream.bootstrap, topic, 1)
    stream.create()
    expected = stream.produce(20)
    rows = stream.load().select("value")
    pipe(stream, rows, topic, transactional=False)
    stream.forget_commit(max(stream.committed()))
    pipe(stream, rows, topic, transactional=False)
    assert values(stream, topic) == sorted(expected * 2)


@pytest.mark.parametrize(("name", "value"), [("txnAppId", "a"), ("path", "x"), ("colour", "red")])
def test_options_that_a_stream_does_not_take(stream: ShareStream, name: str, value: str) -> None:
    stream.create()
    with pytest.raises(Exception, match=f"OptionsError: kafka-share: {name} is "):
        pipe(stream, stream.load().select("value"), "nowhere", **{name: value})


class Killed:
    """A job that writes files of lines, which is killed again and again."""

    def __init__(self, broker: BrokerUnderTest, run_job: Callable[..., Job], folder: Path, topic: str) -> None:
        self.broker, self.run_job, self.folder, self.topic = broker, run_job, folder, topic
        self.lines = 0
        self.files = 0
        (folder / "lines").mkdir()
        (folder / "made").mkdir()
        self.job = self.start()

    def start(self) -> Job:
        return self.run_job("tests.spark.support.sink_job", self.broker.bootstrap, self.topic, self.folder)

    def feed(self, files: int) -> None:
        for _ in range(files):
            made = self.folder / "made" / f"{self.files:06}.txt"
            made.write_text("".join(f"{number}\n" for number in range(self.lines, self.lines + LINES)))
            self.lines += LINES
            self.files += 1
            made.rename(self.folder / "lines" / made.name)

    def batches(self) -> int:
        folder = self.folder / "checkpoint" / "commits"
        return sum(each.name.isdecimal() for each in folder.iterdir()) if folder.is_dir() else 0

    def wait_for_batches(self, more: int) -> None:
        """Wait until so many more micro-batches are committed, starting the job again when it has ended."""
        wanted = self.batches() + more
        deadline = time.monotonic() + TIMEOUT_S
        while self.batches() < wanted:
            assert time.monotonic() < deadline, self.job.output()
            if not self.job.running:
                self.job.kill()
                self.job = self.start()
            if self.files < FILES_OF_BATCH * self.batches() + AHEAD:
                self.feed(1)
            time.sleep(0.1)

    def kill(self, victim: str) -> None:
        if victim == "driver":
            self.job.kill()
        elif victim == "workers":
            for each in self.job.processes("pyspark.daemon"):
                os.kill(each.pid, signal.SIGKILL)
        elif victim == "jvm":
            os.kill(self.job.jvm.pid, signal.SIGKILL)
        else:
            self.broker.restart(kill=True)


@pytest.mark.crash
def test_nothing_is_lost_and_nothing_twice_by_kills_of_each_process(
    broker: BrokerUnderTest, run_job: Callable[..., Job], unique: Callable[[str], str], tmp_path: Path
) -> None:
    """The Python workers, the driver and its processes, the broker, and the JVM are killed in a micro-batch each."""
    chance = random.Random(7)
    topic = unique("killed")
    create_topic(broker.bootstrap, topic, 3)
    killed = Killed(broker, run_job, tmp_path, topic)
    done: Counter[str] = Counter()
    for victim in ("workers", "driver", "broker", "jvm"):
        killed.wait_for_batches(2)
        killed.feed(2)
        time.sleep(chance.uniform(0, 1))  # the moment of the kill, anywhere in a micro-batch
        killed.kill(victim)
        done[victim] += 1
    killed.wait_for_batches(3)
    lines = killed.lines
    deadline = time.monotonic() + TIMEOUT_S
    while len(found := [int(each.value or b"") for each in seen(broker.bootstrap, topic)]) < lines:
        assert time.monotonic() < deadline, f"{len(set(found))} of {lines}: {killed.job.output()}"
        killed.wait_for_batches(1)
    counts = Counter(found)
    attempts = len(seen(broker.bootstrap, topic, "read_uncommitted"))
    print(f"{dict(done)}: {lines} lines, {len(counts)} of {killed.lines} there, {attempts} written with aborted ones")
    assert [value for value, times in counts.items() if times > 1] == []
    assert set(range(lines)) <= counts.keys()
