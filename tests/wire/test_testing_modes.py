"""The modes of `shareq.testing.Broker`: the same errors, no leftovers, and an end with its test."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import TestCase

import pytest

from devtools.clients.requests import batch, create_topic, produce
from devtools.clients.wire import WireClient
from shareq.testing import Broker, BrokerFailed, KafkaContainer, wait_until
from shareq.testing.broker import Mode, child_environment
from shareq.testing.process import Nursery
from tests.support.processes import finished, runs

MODES: list[Mode] = ["thread", "process", "command"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"config": {"log.retention.ms": "soon"}}, "shareq: Invalid value soon for configuration log.retention.ms"),
        ({"features": {"no.such.feature": 1}}, "shareq: .*no.such.feature"),
        ({"options": ["--no-such-option"]}, "No such option"),
        ({"options": ["--set", "log.retention.ms"]}, "shareq: --set log.retention.ms: must be KEY=VALUE"),
        ({"options": ["--config", "/nowhere/x"]}, "shareq: --config /nowhere/x: No such file or directory"),
        ({"metrics": "nowhere"}, "shareq: --metrics nowhere: must be HOST:PORT"),
    ],
)
def test_what_is_wrong_is_refused_in_the_words_of_a_command(mode: Mode, settings: dict[str, object], line: str) -> None:
    broker = Broker(mode=mode, **settings)  # type: ignore[arg-type]
    with pytest.raises(BrokerFailed, match=f"did not start:\n(.*\n)*.*{line}"):
        broker.start()
    broker.close()


@pytest.mark.parametrize("mode", MODES)
def test_options_count_in_every_mode(mode: Mode, tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text("num.partitions=3\n")
    options = ["--config", str(tmp_path / "server.properties"), "--log-format", "json"]
    with Broker(mode=mode, options=options) as broker:
        assert len(broker.produce(broker.topic(partitions=-1), "a")) == 1
        lines = [json.loads(line) for line in broker.log.splitlines()]
        assert any("partitions 3" in line["message"] for line in lines)
    with Broker(mode=mode, options=["--log-level", "INFO,shareq.broker.metadata=WARNING"]) as broker:
        broker.topic("unmentioned")
        broker.share_group("mentioned")
        assert "unmentioned" not in broker.log
        assert "mentioned" in broker.log


def test_each_thread_has_a_log_of_its_own() -> None:
    with Broker(mode="thread") as one, Broker(mode="thread") as other:
        one.topic("of-one")
        other.topic("of-the-other")
        assert "of-one" in one.log
        assert "of-the-other" not in one.log
        assert "of-the-other" in other.log


def test_groups_rebalance_at_once_unless_the_test_wants_otherwise() -> None:
    with Broker(mode="thread") as broker:
        assert broker._launch().config["group.initial.rebalance.delay.ms"] == "0"
    with Broker(mode="thread", config={"group.initial.rebalance.delay.ms": "7"}) as broker:
        assert broker._launch().config["group.initial.rebalance.delay.ms"] == "7"


SCRIPT = """
import os, sys, time
from shareq.testing import Broker
brokers = [Broker(mode=mode) for mode in sys.argv[1:]]
for broker in brokers:
    broker.start()
print(" ".join(str(broker.pid) for broker in brokers), brokers[0].data_dir, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_brokers_die_with_a_test_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, "process", "process", "command"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=child_environment()) as test:
        assert test.stdout is not None
        *texts, folder = test.stdout.readline().split()
        pids = [int(each) for each in texts]
        assert len(pids) == 3
        assert all(map(runs, pids))
        test.kill()
    wait_until(lambda: not any(map(runs, pids)), 20, "the brokers have ended")
    wait_until(lambda: not Path(folder).exists(), 20, "the data is removed")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_broker_that_hangs_dies_with_its_test_too() -> None:
    """The process is stopped and reads no socket; the kernel ends it with its parent."""
    command = [sys.executable, "-c", SCRIPT, "process"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=child_environment()) as test:
        assert test.stdout is not None
        pid = int(test.stdout.readline().split()[0])
        os.kill(pid, signal.SIGSTOP)
        test.kill()
    wait_until(lambda: not runs(pid), 20, "the broker has ended")


