"""Random requests of every served version: each gets a decodable answer, or its connection is closed.

The requests are nonsense, so nearly every answer is an error, but none may be caused by a bug of the broker.
"""

from __future__ import annotations

import logging
from random import Random

import pytest

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.handler_rows import HandlerRow
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.produce import ProduceRequest
from tests.support.kafka.random_messages import LikelyMessages, RandomMessages, known_messages

REQUESTS = 8  # of each version
HOUR_MS = 3_600_000
LIKELY_SEEDS = 2
LIKELY_REQUESTS = 4_000
READ_STATE = (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)  # which may contradict itself here, since anybody writes it
LONGEST_WAIT_MS = 2**31


def is_answered(request: object) -> bool:
    return not (isinstance(request, ProduceRequest) and request.acks == 0)


@pytest.mark.parametrize(("key", "row"), HANDLERS.items(), ids=lambda value: getattr(value, "name", ""))
def test_random_requests(key: ApiKey, row: HandlerRow, caplog: pytest.LogCaptureFixture) -> None:
    messages = RandomMessages(f"requests of {key.name}")
    known = known_messages()[codec(key).request_class.__name__]
    world = BrokerWorld()
    world.create_topic("t", partitions=2)
    bystander = world.connect()
    with caplog.at_level(logging.ERROR):
        for version in range(row.served.first, row.served.last + 1):
            for _ in range(REQUESTS):
                request = messages.message(known, version)
                client = world.connect()
                client.send(request, version)
                if not is_answered(request):
                    continue
                world.clock.run_until_idle()
                if not client.frames and not client.closed:
                    world.clock.advance(LONGEST_WAIT_MS)
                assert client.frames or client.closed, request
                if client.frames:
                    client.receive(codec(key).response_class)
    assert [record.getMessage() for record in caplog.records] == []
    assert still_serves(bystander)


COORDINATED = (
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.OFFSET_DELETE,
    ApiKey.DELETE_RECORDS,
    ApiKey.LIST_OFFSETS,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.LIST_TRANSACTIONS,
    ApiKey.DESCRIBE_TRANSACTIONS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.FETCH,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.CREATE_TOPICS,
)


@pytest.mark.parametrize("seed", range(LIKELY_SEEDS))
def test_likely_requests_with_numbers_at_their_ends(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """Timeouts, retentions, epochs and offsets are so extreme that sums overflow.

    The requests name existing topics, groups and transactions, so that the numbers are used and persisted.
    """
    rng = Random(seed)
    world = BrokerWorld()
    messages = LikelyMessages(
        seed, names=likely_names(), ids=[world.create_topic("t", partitions=2).topic_id], numbers=LIKELY_NUMBERS
    )
    with caplog.at_level(logging.WARNING):
        for _ in range(LIKELY_REQUESTS):
            key = rng.choice(COORDINATED)
            row = HANDLERS[key]
            version = rng.randint(row.served.first, row.served.last)
            request = messages.message(known_messages()[codec(key).request_class.__name__], version)
            client = world.connect()
            client.send(request, version)
            world.clock.advance(rng.choice((0, 0, 1, 1_000, 60_000)))
            if client.frames:
                response = client.receive(codec(key).response_class)
                if key not in READ_STATE:
                    assert ErrorCode.UNKNOWN_SERVER_ERROR not in errors(response), (request, response)
                messages.learn(response)
        world.restart()
        world.clock.advance(HOUR_MS)
        world.restart(clean=False)
    assert [record.getMessage() for record in caplog.records if record.levelno > logging.WARNING] == []
    assert still_serves(world.connect())


LIKELY_NUMBERS = {
    "ProducerId": (0, 1, 2, 1000),
    "GenerationIdOrMemberEpoch": (-1, -1),
    "CommittedLeaderEpoch": (-1, 0),
    "RetentionTimeMs": (-1, 0, 1_000),
    "SessionTimeoutMs": (6_000, 30_000),
    "RebalanceTimeoutMs": (0, 1_000, 60_000),
    "TransactionTimeoutMs": (1, 60_000),
    "ReplicationFactor": (1,),
    "NumPartitions": (1, 2),
    "Count": (2, 3),
    "MinBytes": (0, 1),
    "MaxWaitMs": (0, 500),
    "ReplicaId": (-1,),
    "CurrentLeaderEpoch": (-1, 0),
}


def likely_names() -> dict[str, tuple[str, ...]]:
    """Return names by field; a group has the kind that first used its name."""
    groups = tuple(f"g{number}" for number in range(20))
    named = dict.fromkeys(("GroupId", "Groups", "GroupIds", "Key", "CoordinatorKeys"), groups)
    named |= dict.fromkeys(("TransactionalId", "V3AndBelowTransactionalId", "TransactionalIds"), ("x", "y"))
    named |= dict.fromkeys(("Name", "Topic", "TopicName", "SubscribedTopicNames"), ("t",))
    return named | {"MemberId": ("", "", "m"), "ProtocolType": ("consumer",), "ProtocolName": ("range",)}


def errors(response: object) -> set[int]:
    """Return every error in a message, at any depth."""
    if isinstance(response, list):
        return set().union(*map(errors, response))
    found: set[int] = set()
    for field in getattr(response, "FIELDS", ()):
        value = getattr(response, field)
        found |= {value} if field.endswith("error_code") else errors(value)
    return found


def still_serves(client: MockConnection) -> bool:
    return bool(client.call(ApiVersionsRequest(), 0, ApiVersionsResponse).api_keys)


@pytest.mark.parametrize(("key", "row"), HANDLERS.items(), ids=lambda value: getattr(value, "name", ""))
def test_damaged_requests(key: ApiKey, row: HandlerRow, caplog: pytest.LogCaptureFixture) -> None:
    """Truncated or changed requests are answered, or their connection is closed; none hits a bug."""
    rng = Random(key)
    messages = RandomMessages(f"damage to {key.name}")
    known = known_messages()[codec(key).request_class.__name__]
    world = BrokerWorld()
    bystander = world.connect()
    with caplog.at_level(logging.ERROR):
        for version in range(row.served.first, row.served.last + 1):
            for _ in range(REQUESTS):
                client = world.connect()
                frame = bytearray(client.requests.frame_of(messages.message(known, version), version)[4:])
                if rng.random() < 0.5:
                    del frame[rng.randrange(8, len(frame)) :]
                for _ in range(rng.randrange(4)):
                    frame[rng.randrange(8, max(9, len(frame))) % len(frame)] = rng.randrange(256)
                client.send_raw(len(frame).to_bytes(4, "big") + bytes(frame))
    world.clock.run_until_idle()
    assert [record.getMessage() for record in caplog.records] == []
    assert still_serves(bystander)
