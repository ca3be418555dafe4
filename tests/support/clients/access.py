"""A broker with an authorizer, and requests that need rights, each as a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from devtools.clients.wire import Caller
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.metadata.changes import DropAcl, PutAcl
from shareq.broker.metadata.features import SHARE_TRANSACTIONS
from shareq.broker.security.acls import Acl, PatternType, Permission, ResourceKind
from shareq.broker.security.names import CLUSTER_NAME
from shareq.broker.security.rights import Right
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_group_heartbeat
from shareq.protocol.primitives import Message

TOPIC, GROUP, PRODUCER, ALICE, ADMIN = "t", "g", "p", "User:alice", "User:admin"
_NAMES: Final = {
    ResourceKind.TOPIC: TOPIC,
    ResourceKind.GROUP: GROUP,
    ResourceKind.CLUSTER: CLUSTER_NAME,
    ResourceKind.TRANSACTIONAL_ID: PRODUCER,
}
STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def acl(right: Right, name: str | None = None, *, principal: str = ALICE) -> Acl:
    """Return the ACL that grants a right on a resource; without `name`, on the resource of the cases."""
    resource = name or _NAMES[right.kind]
    return Acl(right.kind, resource, PatternType.LITERAL, principal, "*", right.operation, Permission.ALLOW)


class Access(Protocol):
    """The interface of the broker that the cases need: a topic, and a client with all rights."""

    topic_id: bytes

    @property
    def admin(self) -> Caller: ...

    def as_admin(self, case: Case) -> Message:
        """Return the answer to the case's request, sent by the admin."""


class AccessWorld(BrokerWorld):
    """A broker with an authorizer, a topic and a share group; of its clients only `alice` lacks rights."""

    def __init__(self) -> None:
        super().__init__({"authorizer.class.name": STANDARD, "super.users": ADMIN})
        self.topic_id = self.create_topic(TOPIC).topic_id
        self.folder.metadata.set_features({SHARE_TRANSACTIONS: 1})
        self.alice = self.connect()
        self.alice.side.principal = ALICE
        self.admin = self.connect()
        self.admin.side.principal = ADMIN
        rpc = share_group_heartbeat
        request = rpc.ShareGroupHeartbeatRequest(GROUP, "m", 0, subscribed_topic_names=[TOPIC])
        assert self.admin.call(request, 1, rpc.ShareGroupHeartbeatResponse).error_code == 0

    def as_admin(self, case: Case) -> Message:
        return send(self, self.admin, case)

    def grant(self, acls: Iterable[Acl]) -> None:
        store = self.broker.services.metadata
        changes: list[PutAcl | DropAcl] = [DropAcl(each) for each in store.acls]
        store.alter_acls([*changes, *(PutAcl(each) for each in acls)])


@dataclass(frozen=True, slots=True)
class Case:
    """A request, and all the rights it needs.

    `hides`: without a right the answer is empty, without an error. `error`: the expected error if it differs from the
    right's own.
    """

    key: ApiKey
    version: int
    request: Callable[[Access], Message]
    needs: tuple[Right, ...]
    hides: Callable[[Message], bool] | None = None
    error: ErrorCode | None = None
    group: str = GROUP

    def acl(self, right: Right) -> Acl:
        return acl(right, self.group if right.kind == ResourceKind.GROUP else None)

    def refused_without(self, right: Right) -> ErrorCode:
        return right.error if self.error is None else self.error

    def __str__(self) -> str:
        return f"{self.key.name} v{self.version} {self.needs}"


def send(world: AccessWorld, client: MockConnection, case: Case) -> Message:
    """Send the request and return its answer, however long it takes; AssertionError if there is none."""
    client.send(case.request(world), case.version)
    world.clock.run_until_idle()
    if not client.frames:
        world.clock.advance(60_000)
    return client.receive(codec(case.key).response_class)
