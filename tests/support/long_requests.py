"""Requests of many elements."""

from __future__ import annotations

import struct
from typing import Final

from shareq.protocol.api_keys import ApiKey
from shareq.protocol.framing import frame
from shareq.protocol.generated.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from shareq.protocol.primitives import uvarint

_GROUP: Final = 32
_HEADER: Final = struct.Struct(">hhih")


def raw_request(api_key: ApiKey, version: int, count: int, element: bytes, rest: bytes) -> bytes:
    header = _HEADER.pack(api_key, version, 7, 1) + b"x\0"
    return frame(header + uvarint(count + 1) + element * count + rest)


def describe_groups(count: int) -> DescribeConfigsRequest:
    """Return a request for the properties of so many groups, with synonyms and documentation."""
    return DescribeConfigsRequest([DescribeConfigsResource(_GROUP, f"group-{i}") for i in range(count)], True, True)
