from __future__ import annotations

import pytest

from shareq.coordinator.share.keys import SharePartitionKey, parse_key
from shareq.protocol.errors import ErrorCode

TOPIC_ID = bytes(range(1, 17))


def test_a_key_text_is_read_from_the_right() -> None:
    """Group ids may contain colons (KIP-932)."""
    assert parse_key("my:group:AQIDBAUGBwgJCgsMDQ4PEA:3") == SharePartitionKey("my:group", TOPIC_ID, 3)
    key = SharePartitionKey("a:b::c", bytes(16), 2**31 - 1)
    assert parse_key(key.text()) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "g",
        "g:AQIDBAUGBwgJCgsMDQ4PEA",
        ":AQIDBAUGBwgJCgsMDQ4PEA:0",
        "  :AQIDBAUGBwgJCgsMDQ4PEA:0",
        "g:AQIDBAUGBwgJCgsMDQ4PE:0",
        "g:AQIDBAUGBwgJCgsMDQ4PE!:0",
        "g:AQIDBAUGBwgJCgsMDQ4PEA:",
        "g:AQIDBAUGBwgJCgsMDQ4PEA:-1",
        "g:AQIDBAUGBwgJCgsMDQ4PEA:2147483648",
        "g:AQIDBAUGBwgJCgsMDQ4PEA:٣",
    ],
)
def test_what_is_no_key_is_an_invalid_request(text: str) -> None:
    assert parse_key(text) is ErrorCode.INVALID_REQUEST
