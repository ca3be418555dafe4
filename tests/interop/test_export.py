"""The samples of `shareq export`, on our broker and on Apache Kafka, and the command with a scraper."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import pytest

from shareq.client.config import ClientConfig
from shareq.client.errors import BrokerError
from shareq.client.network import Network
from shareq.ops.export.sample import PartitionSample, Sampler
from shareq.ops.share_states import StateLog
from shareq.protocol.errors import ErrorCode
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.support.clients.shareq_cli import Shell
from tests.support.waiting import until

TOPIC, GROUP = "ex.orders", "ex.packers"


@pytest.fixture(scope="module")
def shell(broker: BrokerUnderTest) -> Shell:
    found = Shell(broker.bootstrap)
    found.ok("topics", "create", TOPIC, "--partitions", "2")
    found.ok("configs", "alter", "group", GROUP, "--set", "share.auto.offset.reset=earliest")
    found.ok("produce", TOPIC, "-p", "0", stdin="".join(f"{number}\n" for number in range(6)))
    for verdict in ("release", "accept", "reject"):  # of offset 0, then again, then of offset 1
        found.ok("share", "consume", GROUP, "--topic", TOPIC, "-n", "1", "--then", verdict)
    found.ok("share", "consume", GROUP, "--topic", TOPIC, "-n", "2", "--then", "release")
    return found


@pytest.fixture
def sampler(broker: BrokerUnderTest, shell: Shell) -> Iterator[Sampler]:
    network = Network(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap}))
    yield Sampler(network)
    network.close()


def settled(sampler: Sampler) -> PartitionSample:
    """Return partition 0 once the last acknowledgements are visible."""
    place = GROUP, TOPIC, 0
    found = until(lambda: [one for one in [sampler.take().partitions.get(place)] if one and one.retried.get(1) == 2])
    only: PartitionSample = found[0]
    return only


def test_a_sample_has_lag_start_age_and_deliveries(sampler: Sampler) -> None:
    began = time.time()
    found = settled(sampler)
    assert (found.start, found.lag) == (2, 4)
    assert found.offsets == {"available": 2}
    assert dict(found.retried) == {1: 2}
    assert found.first_record_s is not None
    assert began - 600 < found.first_record_s <= time.time()


def test_what_the_log_of_states_got_since_is_in_the_next_sample(sampler: Sampler, shell: Shell) -> None:
    settled(sampler)
    shell.ok("share", "consume", GROUP, "--topic", TOPIC, "-n", "1")
    after = until(lambda: [one for one in [sampler.take().partitions[GROUP, TOPIC, 0]] if one.start == 3])[0]
    assert (after.lag, after.offsets, dict(after.retried)) == (3, {"available": 1}, {1: 1})
    assert after.first_record_s is not None


def test_a_user_who_may_not_read_the_log_of_states_gets_the_rest(
    sampler: Sampler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(_: StateLog) -> None:
        raise BrokerError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "__share_group_state-0")

    monkeypatch.setattr(StateLog, "catch_up", refused)
    for _ in range(2):
        sample = sampler.take()
        found = sample.partitions[GROUP, TOPIC, 0]
        assert (sample.has_states, found.offsets, found.retried) == (False, {}, {})
        assert found.lag is not None
    assert len([each for each in caplog.records if "TOPIC_AUTHORIZATION_FAILED" in each.getMessage()]) == 1


def test_a_group_that_ends_is_in_no_sample(sampler: Sampler, shell: Shell) -> None:
    shell.ok("produce", TOPIC, "-p", "0", stdin="z\n")
    shell.ok("configs", "alter", "group", "ex.gone", "--set", "share.auto.offset.reset=earliest")
    shell.ok("share", "consume", "ex.gone", "--topic", TOPIC, "-n", "1")
    assert until(lambda: "ex.gone" in sampler.take().members)
    shell.ok("share", "delete", "ex.gone", "--yes")
    assert until(lambda: "ex.gone" not in sampler.take().members)
    assert not [place for place in sampler.take().partitions if place[0] == "ex.gone"]


def test_the_command_serves_a_scraper_until_a_signal(broker: BrokerUnderTest, shell: Shell) -> None:
    command = [sys.executable, "-m", "shareq", "export", broker.bootstrap, "--listen", "127.0.0.1:0", "--every", "0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = re.search(r"http://\S+/metrics", process.stdout.readline())
        assert address is not None

        def text() -> str:
            with urllib.request.urlopen(address[0], timeout=30) as answer:
                content: str = answer.read().decode()
                return content

        until(lambda: f'shareq_share_partition_lag{{group="{GROUP}",partition="0",topic="{TOPIC}"}}' in text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
