"""The pytest plugin: fixtures by scope, the marker, and a failure's output. Each test runs a small suite."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from shareq.testing.broker import child_environment
from tests.support.processes import finished


def run(folder: Path, suite: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_suite.py").write_text(suite)
    plugins = ["-p", "shareq.testing.plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, "--strict-markers", *arguments]
    environment = {**child_environment(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # where shareq is installed, it is one
    return finished(command, cwd=folder, env=environment)


def test_each_scope_has_its_broker_and_marks_say_how(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        """
import pytest

pytestmark = pytest.mark.shareq(mode="thread", config={"num.partitions": "2"})
seen = []

@pytest.mark.shareq(topics=["orders"], groups={"packers": {"deliveries": 2}}, config={"log.retention.ms": "60000"})
def test_one(shareq_broker, shareq_broker_module):
    assert shareq_broker.records("orders") == []
    assert shareq_broker._config == {"num.partitions": "2", "log.retention.ms": "60000"}
    assert shareq_broker.mode == "thread"
    seen.append((shareq_broker, shareq_broker_module))

class TestClass:
    @pytest.mark.shareq(topics={"wide": 3})
    def test_two(self, shareq_broker, shareq_broker_module, shareq_broker_class):
        shareq_broker.produce("wide", "x", partition=2)
        assert shareq_broker is not seen[0][0]
        assert shareq_broker_module is seen[0][1]
        seen.append(shareq_broker_class)

    def test_three(self, shareq_broker_class, shareq_broker_session):
        assert shareq_broker_class is seen[1]
        assert shareq_broker_session.mode == "process"

def test_several(shareq_brokers):
    one, other = shareq_brokers(mode="thread"), shareq_brokers(mode="thread", config={"node.id": "2"})
    assert one.bootstrap != other.bootstrap
""",
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "4 passed" in result.stdout


@pytest.mark.parametrize("mode", ["thread", "process"])
def test_a_failure_shows_the_log_and_the_transcript(tmp_path: Path, mode: str) -> None:
    suite = """
def test_it(shareq_broker):
    shareq_broker.produce(shareq_broker.topic("orders"), "x")
    assert False
"""
    result = run(tmp_path, suite, f"--shareq-mode={mode}")
    assert result.returncode == 1
    assert "shareq broker: log" in result.stdout
    assert "topic orders: created" in result.stdout
    transcript = result.stdout.partition("shareq broker: transcript")[2]
    assert " Produce v" in transcript
    assert "<1 records, " in transcript


@pytest.mark.parametrize("mode", ["thread", "process"])
def test_a_failure_shows_what_was_asked_before_the_helpers_polled(tmp_path: Path, mode: str) -> None:
    """The helpers poll more often than the number of requests kept."""
    suite = """
from confluent_kafka.admin import AdminClient, NewTopic

def test_it(shareq_broker):
    created = AdminClient({"bootstrap.servers": shareq_broker.bootstrap, "client.id": "mine"})
    created.create_topics([NewTopic("orders", 1)])["orders"].result(10)
    while shareq_broker.polled < 1500:
        assert shareq_broker.records("orders") == []
    assert [line for line in shareq_broker.transcript() if "shareq-testing ListOffsets" in line]
    assert len(shareq_broker.transcript()) < 400
    assert False
"""
    transcript = run(tmp_path, suite, f"--shareq-mode={mode}").stdout.partition("shareq broker: transcript")[2]
    assert " mine CreateTopics v" in transcript
    assert " shareq-testing " not in transcript
    assert re.search(
        r"\(left out: 15\d\d requests with which the helpers only looked; broker\.transcript\(\)", transcript
    )


def test_a_property_that_there_is_not_is_an_error_that_names_the_nearest(tmp_path: Path) -> None:
    suite = """
import pytest

@pytest.mark.shareq(config={"num.partitons": "3"})
def test_marked(shareq_broker):
    pass

def test_started(shareq_brokers):
    shareq_brokers(config={"group.share.record.lock.duration": "15000"})
"""
    result = run(tmp_path, suite)
    assert "1 failed, 1 error" in result.stdout
    assert "did not start: unknown property num.partitons; did you mean num.partitions?" in result.stdout
    meant = "group.share.record.lock.duration.ms"
    assert f"unknown property group.share.record.lock.duration; did you mean {meant}?" in result.stdout


def test_a_broker_that_is_gone_shows_what_is_left_of_it(tmp_path: Path) -> None:
    suite = """
def test_it(shareq_broker):
    shareq_broker.topic("orders")
    shareq_broker.kill()
    assert False
"""
    result = run(tmp_path, suite)
    assert result.returncode == 1
    assert "CreateTopics" in result.stdout.partition("shareq broker: transcript")[2]


def test_a_mark_with_an_unknown_word_is_refused(tmp_path: Path) -> None:
    suite = """
import pytest
@pytest.mark.shareq(topic="orders")
def test_it(shareq_broker):
    pass
"""
    result = run(tmp_path, suite)
    assert result.returncode != 0
    assert "pytest.mark.shareq: topic: known are config, " in result.stdout + result.stderr


def test_the_mode_of_a_suite_is_in_its_ini_file(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nshareq_mode = thread\n")
    result = run(tmp_path, "def test_it(shareq_broker): assert shareq_broker.mode == 'thread'\n")
    assert result.returncode == 0, result.stdout
    (tmp_path / "pytest.ini").write_text("[pytest]\nshareq_mode = docker\n")
    assert "shareq_mode = docker: must be one of" in run(tmp_path, "def test_it(shareq_broker): pass\n").stdout
