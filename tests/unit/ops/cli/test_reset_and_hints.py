"""Hints beside rows: the forecast of a dry run, and why a group has no lag."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.clients.wire import WireClient
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def join(broker: Broker, group: str, topic: str) -> None:
    with WireClient(broker.address) as client:
        request = ShareGroupHeartbeatRequest(group, "m", 0, subscribed_topic_names=[topic])
        assert client.call(request, 1, ShareGroupHeartbeatResponse).error_code == 0


def test_a_group_that_begins_at_the_end_is_explained(broker: Broker) -> None:
    shell = Shell(broker.bootstrap)
    shell.ok("topics", "create", "late", "--partitions", "2")
    shell.ok("produce", "late", stdin="one\n")
    join(broker, "late", "late")
    for words in (("lag", "late"), ("offsets", "late"), ("describe", "late")):
        ran = shell.run("share", *words)
        assert ran.code == 0
        assert ran.err.count("\n") == 1
        assert "late begins at the end of partitions it has not begun" in ran.err
        assert "shareq configs alter group late --set share.auto.offset.reset=earliest" in ran.err
    shell.ok("configs", "alter", "group", "late", "--set", "share.auto.offset.reset=earliest")
    assert shell.run("share", "lag", "late").err == ""
    assert shell.run("share", "lag").err == ""


def test_a_queue_that_would_get_no_letters_is_refused(broker: Broker) -> None:
    shell = Shell(broker.bootstrap)
    queue = "errors.deadletterqueue.topic.name"
    for words in (("--dry-run",), ()):
        ran = shell.run("configs", "alter", "group", "packers", "--set", f"{queue}=dead", *words)
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
        assert f"group packers: INVALID_CONFIG: {queue}=dead: its name must begin with dlq. ({queue}.prefix)" in ran.err
    shell.ok("configs", "alter", "group", "packers", "--set", f"{queue}=dlq.dead")
    shell.ok("configs", "alter", "group", "packers", "--unset", queue)


def test_a_dry_run_of_a_reset_foresees_members_and_shows_where_the_group_is(broker: Broker) -> None:
    shell = Shell(broker.bootstrap)
    shell.ok("topics", "create", "parcels")
    shell.ok("produce", "parcels", stdin="one\ntwo\nthree\n")
    reset = ("share", "reset", "packers", "--topic", "parcels", "--to")
    assert [row["before"] for row in shell.json(*reset, "1", "--dry-run")] == [None]
    assert [(row["before"], row["offset"]) for row in shell.json(*reset, "1", "--yes")] == [(None, 1)]
    assert [(row["before"], row["offset"]) for row in shell.json(*reset, "2", "--dry-run")] == [(1, 2)]
    join(broker, "packers", "parcels")
    said = [shell.run(*reset, "2", answer) for answer in ("--dry-run", "--yes")]
    for ran in said:
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
        assert (
            "share group packers: NON_EMPTY_GROUP: It has members: 1. Stop them first; one that died is one" in ran.err
        )
    foreseen = shell.run("share", "delete", "packers", "--dry-run")
    assert (foreseen.code, foreseen.out) == (1, "")
    assert "NON_EMPTY_GROUP" in foreseen.err
