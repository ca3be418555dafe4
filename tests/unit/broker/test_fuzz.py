"""Random requests of every served version: each is answered so that its codec can read it, or closes its connection.

What they ask for is nonsense, so nearly every answer is an error; but none may be a fault of the broker's.
"""

from __future__ import annotations

import logging
from random import Random

import pytest

from shareq.broker.handlers import HANDLERS, HandlerRow
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.produce import ProduceRequest
from tests.support.mock_transport import BrokerWorld, MockConnection
from tests.support.random_messages import RandomMessages, known_messages

REQUESTS = 8  # of each version
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


def still_serves(client: MockConnection) -> bool:
    return bool(client.call(ApiVersionsRequest(), 0, ApiVersionsResponse).api_keys)


@pytest.mark.parametrize(("key", "row"), HANDLERS.items(), ids=lambda value: getattr(value, "name", ""))
def test_damaged_requests(key: ApiKey, row: HandlerRow, caplog: pytest.LogCaptureFixture) -> None:
    """Cut short, or with bytes changed: answered or closed, and never a fault of ours."""
    rng = Random(key)
    messages = RandomMessages(f"damage to {key.name}")
    known = known_messages()[codec(key).request_class.__name__]
    world = BrokerWorld()
    bystander = world.connect()
    with caplog.at_level(logging.ERROR):
        for version in range(row.served.first, row.served.last + 1):
            for _ in range(REQUESTS):
                client = world.connect()
                frame = bytearray(client.frame_of(messages.message(known, version), version)[4:])
                if rng.random() < 0.5:
                    del frame[rng.randrange(8, len(frame)) :]
                for _ in range(rng.randrange(4)):
                    frame[rng.randrange(8, max(9, len(frame))) % len(frame)] = rng.randrange(256)
                client.send_raw(len(frame).to_bytes(4, "big") + bytes(frame))
    world.clock.run_until_idle()
    assert [record.getMessage() for record in caplog.records] == []
    assert still_serves(bystander)
