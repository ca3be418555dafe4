"""The check of a broker's health, for `shareq check`: it sends ApiVersions, the one request that needs no rights.

Every Kafka broker answers it, even on a listener with SASL before the client has authenticated. It does not run in
the broker's process, so that the health is seen from outside.
"""

from __future__ import annotations

import socket
import time
from contextlib import closing
from typing import Final

from shareq.protocol.api_keys import ApiKey
from shareq.protocol.framing import FrameSplitter, frame
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.headers import decode_response_header, encode_request
from shareq.protocol.primitives import MalformedMessage

# Version 0 is served by every broker there ever was.
_VERSION: Final = 0
_CORRELATION_ID: Final = 1
_MAX_ANSWER_BYTES: Final = 1 << 20
_READ_BYTES: Final = 1 << 16


class UnhealthyError(Exception):
    """Error: no broker answered. The text is the reason, in a few words."""


def check(host: str, port: int, timeout_s: float) -> None:
    """Return when the broker at this address has answered. An empty host means this machine. Raise UnhealthyError.

    `timeout_s` limits connecting and waiting together. A name with several addresses may take that long for each
    silent one; the time to look the name up is not limited.
    """
    deadline_s = time.monotonic() + timeout_s
    try:
        with closing(socket.create_connection((host or "127.0.0.1", port), timeout=timeout_s)) as connection:
            request = ApiVersionsRequest()
            connection.sendall(frame(encode_request(_VERSION, _CORRELATION_ID, "shareq-check", request)))
            _check_answer(_read_frame(connection, deadline_s))
    except TimeoutError as error:
        raise UnhealthyError(f"no answer within {timeout_s:g} s") from error
    except MalformedMessage as error:
        raise UnhealthyError(f"this is no Kafka broker: {error}") from error
    except OSError as error:
        raise UnhealthyError(error.strerror or str(error)) from error


def _read_frame(connection: socket.socket, deadline_s: float) -> bytes:
    """Return the first frame that arrives. Raise TimeoutError at the deadline, even if bytes are still arriving
    slowly.
    """
    splitter = FrameSplitter(_MAX_ANSWER_BYTES)
    while True:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        data = connection.recv(_READ_BYTES)
        if not data:
            raise UnhealthyError("the connection was closed without an answer")
        frames = splitter.feed(data)
        if frames:
            return frames[0]


def _check_answer(answer: bytes) -> None:
    """Raise MalformedMessage, or UnhealthyError for an error that the broker reports."""
    header = decode_response_header(answer, ApiKey.API_VERSIONS, _VERSION)
    if header.correlation_id != _CORRELATION_ID:
        raise MalformedMessage(f"an answer to request {header.correlation_id}")
    response, _ = ApiVersionsResponse.decode(answer, _VERSION, header.body_offset)
    if response.error_code:
        raise UnhealthyError(f"the broker answered with error {response.error_code}")