def test_a_broker_outlives_the_thread_that_started_it() -> None:
    broker = Broker()
    starter = threading.Thread(target=broker.start)
    starter.start()
    starter.join()
    assert broker.topic("t") == "t"
    broker.close()


def test_a_nursery_that_was_killed_is_replaced() -> None:
    with Broker():
        nursery = Nursery.get()
        os.kill(nursery._process.pid, signal.SIGKILL)
        wait_until(lambda: Nursery.get() is not nursery)
        with Broker() as other:
            other.topic("t")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("mode", ["thread", "process"])
def test_brokers_leave_no_descriptors_and_no_threads(mode: Mode) -> None:
    def one() -> None:
        with Broker(mode=mode) as broker, WireClient(broker.address) as client:
            create_topic(client, "t")
            produce(client, "t", batch(b"x"))
            broker.clock.advance(1)

    for _ in range(3):
        one()
    before = descriptors(), threading.active_count()
    for _ in range(15):
        one()
    assert (descriptors(), threading.active_count()) == before


def test_a_suite_with_testcontainers_needs_no_container() -> None:
    with KafkaContainer("confluentinc/cp-kafka:8.0").with_kraft().with_env("KAFKA_NUM_PARTITIONS", "3") as kafka:
        assert kafka.get_bootstrap_server() == f"{kafka.get_container_host_ip()}:{kafka.get_exposed_port(9093)}"
        topic = kafka.broker.topic(partitions=-1)
        assert "partitions 3" in kafka.get_logs()[1].decode()
        kafka.broker.produce(topic, "x")


def test_a_property_of_a_container_that_there_is_not_is_refused_and_what_is_of_the_image_is_not() -> None:
    kafka = KafkaContainer().with_env("KAFKA_LOG4J_ROOT_LOGLEVEL", "WARN").with_env("KAFKA_NUM_IO_THREADS", "2")
    kafka.with_env("KAFKA_ZOOKEEPER_SESSION_TIMEOUT_MS", "6000").with_env("KAFKA_NUM_PARTITIONS", "3")
    with pytest.raises(BrokerFailed, match=r"unknown property num\.partitons; did you mean num\.partitions\?$"):
        kafka.with_env("KAFKA_NUM_PARTITONS", "4")
    with kafka:
        kafka.broker.topic(partitions=-1)
        assert "partitions 3" in kafka.get_logs()[1].decode()


@pytest.mark.parametrize("mode", ["process", "thread", "command"])
def test_nothing_is_left_open_at_the_end_of_a_program(mode: str) -> None:
    script = f"""
from shareq.testing import Broker, BrokerFailed, KafkaContainer

with Broker(mode="{mode}") as broker:
    broker.produce(broker.topic("t"), "x")
    broker.restart()
    broker.records("t")
for one in (Broker(mode="{mode}", config={{"num.partitions": "x"}}), KafkaContainer(config={{"num.partitions": "x"}})):
    try:
        with one:
            raise AssertionError("it has started")
    except BrokerFailed:
        pass
"""
    # Not -X dev: asyncio's debug mode prints what holds a loop for 100 ms, which a start does where cores are busy.
    command = [sys.executable, "-W", "error", "-c", script]
    ended = finished(command, env=child_environment())
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


class Unittest(TestCase):
    """A test case without pytest's fixtures."""

    def setUp(self) -> None:
        self.broker = Broker(mode="thread")
        self.broker.start()
        self.addCleanup(self.broker.close)

    def test_it(self) -> None:
        topic = self.broker.topic()
        self.broker.produce(topic, "x")
        assert [each.text for each in self.broker.records(topic)] == ["x"]


