"""Three nodes of Apache Kafka 4.3.1 on 127.0.0.1, each broker and controller, with a secured listener for clients.

PLAINTEXT serves the brokers themselves and tests' helpers. CLIENTS is SASL_SSL with SCRAM-SHA-512, advertised as
`localhost`, so that it differs from a client's bootstrap address.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from devtools.kafka.apache_kafka import ApacheKafka, new_cluster_id, small_jvm
from devtools.kafka.certificates import Authority, Signed
from devtools.ports import free_port
from shareq.client.network import Network
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from shareq.protocol.generated.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions

NODES: Final = (1, 2, 3)
USER, PASSWORD = "carol", "looking-glass"
LOGIN_MS = 3000
"""The time that a login lasts."""
PATIENCE_S = 30
_SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_JVM: Final = small_jvm(96, 256)
# One node may be missing at any time. Short sessions: how long a killed node is missed.
_SETTINGS: Final = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_SSL,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "default.replication.factor": "3",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "1",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "1500",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "replica.lag.time.max.ms": "2000",
    "listener.name.clients.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.clients.scram-sha-512.sasl.jaas.config": f"{_SCRAM_MODULE} required;",
    "listener.name.clients.scram-sha-512.connections.max.reauth.ms": str(LOGIN_MS),
    "listener.name.clients.ssl.keystore.type": "PEM",
}
_WITH_PLAIN: Final = {
    "listener.name.clients.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": f'{_PLAIN_MODULE} required user_{USER}="{PASSWORD}";',
}


class KafkaCluster:
    """The nodes by number. A `with` block starts all at once, and stops all at its end.

    With `plain`, CLIENTS accepts PLAIN as well as SCRAM.
    """

    def __init__(self, folder: Path, authority: Authority, *, plain: bool = False) -> None:
        self._authority = authority
        self.client_ports = {node: free_port() for node in NODES}
        controllers = {node: free_port() for node in NODES}
        internal = {node: free_port() for node in NODES}
        voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in controllers.items())
        cluster_id = new_cluster_id()
        signed = authority.sign("broker", "DNS:localhost", "IP:127.0.0.1")
        self.nodes = {
            node: ApacheKafka(
                folder / str(node),
                {
                    **_SETTINGS,
                    **(_WITH_PLAIN if plain else {}),
                    "node.id": str(node),
                    "controller.quorum.voters": voters,
                    **_listeners(internal[node], self.client_ports[node], controllers[node], signed),
                },
                _JVM,
                internal[node],
                ("--add-scram", f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"),
                cluster_id,
            )
            for node in NODES
        }

    @property
    def plain_bootstrap(self) -> str:
        """The addresses without protection."""
        return ",".join(node.address for node in self.nodes.values())

    def client_properties(self, *nodes: int) -> dict[str, str]:
        """Return properties of a client of CLIENTS, by the Java client's names, for these nodes or all."""
        servers = ",".join(f"127.0.0.1:{self.client_ports[node]}" for node in nodes or NODES)
        return {
            "bootstrap.servers": servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{_SCRAM_MODULE} required username="{USER}" password="{PASSWORD}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._authority.certificate),
        }

    def __enter__(self) -> Self:
        try:
            with ThreadPoolExecutor(len(NODES)) as pool:
                list(pool.map(lambda node: node.start(90), self.nodes.values()))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all nodes; their data is no longer needed."""
        for node in self.nodes.values():
            with contextlib.suppress(OSError):
                node.kill()


def _listeners(plain: int, clients: int, controller: int, signed: Signed) -> dict[str, str]:
    return {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},CLIENTS://127.0.0.1:{clients},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{plain},CLIENTS://localhost:{clients}",
        "listener.name.clients.ssl.keystore.location": str(signed.both),
    }


def until(what: str, condition: Callable[[], bool]) -> None:
    """Repeat until the condition holds: the cluster notices changes with a delay."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def move_leader(network: Network, topic: str, partition: int, leader: int) -> None:
    """Make a node the preferred replica, and elect it."""
    replicas = [leader, *(node for node in NODES if node != leader)]
    rows = [ReassignableTopic(topic, [ReassignablePartition(partition, replicas)])]
    answer = network.request(None, AlterPartitionReassignmentsRequest(topics=rows))
    assert isinstance(answer, AlterPartitionReassignmentsResponse)
    assert answer.error_code == answer.responses[0].partitions[0].error_code == ErrorCode.NONE

    def elected() -> bool:
        answer = network.request(None, ElectLeadersRequest(0, [TopicPartitions(topic, [partition])], 5000))
        assert isinstance(answer, ElectLeadersResponse)
        rows = [row for result in answer.replica_election_results for row in result.partition_result]
        return all(row.error_code in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED) for row in rows)

    until("the election", elected)
