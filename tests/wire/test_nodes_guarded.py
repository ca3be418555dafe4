"""Nodes whose listeners require TLS and a login ask each other, and say why when they cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from devtools.kafka import certificates
from shareq.ops.records_api import RecordsApi
from shareq.testing import Broker
from tests.support.clients.access import STANDARD
from tests.support.clients.sasl import PLAIN_MODULE
from tests.support.node_process import NodeProcess, command_line, number, shareq
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(certificates.why_unavailable() is not None, reason=certificates.why_unavailable() or "")

TOKEN: Final = "nodes-operator-0123456789"
SLOTS: Final = 8
PASSWORDS: Final = {"nodes": "secret-of-nodes", "alice": "secret-of-alice", "admin": "secret-of-admin"}
GROUPS: Final = [f"group-{number}" for number in range(4)]
TOPICS: Final = ["orders", "returns"]


class Guarded:
    """A folder with certificates, and the options of nodes before a cluster."""

    def __init__(self, folder: Path, cluster: str) -> None:
        self.folder = folder
        self._cluster = cluster
        self.authority = certificates.Authority(folder)
        self.other = certificates.Authority(folder, "other")
        self._server = self.authority.sign("server", "DNS:localhost", "IP:127.0.0.1").both
        self.token = self._file("token", TOKEN)
        users = " ".join(f'user_{user}="{password}"' for user, password in PASSWORDS.items())
        self._config = self._file(
            "node.properties",
            "listeners=SASL_SSL://127.0.0.1:0\n"
            f"ssl.keystore.type=PEM\nssl.keystore.location={self._server}\n"
            "sasl.enabled.mechanisms=PLAIN\n"
            f"listener.name.sasl_ssl.plain.sasl.jaas.config={PLAIN_MODULE} required {users};\n"
            f"authorizer.class.name={STANDARD}\nsuper.users=User:nodes;User:admin\n"
            f"shareq.cluster.placement=topic\nshareq.cluster.slots={SLOTS}\n",
        )

    def _file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(text)
        return path

    def client(self, user: str, password: str | None = None, *, ca: Path | None = None) -> Path:
        """Return a file with the properties of a client."""
        jaas = f'{PLAIN_MODULE} required username="{user}" password="{password or PASSWORDS[user]}";'
        return self._file(
            f"client-{user}-{(ca or self.authority.certificate).stem}-{len(password or '')}.properties",
            f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n"
            f"ssl.truststore.type=PEM\nssl.truststore.location={ca or self.authority.certificate}\n",
        )

    @contextmanager
    def node(self, among_nodes: Path) -> Iterator[NodeProcess]:
        start = ["serve", "--cluster", self._cluster, "--config", str(self._config), "--node-config", str(among_nodes)]
        start += ["--records-api", "127.0.0.1:0", "--records-api-token-file", str(self.token)]
        with command_line(self.folder, start) as node:
            node.wait_until_ready()
            yield node


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    with Broker() as cluster:
        yield Guarded(tmp_path, cluster.bootstrap)


def api(node: NodeProcess) -> RecordsApi:
    (url,) = re.findall(r"records API at (http://[\d.:]+/api/v1)", node.line)
    return RecordsApi(str(url), TOKEN)


def seen_by(node: NodeProcess) -> dict[int, dict[str, Any]]:
    return {row["node_id"]: row for row in api(node).nodes()}


def both_serve(node: NodeProcess) -> bool:
    """Return True if each of two nodes owns half of the slots, by one that can ask the other."""
    return [row["slots"] for row in seen_by(node).values()] == [SLOTS, SLOTS]


def test_nodes_behind_tls_and_a_login_work_together(guarded: Guarded) -> None:
    """Groups of either coordinator have topics of either leader; their states are created, read and deleted."""
    nodes, client = guarded.client("nodes"), ("--config", str(guarded.client("admin")))
    with guarded.node(nodes) as first, guarded.node(nodes) as second:
        until(lambda: both_serve(first) and both_serve(second), "both nodes")
        at = (*client, "-b", first.bootstrap)
        for topic in TOPICS:
            shareq("topics", "create", topic, "--partitions", "1", *at)
            shareq("produce", topic, *at, stdin="one\ntwo\n")
        for group in GROUPS:
            shareq("configs", "alter", "group", group, "--set", "share.auto.offset.reset=earliest", *at)
            for topic in TOPICS:
                assert "one" in shareq("share", "consume", group, "--topic", topic, "-n", "1", *at)
        owners = {slot["node_id"] for slot in api(first).get("/nodes")["slots"]}
        assert owners == {number(first), number(second)}
        for node in (first, second):
            found = api(node).get("/share-groups")
            assert [(row["group"], row["lag"], row["members"]) for row in found["groups"]] == [
                (group, len(TOPICS), 0) for group in GROUPS
            ]
            assert found["missing"] == []
        coordinators = {shareq("groups", "list", *client, "-b", each.bootstrap, "--json") for each in (first, second)}
        assert len(coordinators) == 1, "a client is shown all groups by either node"
        shareq("share", "delete", *GROUPS, "--yes", *at)
        for node in (first, second):
            assert api(node).get("/share-groups")["groups"] == []
            assert "Traceback" not in node.log
            assert not any(password in node.log for password in PASSWORDS.values())


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("password", r"SASL_AUTHENTICATION_FAILED|[Aa]uthentication failed|does not accept"),
        ("certificate", r"certificate is not accepted: "),
        ("protocol", r"is it a listener of PLAINTEXT\?"),
        ("right", r"this node's user lacks ClusterAction there"),
    ],
)
def test_a_node_that_may_not_ask_the_other_one_says_why(guarded: Guarded, case: str, reason: str) -> None:
    wrong = {
        "password": lambda: guarded.client("nodes", "not-the-password"),
        "certificate": lambda: guarded.client("nodes", ca=guarded.other.certificate),
        "protocol": lambda: guarded._file("plain.properties", "security.protocol=PLAINTEXT\n"),
        "right": lambda: guarded.client("alice"),
    }[case]()
    with guarded.node(guarded.client("nodes")) as first, guarded.node(wrong) as second:
        until(lambda: both_serve(first), "the right one sees both")
        row = seen_by(second)[number(first)]
        assert (row["slots"], bool(re.search(reason, row["problem"]))) == (None, True), row
        (missing,) = api(second).get("/share-groups")["missing"]
        assert (missing["node_id"], bool(re.search(reason, missing["problem"]))) == (number(first), True), missing
        assert "not-the-password" not in first.log + second.log + row["problem"]
        assert "Traceback" not in first.log + second.log
