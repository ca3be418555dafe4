"""AlterClientQuotas and DescribeClientQuotas (KIP-546). Errors are word for word those of Apache Kafka 4.3.1."""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.metadata.changes import MetaChange
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import alter_client_quotas as alter_rpc
from shareq.protocol.generated import describe_client_quotas as describe_rpc

Entity = list[tuple[str, str | None]]
Shown = list[tuple[Entity, dict[str, float]]]
RATE, PERCENT, NEW_CONNECTIONS = "producer_byte_rate", "request_percentage", "connection_creation_rate"
ANY = 2


@pytest.fixture
def client() -> MockConnection:
    return BrokerWorld().connect()


def entry(entity: Entity, **quotas: float | None) -> alter_rpc.AlterClientQuotasRequestEntryData:
    return alter_rpc.AlterClientQuotasRequestEntryData(
        [alter_rpc.AlterClientQuotasRequestEntityData(*each) for each in entity],
        [alter_rpc.OpData(key, value or 0.0, value is None) for key, value in quotas.items()],
    )


def alter(
    client: MockConnection,
    *entries: alter_rpc.AlterClientQuotasRequestEntryData,
    version: int = 1,
    validate_only: bool = False,
) -> list[tuple[int, str | None, Entity]]:
    request = alter_rpc.AlterClientQuotasRequest(list(entries), validate_only)
    answer = client.call(request, version, alter_rpc.AlterClientQuotasResponse)
    return [
        (row.error_code, row.error_message, [(each.entity_type, each.entity_name) for each in row.entity])
        for row in answer.entries
    ]


def described(
    client: MockConnection, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
) -> Shown:
    request = describe_rpc.DescribeClientQuotasRequest(
        [describe_rpc.ComponentData(*each) for each in components], strict
    )
    answer = client.call(request, version, describe_rpc.DescribeClientQuotasResponse)
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, "")
    return [
        (
            [(each.entity_type, each.entity_name) for each in row.entity],
            {value.key: value.value for value in row.values},
        )
        for row in answer.entries or ()
    ]


@pytest.mark.parametrize("version", [0, 1])
def test_quotas_are_set_changed_and_removed(client: MockConnection, version: int) -> None:
    alice: Entity = [("user", "alice")]
    both: Entity = [("user", None), ("client-id", "app")]
    assert alter(client, entry(alice, **{RATE: 5.0, PERCENT: 12.25}), version=version) == [(0, None, alice)]
    assert alter(client, entry(both, **{RATE: 7.0}), version=version) == [(0, None, both[::-1])]
    address: Entity = [("ip", None)]
    assert alter(client, entry(address, **{NEW_CONNECTIONS: 9.0}), version=version) == [(0, None, address)]
    shown = [(alice, {RATE: 5.0, PERCENT: 12.25}), (both[::-1], {RATE: 7.0}), (address, {NEW_CONNECTIONS: 9.0})]
    assert described(client, version=version) == shown
    assert described(client, strict=True) == []
    assert described(client, ("user", 0, "alice")) == shown[:1]
    assert described(client, ("user", 1, None)) == shown[1:2]
    assert described(client, ("user", 1, None), strict=True) == []
    assert described(client, ("user", ANY, None), ("client-id", ANY, None), strict=True) == shown[1:2]
    alter(client, entry(alice, **{RATE: 6.0, PERCENT: None}), entry(address, **{NEW_CONNECTIONS: None, "none": None}))
    assert described(client) == [(alice, {RATE: 6.0}), shown[1]]


def test_what_stays_as_it_is_is_no_commit() -> None:
    world = BrokerWorld()
    client = world.connect()
    alter(client, entry([("user", "alice")], **{RATE: 5.0}))
    commits = world.db.commits
    alter(client, entry([("user", "alice")], **{RATE: 5.0, PERCENT: None}))
    assert alter(client, entry([("user", "alice")], **{RATE: 6.0}), validate_only=True)[0][0] == ErrorCode.NONE
    assert world.db.commits == commits
    assert described(client) == [([("user", "alice")], {RATE: 5.0})]