async def test_helpers_are_there_for_asyncio() -> None:
    with Broker(mode="thread") as broker:
        topic = await broker.aio.topic()
        group = await broker.aio.share_group()
        await broker.aio.produce(topic, "a", "b", key="k", headers={"h": "v"})
        found = await broker.aio.records(topic)
        assert [(each.text, each.key, each.headers) for each in found] == [
            ("a", b"k", {"h": b"v"}),
            ("b", b"k", {"h": b"v"}),
        ]
        assert await broker.aio.undone(group, topic) == 2

        async def never() -> bool:
            return False

        with pytest.raises(AssertionError, match="s: never"):
            await broker.aio.wait_until(never, 0.01)
        with pytest.raises(AssertionError, match="is not done with 2 records"):
            await broker.aio.assert_acknowledged(group, topic, timeout_s=0.01)
        await broker.aio.advance(1)


# -- shareq serve --ephemeral


EPHEMERAL = [sys.executable, "-m", "shareq", "serve", "--ephemeral"]


def test_an_ephemeral_broker_says_where_it_is_and_leaves_nothing(tmp_path: Path) -> None:
    environment = {**child_environment(), "TMPDIR": str(tmp_path)}
    command = [*EPHEMERAL, "--metrics", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as broker:
        assert broker.stdout is not None
        line = json.loads(broker.stdout.readline())
        assert line["pid"] == broker.pid
        assert line["metrics"].startswith("http://127.0.0.1:")
        host, _, port = line["bootstrap"].rpartition(":")
        with WireClient((host, int(port))) as client:
            create_topic(client, "t")
        assert len(list(tmp_path.iterdir())) == 1
        broker.terminate()
        assert broker.wait(30) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_ephemeral_broker_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    environment = {**child_environment(), "TMPDIR": str(tmp_path)}
    parent = f"import subprocess, time; subprocess.Popen({EPHEMERAL!r}); time.sleep(600)"
    command = [sys.executable, "-c", parent]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as test:
        assert test.stdout is not None
        pid = json.loads(test.stdout.readline())["pid"]
        test.kill()
        wait_until(lambda: not runs(pid), 20, "the broker has ended")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_ephemeral_broker_whose_parent_was_faster_ends_with_the_shell_of_the_session(tmp_path: Path) -> None:
    """The parent shell of `(shareq serve --ephemeral &)` ends before the broker looks."""
    out = tmp_path / "out"
    command = f"(exec {shlex.join(EPHEMERAL)} > {shlex.quote(str(out))} 2>/dev/null &); read -r _"
    shell = subprocess.Popen(
        ["sh", "-c", command],
        stdin=subprocess.PIPE,
        env=child_environment() | {"TMPDIR": str(tmp_path)},
        start_new_session=True,
    )
    wait_until(lambda: out.exists() and out.read_text().endswith("\n"))
    pid = json.loads(out.read_text())["pid"]
    assert os.getsid(pid) == shell.pid
    assert runs(pid)
    assert shell.stdin is not None
    shell.stdin.close()
    shell.wait(10)
    wait_until(lambda: not runs(pid))
    wait_until(lambda: os.listdir(tmp_path) == ["out"])


def test_an_ephemeral_broker_has_no_folder_to_keep(tmp_path: Path) -> None:
    command = [*EPHEMERAL, "--data-dir", str(tmp_path)]
    result = finished(command, env=child_environment(), timeout_s=60)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("shareq: --ephemeral: --data-dir: ")


def test_starts_are_quick_after_the_first() -> None:
    """Starts may take ten times an idle machine's 10 and 25 ms."""
    for mode, most_s in (("thread", 0.5), ("process", 1.0)):
        took = []
        for _ in range(6):
            began = time.perf_counter()
            with Broker(mode=mode):  # type: ignore[arg-type]
                took.append(time.perf_counter() - began)
        assert min(took[1:]) < most_s, (mode, took)
