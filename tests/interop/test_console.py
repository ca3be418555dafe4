"""`shareq console` on our broker and on Apache Kafka: every view shows the cluster, and changes take effect.

`--broker=apache` runs it there: data that only shareq has is then shown as unknown.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shareq.client.config import ClientConfig
from shareq.client.share.range_consumer import AckRange, ShareRangeConsumer
from shareq.ops.cli.shared.exits import read_properties
from shareq.protocol.share import AcknowledgeType
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.protocol import tool_arguments
from tests.support.clients.shareq_cli import Shell
from tests.support.waiting import until

pytestmark = pytest.mark.interop

TOKEN = "a-token-for-tests-0123"
WAIT_S = 60.0
_CONFIG = "--command-config"


class ConsoleClient:
    def __init__(self, url: str) -> None:
        self._url = url

    def get(self, name: str, **given: str | int) -> Any:
        answer = self._ask(f"{name}?{urllib.parse.urlencode(given)}", None)
        if "made_ms" not in answer:
            return answer
        assert answer["error"] is None, answer["error"]
        return answer["data"]

    def post(self, name: str, **body: Any) -> Any:
        return self._ask(name, json.dumps(body).encode())

    def _ask(self, path: str, body: bytes | None) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._url}/api/{path}", body, headers)
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def properties(broker: BrokerUnderTest) -> str | None:
    given = tool_arguments(("--bootstrap-server", broker.bootstrap))
    return given[given.index(_CONFIG) + 1] if _CONFIG in given else None


@pytest.fixture(scope="module")
def shell(broker: BrokerUnderTest, properties: str | None) -> Shell:
    secured = {} if properties is None else {"SHAREQ_CLIENT_CONFIG": properties}
    return Shell(broker.bootstrap, **secured)


@pytest.fixture(scope="module")
def console(
    broker: BrokerUnderTest, properties: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleClient]:
    token: Path = tmp_path_factory.mktemp("console") / "token"
    token.write_text(TOKEN)
    command = [sys.executable, "-m", "shareq", "console", broker.bootstrap, "--listen", "127.0.0.1:0"]
    command += ["--token-file", str(token), *(() if properties is None else ("--config", properties))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r" at (http://127\.0\.0\.1:\d+)/", line)
        assert found, line
        yield ConsoleClient(found[1])
    finally:
        process.terminate()
        assert process.wait(WAIT_S) == 0
        process.stdout.close()


def test_the_cluster_and_its_topics(console: ConsoleClient, shell: Shell) -> None:
    shell.ok("topics", "create", "seen", "-p", "2", "--set", "retention.ms=100000000")
    shell.ok("produce", "seen", "--key-separator", ":", stdin="".join(f"k{n % 5}:value {n}\n" for n in range(50)))
    overview = console.get("overview")
    assert overview["without_leader"] == 0
    assert [each["controller"] for each in overview["brokers"]].count(True) <= 1
    assert "share.version" in {each["name"] for each in overview["features"]}
    until(lambda: console.get("topics", search="SEEN")["total"] == 1)
    topic = console.get("topic", topic="seen")
    assert sum(row["end"] - row["start"] for row in topic["partitions"]) == 50
    assert {each["name"] for each in topic["configs"] if each["set_here"]} == {"retention.ms"}
    found = console.get("records", **{"topic": "seen", "from": "earliest", "text": "value 42"})
    ((partition, offset),) = [(row["partition"], row["offset"]) for row in found["records"]]
    record = console.get("record", topic="seen", partition=partition, offset=offset)
    assert (record["key"]["text"], record["value"]["text"]) == ("k2", "value 42")


def test_a_share_group_and_what_is_written_down_of_it(
    console: ConsoleClient, shell: Shell, broker: BrokerUnderTest, properties: str | None
) -> None:
    shell.ok("topics", "create", "shared")
    shell.ok("configs", "alter", "group", "sharers", "--set", "share.auto.offset.reset=earliest")
    shell.ok("produce", "shared", stdin="".join(f"{number}\n" for number in range(10)))
    given = {} if properties is None else read_properties(properties)
    config = ClientConfig.from_properties({**given, "bootstrap.servers": broker.bootstrap, "client.id": "sharer"})
    member = ShareRangeConsumer(config, "sharers", ["shared"])
    try:
        (one,) = until(lambda: member.poll(max_records=8, max_wait_ms=500, strict=True))
        member.acknowledge([AckRange(one.topic_id, 0, 2, 3)], AcknowledgeType.ACCEPT)
        group = console.get("share-group", group="sharers")
        assert [each["client"] for each in group["members"]] == ["sharer"]
        assert group["windows"] is False
        found = until(lambda: console.get("window", group="sharers", topic="shared", partition=0)["ranges"])
        assert (2, 3, "acknowledged") in {(each["first"], each["last"], each["state"]) for each in found}
        assert {each["state"] for each in found} <= {"acknowledged", "unfinished"}
        until(lambda: console.get("share-groups", search="sharers")["rows"][0]["lag"] == 8)
    finally:
        member.close()
    with pytest.raises(urllib.error.HTTPError):
        console.post("share-group/reset", group="sharers", to="earliest", confirm="no")
    until(lambda: console.get("share-group", group="sharers")["members"] == [])
    rows = console.post("share-group/reset", group="sharers", to="latest", confirm="sharers")["partitions"]
    assert [(row["offset"], row["error"]) for row in rows] == [(10, None)]
    assert console.post("share-group/delete", group="sharers", confirm="sharers") == {"group": "sharers"}


def test_a_consumer_group(console: ConsoleClient, shell: Shell) -> None:
    shell.ok("topics", "create", "consumed")
    shell.ok("produce", "consumed", stdin="one\ntwo\n")
    shell.ok("groups", "reset", "consumers", "--topic", "consumed", "--to", "earliest", "--yes")
    group = console.get("consumer-group", group="consumers")
    assert (group["lag"], [row["offset"] for row in group["partitions"]]) == (2, [0])
    assert console.get("consumer-groups", search="consumers")["rows"][0]["lag"] == 2
    rows = console.post("consumer-group/reset", group="consumers", to="latest", confirm="consumers")["partitions"]
    assert [row["offset"] for row in rows] == [2]
    assert console.post("consumer-group/delete", group="consumers", confirm="consumers") == {"group": "consumers"}


def test_dead_letters(console: ConsoleClient, shell: Shell, broker: BrokerUnderTest) -> None:
    levels = {row["feature"]: row["highest"] for row in shell.json("features", "list")}
    if levels["share.version"] < 2:
        pytest.skip("the broker has no dead-letter queues")
    shell.ok("topics", "create", "dying")
    shell.ok("topics", "create", "dlq.dying", "--set", "errors.deadletterqueue.group.enable=true")
    settings = ["errors.deadletterqueue.topic.name=dlq.dying", "share.auto.offset.reset=earliest"]
    shell.ok("configs", "alter", "group", "mourners", *[word for each in settings for word in ("--set", each)])
    shell.ok("produce", "dying", stdin="one\n")
    shell.ok("share", "consume", "mourners", "--topic", "dying", "-n", "1", "--then", "reject")
    until(lambda: [each for each in console.get("dead-letters")["queues"] if each["letters"] == 1])
    (letter,) = console.get("letters", **{"queue": "dlq.dying", "from": "earliest"})["letters"]
    assert (letter["letter"]["topic"], letter["letter"]["offset"]) == ("dying", 0)
    redrives = console.get("dead-letters")["redrives"]
    assert (redrives is None) is (broker.kind == "apache")


def test_a_topic_is_deleted(console: ConsoleClient, shell: Shell) -> None:
    shell.ok("topics", "create", "deleted")
    assert console.post("topic/delete", topic="deleted", confirm="deleted") == {"topic": "deleted"}
    until(lambda: console.get("topics", search="deleted")["total"] == 0)