@pytest.mark.parametrize(
    ("entity", "quotas", "message"),
    [
        ([], {RATE: 1.0}, "Invalid empty client quota entity"),
        ([("user", "")], {RATE: 1.0}, "Empty user not supported"),
        ([("planet", "earth")], {RATE: 1.0}, "Unhandled client quota entity type: planet"),
        (
            [("ip", "1.2.3.4"), ("user", "a")],
            {NEW_CONNECTIONS: 1.0},
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        ([("ip", "no host")], {NEW_CONNECTIONS: 1.0}, "no host is not a valid IP or resolvable host."),
        ([("ip", "::1")], {NEW_CONNECTIONS: 1.5}, "connection_creation_rate cannot be a fractional value."),
        ([("user", "a")], {RATE: 0.0}, "Quota producer_byte_rate must be greater than 0"),
        ([("user", "a")], {PERCENT: 3.0, "fast": 1.0}, "Invalid configuration key fast"),
    ],
)
def test_what_cannot_be_set_changes_nothing(
    client: MockConnection, entity: Entity, quotas: dict[str, float], message: str
) -> None:
    right: Entity = [("user", "b")]
    answers = alter(client, entry(entity, **quotas), entry(right, **{RATE: 1.0}))
    assert answers == [(ErrorCode.INVALID_REQUEST, message, entity), (ErrorCode.NONE, None, right)]
    assert described(client) == [(right, {RATE: 1.0})]


def test_an_entity_or_key_that_comes_twice(client: MockConnection) -> None:
    entity: Entity = [("user", None), ("client-id", "app")]
    twice = "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=app, user=null})"
    answers = alter(client, entry(entity, **{RATE: 1.0}), entry(entity, **{RATE: 2.0}))
    assert answers == [(ErrorCode.INVALID_REQUEST, twice, entity[::-1])]
    assert described(client) == [(entity[::-1], {RATE: 1.0})]
    both = entry(entity, **{RATE: 3.0})
    both.ops.append(alter_rpc.OpData(RATE, 4.0, False))
    assert alter(client, both) == [(ErrorCode.INVALID_REQUEST, twice, entity[::-1])]
    assert described(client) == [(entity[::-1], {RATE: 1.0})]


def test_what_cannot_be_stored_is_an_error() -> None:
    world = BrokerWorld()
    client = world.connect()

    def refuse(_changes: object) -> None:
        raise OSError("no")

    world.db.before_commit = refuse
    (answer,) = alter(client, entry([("user", "a")], **{RATE: 1.0}))
    assert answer[0] == ErrorCode.KAFKA_STORAGE_ERROR
    world.db.before_commit = None
    assert described(client) == []
    assert not world.services.quotas.active


def test_one_commit_for_all() -> None:
    world = BrokerWorld()
    seen: list[list[MetaChange]] = []
    world.db.after_commit = lambda changes: seen.append(list(changes))
    alter(world.connect(), entry([("user", "a")], **{RATE: 1.0}), entry([("user", "b")], **{RATE: 1.0}))
    assert [len(changes) for changes in seen] == [2]


@pytest.mark.parametrize(
    ("components", "error", "message"),
    [
        ([("", ANY, None)], 42, "Invalid empty entity type."),
        ([("user", ANY, None)] * 2, 42, "Entity type user cannot appear more than once in the filter."),
        (
            [("user", ANY, None), ("ip", ANY, None)],
            42,
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId "
            "filter component.",
        ),
        ([("user", 0, None)], 42, "Request specified MATCH_TYPE_EXACT, but set match string to null."),
        ([("user", 1, "a")], 42, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."),
        ([("user", ANY, "a")], 42, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."),
        ([("user", 3, None)], 42, "Unknown match type 3"),
        ([("planet", ANY, None)], 35, "Unsupported entity type planet"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    client: MockConnection, components: list[tuple[str, int, str | None]], error: int, message: str
) -> None:
    request = describe_rpc.DescribeClientQuotasRequest([describe_rpc.ComponentData(*each) for each in components])
    answer = client.call(request, 1, describe_rpc.DescribeClientQuotasResponse)
    assert (answer.error_code, answer.error_message, answer.entries) == (error, message, None)
