"""All nodes as `shareq top` shows them, whichever node it asks, also while one of them is stopped."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from shareq.ops.records_api import RecordsApi
from shareq.testing import Broker
from tests.support.clients.shareq_cli import Shell
from tests.support.node_process import (
    NodeProcess,
    accepted,
    command_line,
    configure,
    number,
    produced,
    shareq,
)
from tests.support.waiting import until

TOKEN = "nodes-operator-0123456789"
SLOTS = 8
LOOPBACK = ("--listen", "127.0.0.1:0")


def url_of(node: NodeProcess) -> str:
    (url,) = re.findall(r"records API at (http://[\d.:]+/api/v1)", node.line)
    return str(url)


def nodes_by(node: NodeProcess) -> dict[int, dict[str, Any]]:
    return {row["node_id"]: row for row in RecordsApi(url_of(node), TOKEN).nodes()}


def top(node: NodeProcess, *options: str) -> dict[str, Any]:
    printed: dict[str, Any] = json.loads(
        shareq("top", "--once", "--every", "0.1", "--json", *options, "-b", node.bootstrap)
    )
    return printed


def api_of(node: NodeProcess, token: Path) -> tuple[str, ...]:
    return ("--api", url_of(node), "--api-token-file", str(token))


def nodes_in_top(node: NodeProcess, token: Path) -> dict[int, dict[str, Any]]:
    return {row["node"]: row for row in top(node, *api_of(node, token))["nodes"]}


@pytest.mark.parametrize("placement", ["topic", "one"])
def test_any_node_shows_all_of_them_also_one_that_stands_still(tmp_path: Path, placement: str) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    with Broker() as cluster:
        start = ["serve", "--cluster", cluster.bootstrap, "--listen", "127.0.0.1:0", "--set"]
        start += [f"shareq.cluster.placement={placement}", "--set", f"shareq.cluster.slots={SLOTS}"]
        start += ["--records-api", "127.0.0.1:0", "--records-api-token-file", str(token)]
        with command_line(tmp_path, start) as first, command_line(tmp_path, start) as second:
            for node in (first, second):
                node.wait_until_ready()
            both = {number(first), number(second)}

            def all_served() -> bool:
                rows = nodes_by(first)
                return rows.keys() == both and sum(row["slots"] or 0 for row in rows.values()) == 2 * SLOTS

            until(all_served, "both nodes, and all slots")
            expected = {SLOTS} if placement == "topic" else {0, 2 * SLOTS}
            for rows in (nodes_by(second), nodes_in_top(second, token)):
                assert (set(rows), {row["slots"] for row in rows.values()}) == (both, expected)
            second.process.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            stopped = nodes_by(first)[number(second)]
            took_s = time.monotonic() - began
            second.process.send_signal(signal.SIGCONT)
            assert (stopped["slots"], bool(stopped["problem"])) == (None, True)
            assert took_s < 5.5, "it has two seconds; those who miss it wait for six"
            until(lambda: nodes_by(first)[number(second)]["problem"] is None, "it answers again")


def test_a_node_says_in_one_line_that_it_sends_no_letters_back(tmp_path: Path) -> None:
    with Broker() as cluster, command_line(tmp_path, ["serve", "--cluster", cluster.bootstrap, *LOOPBACK]) as node:
        node.wait_until_ready()
        shell = Shell(node.bootstrap)
        shell.ok("topics", "create", "dlq.orders", "--set", "errors.deadletterqueue.group.enable=true")
        for words, said in {
            ("redrive", "monday", "dlq.orders", "--yes"): "monday: POLICY_VIOLATION: This node keeps no data",
            ("redrives",): "nodes before a cluster, and Apache Kafka, do not",
            ("redrives", "monday"): "nodes before a cluster, and Apache Kafka, do not",
            ("cancel", "monday", "--yes"): "nodes before a cluster, and Apache Kafka, do not",
        }.items():
            ran = shell.run("dlq", *words)
            (line,) = ran.err.splitlines()
            assert (ran.code, said in line) == (1, True), (words, ran)
        assert [row["queue"] for row in shell.json("dlq", "list")] == ["dlq.orders"], "queues are shown all the same"


GROUPS = [f"group-{number}" for number in range(8)]
TOPICS = [f"topic-{number}" for number in range(2)]


def test_top_shows_the_groups_of_the_others_while_a_node_stands_still(tmp_path: Path) -> None:
    """The node stands still for longer than clients wait for an answer, and no other node takes its slots over."""
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    with Broker() as cluster:
        start = ["serve", "--cluster", cluster.bootstrap, "--listen", "127.0.0.1:0"]
        start += ["--set", "shareq.cluster.placement=topic", "--set", f"shareq.cluster.slots={SLOTS}"]
        start += ["--set", "shareq.cluster.session.timeout.ms=300000"]
        start += ["--records-api", "127.0.0.1:0", "--records-api-token-file", str(token)]
        with command_line(tmp_path, start) as first, command_line(tmp_path, start) as second:
            for node in (first, second):
                node.wait_until_ready()
            until(
                lambda: [row["slots"] for row in nodes_by(first).values()] == [SLOTS, SLOTS], "both serve their slots"
            )
            for topic in TOPICS:
                shareq("topics", "create", topic, "-b", first.bootstrap)
                asyncio.run(produced(cluster.bootstrap, topic, b"1", b"2"))
            for group in GROUPS:
                configure(first.bootstrap, group)
                for topic in TOPICS:
                    asyncio.run(accepted(first.bootstrap, group, topic, 1))
            whole = top(first)
            assert [row["group"] for row in whole["groups"]] == GROUPS
            assert {row["lag"] for row in whole["groups"]} == {len(TOPICS)}
            for node in (first, second):
                seen = {row["group"]: row for row in top(node, *api_of(node, token))["groups"]}
                known = {row["group"]: row for row in RecordsApi(url_of(first), TOKEN).groups()}
                assert set(seen) == set(known) == set(GROUPS), "either node knows them all"
                for group in GROUPS:
                    assert (seen[group]["members"], seen[group]["in_flight"]) == (0, known[group]["in_flight"])
                    assert known[group]["lag"] == whole["groups"][0]["lag"], "of topics of either node"
            second.process.send_signal(signal.SIGSTOP)
            for options in ((), api_of(first, token)):
                began = time.monotonic()
                shown = top(first, *options)
                took_s = time.monotonic() - began
                (silent,) = [row for row in shown["nodes"] if row["problem"]]
                assert (silent["node"], silent["address"]) == (number(second), second.bootstrap)
                assert 0 < len(shown["groups"]) < len(GROUPS), "those that the other node coordinates"
                assert {(row["lag"] or 0) + row["unknown"] for row in shown["groups"]} == {len(TOPICS)}
                assert took_s < 20, "a client waits for half a minute"
            second.process.send_signal(signal.SIGCONT)
            until(lambda: top(first)["groups"] == whole["groups"], "all are shown again")
