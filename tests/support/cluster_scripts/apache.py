from __future__ import annotations

import time
from pathlib import Path

from devtools.clients.wire import WireClient
from devtools.kafka.apache_kafka import ApacheKafka, small_jvm
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from shareq.protocol.primitives import Message
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.versions import KafkaRelease
from tests.support.cluster_scripts.conversation import OF_ALL, PROPERTIES, Setting

_JVM = small_jvm(96, 256)
_KINDS = {Resource.TOPIC: 2, Resource.GROUP: 3, Resource.CLUSTER: 4, Resource.TRANSACTIONAL_ID: 5}
_LITERAL, _ALL, _DENY, _ALLOW = 3, 2, 2, 3
_ANYBODY = "User:*"


class ApacheCluster:
    def __init__(self, folder: Path, release: KafkaRelease, setting: Setting) -> None:
        self._broker = ApacheKafka(folder, {**OF_ALL, **PROPERTIES[setting]}, _JVM, version=release.name)
        self._broker.start(120)
        self._connections: dict[str, WireClient] = {}
        answer = self._connection("aside").call(ApiVersionsRequest("scripts", "1"), 3, ApiVersionsResponse)
        self._versions = {each.api_key: each.max_version for each in answer.api_keys}
        if setting is Setting.GUARDED:  # rights of the cluster would allow these for every topic
            self.deny(Resource.CLUSTER, "kafka-cluster", Operation.CREATE, Operation.DELETE)
        self.offered = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    @property
    def address(self) -> str:
        return self._broker.address

    def _connection(self, name: str) -> WireClient:
        found = self._connections.get(name)
        if found is None:
            address = ("127.0.0.1", self._broker.port)
            found = self._connections[name] = WireClient(address, client_id="script", timeout_s=30)
        return found

    def newest(self, api: ApiKey) -> int:
        known = codec(api)
        return min(self._versions[api], known.max_version - known.latest_version_unstable)

    def send(self, connection: str, message: Message, version: int) -> None:
        self._connection(connection).send(message, version)

    def receive(self, connection: str) -> Message:
        return self._connection(connection).receive()

    def pass_ms(self, ms: int) -> None:
        time.sleep(ms / 1000)

    def wall_ms(self) -> int:
        return int(time.time() * 1000)

    def deny(self, resource: Resource, name: str, *operations: Operation) -> None:
        """Deny these operations and allow all others: once a resource has an ACL, what no ACL allows is denied."""
        rules = [(_ALL, _ALLOW), *((operation.value, _DENY) for operation in operations)]
        rows = [AclCreation(_KINDS[resource], name, _LITERAL, _ANYBODY, "*", what, how) for what, how in rules]
        answer = self._connection("aside").call(CreateAclsRequest(rows), 3, CreateAclsResponse)
        assert all(each.error_code == ErrorCode.NONE for each in answer.results), answer
        self.pass_ms(200)

    def new_script(self) -> None:
        for name in [name for name in self._connections if name != "aside"]:
            self._connections.pop(name).close()

    def stop(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._broker.kill()
