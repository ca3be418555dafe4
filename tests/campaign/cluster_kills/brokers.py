"""The cluster behind the nodes: one broker of ours, or three of Apache Kafka, with a listener for each node."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient

from devtools.clients.admin import QUIET
from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import ApacheKafka, new_cluster_id, small_jvm, without_share_groups
from devtools.ports import free_port
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.campaign.cluster_kills.processes import stop
from tests.campaign.cluster_kills.proxy import Cuts, Proxy
from tests.interop.support.our_process import OurProcess

OURS: Final = "ours"
NODES_FROM: Final = "127.0.0.2"
"""The address from which nodes behind proxies connect, so that ACLs can name it."""
_GROUP: Final = 0
"""FindCoordinator's key type of groups."""
_STARTS_S: Final = 120.0
_JVM: Final = small_jvm(96, 320)
_OF_ALL: Final = {"auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": "0"}
SESSION_MS: Final = 2_000
"""The time after which Apache Kafka fences a broker that does not answer."""
_APACHE: Final = {
    "inter.broker.listener.name": "PLAINTEXT",
    "num.network.threads": "1",
    "num.io.threads": "4",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": str(SESSION_MS),
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "replica.lag.time.max.ms": "2000",
}
_GUARDED: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
_GUARDED_CONTROLLERS: Final = {
    "super.users": "User:controller",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="controller" password="of-controllers" user_controller="of-controllers";'
    ),
}
"""The properties of controllers with ACLs. They elect their leader before any ACL has been read, when only super users
have access.
"""


class Brokers:
    """All brokers of one cluster. `cuts` has an entry for each node; with `by_proxies` a proxy lies between each node
    and the brokers.

    `guarded`: there are ACLs, and a resource without any is open to all.
    """

    def __init__(self, folder: Path, kind: str, cuts: Sequence[Cuts], *, by_proxies: bool, guarded: bool) -> None:
        self._cuts = cuts
        self._proxies: list[Proxy] = []
        self._of_nodes: list[list[int]] = [[] for _ in cuts]
        settings = {**_OF_ALL, **(_GUARDED if guarded else {})}
        self.processes: Final[Mapping[int, OurProcess | ApacheKafka]] = (
            self._ours(folder, settings, by_proxies)
            if kind == OURS
            else self._apache(folder, kind, settings, by_proxies, guarded)
        )

    def _ours(self, folder: Path, settings: Mapping[str, str], by_proxies: bool) -> dict[int, OurProcess | ApacheKafka]:
        port, at = free_port(), folder / "broker-1"
        at.mkdir(parents=True)
        return {1: OurProcess(at, {**settings, **self._listeners(port, by_proxies)}, port)}

    def _apache(
        self, folder: Path, version: str, settings: Mapping[str, str], by_proxies: bool, guarded: bool
    ) -> dict[int, OurProcess | ApacheKafka]:
        controllers = {number: free_port() for number in (1, 2, 3)}
        voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in controllers.items())
        cluster_id, options = new_cluster_id(), without_share_groups(version)
        made: dict[int, OurProcess | ApacheKafka] = {}
        for number, controller in controllers.items():
            port = free_port()
            own = {"node.id": str(number), "controller.quorum.voters": voters}
            listeners = self._listeners(port, by_proxies)
            listeners["listeners"] += f",CONTROLLER://127.0.0.1:{controller}"
            listeners["listener.security.protocol.map"] += f",CONTROLLER:{'SASL_' if guarded else ''}PLAINTEXT"
            every = {**settings, **_APACHE, **(_GUARDED_CONTROLLERS if guarded else {}), **own, **listeners}
            at = folder / f"broker-{number}"
            made[number] = ApacheKafka(at, every, _JVM, port, options, cluster_id, version=version)
        return made

    def _listeners(self, port: int, by_proxies: bool) -> dict[str, str]:
        at, advertised, names = [f"PLAINTEXT://127.0.0.1:{port}"], [f"PLAINTEXT://127.0.0.1:{port}"], ["PLAINTEXT"]
        for node, cut in enumerate(self._cuts):
            behind = shown = free_port()
            if by_proxies:
                self._proxies.append(Proxy(behind, cut, NODES_FROM))
                shown = self._proxies[-1].port
            self._of_nodes[node].append(shown)
            names.append(f"NODE{node}")
            at.append(f"{names[-1]}://127.0.0.1:{behind}")
            advertised.append(f"{names[-1]}://127.0.0.1:{shown}")
        return {
            "listeners": ",".join(at),
            "advertised.listeners": ",".join(advertised),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        }

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{process.port}" for process in self.processes.values())

    def bootstrap_of(self, node: int) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._of_nodes[node])

    # -- life

    def start(self, numbers: Iterable[int] = ()) -> None:
        """Start some brokers, or all, at once, because one alone answers nothing."""
        chosen = [self.processes[number] for number in numbers or self.processes]
        with ThreadPoolExecutor(len(chosen)) as pool:
            list(pool.map(lambda process: process.start(_STARTS_S), chosen))

    def kill(self) -> None:
        for process in self.processes.values():
            process.kill()

    def pause(self) -> None:
        for process in self.processes.values():
            stop(process.process)

    def resume(self) -> None:
        for each in self.processes.values():
            if each.process is not None and each.process.poll() is None:
                each.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self.resume()
        self.kill()
        for proxy in self._proxies:
            proxy.close()

    # -- looking

    def topic_id(self, topic: str) -> bytes:
        with WireClient(("127.0.0.1", self.processes[1].port), timeout_s=30) as client:
            request = MetadataRequest([MetadataRequestTopic(name=topic)], False)
            return client.call(request, 12, MetadataResponse).topics[0].topic_id

    def leader_of(self, topic: str, partition: int) -> int:
        return int(self._admin().list_topics(topic, timeout=20).topics[topic].partitions[partition].leader)

    def coordinator_of(self, group: str) -> int:
        with WireClient(("127.0.0.1", self.processes[1].port), timeout_s=20) as client:
            answer = client.call(FindCoordinatorRequest("", _GROUP, [group]), 4, FindCoordinatorResponse)
        found = answer.coordinators[0]
        if found.error_code != ErrorCode.NONE:
            raise RuntimeError(f"no coordinator of group {group}: {answer}")
        return found.node_id

    def in_sync(self) -> bool:
        topics = self._admin().list_topics(timeout=20).topics.values()
        partitions = [each for topic in topics for each in topic.partitions.values()]
        return all(len(each.isrs) == len(each.replicas) == len(self.processes) for each in partitions)

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, **QUIET})
