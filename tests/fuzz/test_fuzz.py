"""Some thousand mutated requests of every RPC, always the same ones; `make fuzz` sends more."""

from __future__ import annotations

import pytest

from shareq.broker.dispatch.table import HANDLERS
from shareq.protocol.generated.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tests.fuzz.frames import ROOM, Frames, room_left
from tests.fuzz.pieces import pieces_of
from tests.fuzz.requests import known_request
from tests.fuzz.runner import run_world

WORLDS = range(12)  # of 400 frames each


@pytest.mark.parametrize("seed", WORLDS)
def test_bent_requests_do_no_harm(seed: int) -> None:
    result = run_world(seed)
    if result.failure:
        pytest.fail(result.reported(), pytrace=False)
    assert result.taken >= 400


def test_the_same_seed_makes_the_same_frames() -> None:
    def frames(seed: int) -> list[bytes]:
        source = Frames(seed)
        return [source.next(1).data for _ in range(200)]

    assert frames(1) == frames(1)
    assert frames(1) != frames(2)


def test_every_request_that_is_not_bent_is_a_request_of_its_version() -> None:
    """The codec and the walk over the pieces both read all bytes that were written."""
    source = Frames("every version")
    for api, row in HANDLERS.items():
        for version in range(row.served.first, row.served.last + 1):
            for _ in range(3):
                request = source.made(api, version, {}, bends=0).request
                body = request.encode(version)
                decoded, end = type(request).decode(body, version)
                assert end == len(body)
                assert decoded.encode(version) == body
                pieces = pieces_of(known_request(api).codec.layouts.by_version[version], body)
                assert b"".join(piece.data for piece in pieces) == body


def test_what_would_be_gigabytes_is_not_written() -> None:
    topics = [CreatableTopic("t" * 32_000, configs=[CreatableTopicConfig("n", "v" * 100)] * 1_100)] * 1_100
    assert room_left(CreateTopicsRequest(topics), ROOM) <= 0
    assert room_left(CreateTopicsRequest(topics[:10]), ROOM) > 0
