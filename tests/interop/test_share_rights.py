"""KIP-932's access control table on a broker: each share RPC with all rights, and without each of them.

With `--broker=apache` the same requests go to Apache Kafka 4.3.1 with its StandardAuthorizer, with the same results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from shareq.broker.dispatch.response_errors import error_reader
from shareq.broker.security.acls import Acl
from shareq.broker.security.rights import RIGHTS
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from shareq.protocol.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from shareq.protocol.generated.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.guarded_broker import PASSWORD, guarded_broker
from tests.support.clients.access import GROUP, TOPIC, Case
from tests.support.clients.access_cases import CASES
from tests.support.waiting import until

REFUSALS = (
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
)
OWN = {ApiKey.TXN_SHARE_ACKNOWLEDGE}
"""The RPC that needs a feature of shareq's own; the tests of rights over frames ask for it."""
SHARE_CASES = [
    case
    for case in CASES
    if ("SHARE" in case.key.name and case.key not in OWN)
    or (case.key is ApiKey.FIND_COORDINATOR and case.needs[0].kind != 5)
]
WAIT_S = 20


@pytest.fixture(scope="module")
def port(broker_kind: Kind) -> Iterator[int]:
    """Return the port of a listener where admin and alice log in; admin has all rights."""
    with guarded_broker(broker_kind, plain=["admin", "alice"], super_users=["admin"]) as broker:
        yield broker.port


def login(port: int, user: str) -> WireClient:
    client = WireClient(("127.0.0.1", port), timeout_s=30)
    assert client.call(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse).error_code == ErrorCode.NONE
    answer = client.call(SaslAuthenticateRequest(f"\0{user}\0{PASSWORD}".encode()), 2, SaslAuthenticateResponse)
    assert answer.error_code == ErrorCode.NONE, answer
    return client


class AccessOverTheNetwork:
    """A broker with the topic and a share group; `alice` is the client without rights."""

    def __init__(self, port: int) -> None:
        self.admin = login(port, "admin")
        self.alice = login(port, "alice")
        self.topic_id = create_topic(self.admin, TOPIC)
        until(lambda: self._finds(GROUP))
        self.join()

    def ask(self, client: WireClient, case: Case) -> Message:
        return client.call(case.request(self), case.version, codec(case.key).response_class)

    def as_admin(self, case: Case) -> Message:
        return self.ask(self.admin, case)

    def join(self) -> None:
        """Join until the member has its partition, which Apache Kafka does not assign in its first answer."""
        epoch = 0

        def assigned() -> bool:
            nonlocal epoch
            request = ShareGroupHeartbeatRequest(GROUP, "m", epoch, None, [TOPIC])
            answer = self.admin.call(request, 1, ShareGroupHeartbeatResponse)
            epoch = answer.member_epoch
            return answer.assignment is not None and bool(answer.assignment.topic_partitions)

        until(assigned)

    def grant(self, acls: Iterable[Acl]) -> None:
        wanted = list(acls)
        everything = (1, None, 1, None, None, 1, 1)
        self.admin.call(DeleteAclsRequest([DeleteAclsFilter(*everything)]), 3, DeleteAclsResponse)
        self.admin.call(CreateAclsRequest([AclCreation(*acl) for acl in wanted]), 3, CreateAclsResponse)

        def in_force() -> bool:
            listed = self.admin.call(DescribeAclsRequest(*everything), 3, DescribeAclsResponse)
            return sum(len(resource.acls) for resource in listed.resources) == len(set(wanted))

        until(in_force)

    def _finds(self, key: str) -> bool:
        answer = self.admin.call(FindCoordinatorRequest(key_type=0, coordinator_keys=[key]), 6, FindCoordinatorResponse)
        return answer.coordinators[0].error_code == ErrorCode.NONE

    def close(self) -> None:
        self.admin.close()
        self.alice.close()


@pytest.fixture(scope="module")
def access(port: int) -> Iterator[AccessOverTheNetwork]:
    access = AccessOverTheNetwork(port)
    yield access
    access.close()


def refusals(response: Message) -> set[int]:
    return {code for code in error_reader(type(response))(response) if code in REFUSALS}


def test_every_share_rpc_is_among_them() -> None:
    share = {key for key in RIGHTS if "SHARE" in key.name} - OWN
    assert share <= {case.key for case in SHARE_CASES}


@pytest.mark.parametrize("case", SHARE_CASES, ids=str)
def test_granted_and_refused(access: AccessOverTheNetwork, case: Case) -> None:
    access.grant(case.acl(right) for right in case.needs)
    granted = access.ask(access.alice, case)
    assert not refusals(granted), granted
    for missing in case.needs:
        access.grant(case.acl(right) for right in case.needs if right is not missing)
        response = access.ask(access.alice, case)
        assert refusals(response) == {case.refused_without(missing)}, response


@pytest.mark.parametrize("case", SHARE_CASES, ids=str)
def test_the_administrator_may_do_everything(access: AccessOverTheNetwork, case: Case) -> None:
    access.grant([])
    assert not refusals(access.as_admin(case))
