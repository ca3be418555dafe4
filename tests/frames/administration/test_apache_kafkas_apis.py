"""The APIs of Apache Kafka 4.4.0 that a single broker has no use for: answered as if their feature were off.

Tools and clients infer a broker's version from the APIs it names.
"""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.dispatch.table import HANDLERS
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import create_delegation_token as create
from shareq.protocol.generated import describe_delegation_token as describe
from shareq.protocol.generated import expire_delegation_token as expire
from shareq.protocol.generated import renew_delegation_token as renew
from shareq.protocol.generated.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from shareq.protocol.generated.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from shareq.protocol.generated.streams_group_describe import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse
from shareq.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from shareq.protocol.generated.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)
from shareq.protocol.generated.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from shareq.protocol.generated.unregister_controller import UnregisterControllerRequest, UnregisterControllerResponse
from shareq.protocol.generator.__main__ import SCHEMAS
from shareq.protocol.generator.spec import load_folder
from shareq.protocol.primitives import Message
from tests.support.clients.sasl import SaslWorld

# Of those for brokers, what Apache Kafka 4.4.0 does not name without settings or features of its own.
UNNAMED = {"GetTelemetrySubscriptionsRequest", "PushTelemetryRequest"}


def test_the_apis_of_apache_kafka() -> None:
    """The APIs are those that `kafka-broker-api-versions.sh` lists for Apache Kafka, by the listeners in its
    schemas.
    """
    of_brokers = {
        ApiKey(spec.api_key or 0): (
            spec.valid_versions.lowest,
            spec.valid_versions.highest - spec.latest_version_unstable,
        )
        for spec in load_folder(SCHEMAS)
        if "broker" in spec.listeners and not spec.valid_versions.empty
        if spec.name not in UNNAMED and spec.file.split("/")[0] != "shareq"
    }
    ours = {key: (row.advertised.first, row.advertised.last) for key, row in HANDLERS.items() if not row.own}
    assert ours.keys() == of_brokers.keys()
    assert {key: (ours[key], theirs) for key, theirs in of_brokers.items() if ours[key] != theirs} == {
        ApiKey.PRODUCE: ((0, 13), (3, 13))  # Apache Kafka, too, names more than its schema has
    }


TOKENS: tuple[Message, ...] = (
    create.CreateDelegationTokenRequest(renewers=[create.CreatableRenewers("User", "bob")], max_lifetime_ms=-1),
    renew.RenewDelegationTokenRequest(b"hmac", 1),
    expire.ExpireDelegationTokenRequest(b"hmac", 1),
    describe.DescribeDelegationTokenRequest(None),
)


@pytest.mark.parametrize("request_", TOKENS, ids=lambda request: ApiKey(request.API_KEY).name)
def test_there_are_no_delegation_tokens(request_: Message) -> None:
    """KIP-48: delegation tokens need authentication, and with it they are disabled."""
    key = ApiKey(request_.API_KEY)
    served = HANDLERS[key].served
    plain = BrokerWorld().connect()
    client = SaslWorld().stranger()
    client.plain()
    for version in range(served.first, served.last + 1):
        for connection, error in (
            (plain, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
            (client.connection, ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED),
        ):
            answer = connection.call(request_, version, codec(key).response_class)
            assert answer.error_code == error  # type: ignore[attr-defined]


def test_a_token_that_is_not_made_names_its_owner() -> None:
    client = SaslWorld().stranger()
    client.plain()
    for_bob = create.CreateDelegationTokenRequest("User", "bob", [], -1)
    answer = client.connection.call(for_bob, 3, create.CreateDelegationTokenResponse)
    assert (answer.principal_type, answer.principal_name) == ("User", "bob")
    assert (answer.token_requester_principal_type, answer.token_requester_principal_name) == ("User", "alice")


@pytest.mark.parametrize(
    ("broker_id", "error"), [(1, ErrorCode.INVALID_REQUEST), (2, ErrorCode.BROKER_ID_NOT_REGISTERED)]
)
def test_the_only_broker_stays(broker_id: int, error: ErrorCode) -> None:
    answer = BrokerWorld().connect().call(UnregisterBrokerRequest(broker_id), 0, UnregisterBrokerResponse)
    assert answer.error_code == error
    assert str(broker_id) in str(answer.error_message)


@pytest.mark.parametrize(
    ("controller_id", "level", "error", "message"),
    [
        (1, 33, ErrorCode.INVALID_REQUEST, "Controller cannot unregister itself while it is active."),
        (1, 30, ErrorCode.INVALID_REQUEST, "Controller cannot unregister itself while it is active."),
        (2, 33, ErrorCode.CONTROLLER_ID_NOT_REGISTERED, "Controller ID 2 is not currently registered."),
        (
            2,
            30,
            ErrorCode.UNSUPPORTED_VERSION,
            "The current MetadataVersion is too old to support controller unregistration.",
        ),
    ],
)
def test_the_only_controller_stays(controller_id: int, level: int, error: ErrorCode, message: str | None) -> None:
    world = BrokerWorld()
    world.folder.metadata.set_features({"metadata.version": level})
    request = UnregisterControllerRequest(controller_id)
    answer = world.connect().call(request, 0, UnregisterControllerResponse)
    assert (answer.error_code, answer.error_message) == (error, message)


def test_the_quorum_does_not_change() -> None:
    """KIP-853, with kraft.version 0."""
    world = BrokerWorld()
    client = world.connect()
    own = world.services.metadata.cluster_id
    for cluster_id, error in (
        (None, ErrorCode.UNSUPPORTED_VERSION),
        (own, ErrorCode.UNSUPPORTED_VERSION),
        ("other", ErrorCode.INCONSISTENT_CLUSTER_ID),
    ):
        for version in (0, 1):
            added = client.call(AddRaftVoterRequest(cluster_id, 1, 2), version, AddRaftVoterResponse)
            assert added.error_code == error
        removed = client.call(RemoveRaftVoterRequest(cluster_id, 1), 0, RemoveRaftVoterResponse)
        assert removed.error_code == error


def test_groups_of_streams_are_off() -> None:
    """KIP-1071, with streams.version 0."""
    client = BrokerWorld().connect()
    for version in (0, 1):
        heartbeat = client.call(StreamsGroupHeartbeatRequest("g", "m"), version, StreamsGroupHeartbeatResponse)
        assert heartbeat.error_code == ErrorCode.UNSUPPORTED_VERSION
        described = client.call(StreamsGroupDescribeRequest(["g", "h"]), version, StreamsGroupDescribeResponse)
        assert [(group.group_id, group.error_code) for group in described.groups] == [
            ("g", ErrorCode.UNSUPPORTED_VERSION),
            ("h", ErrorCode.UNSUPPORTED_VERSION),
        ]
    topology = StreamsGroupTopologyDescriptionUpdateRequest("g", "m", 1)
    answer = client.call(topology, 0, StreamsGroupTopologyDescriptionUpdateResponse)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
