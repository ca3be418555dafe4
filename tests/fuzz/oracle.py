"""The allowed outcomes of a frame: an answer, a closed connection, or nothing where no answer is due.

An answer decodes as its request's version and type, with its correlation id. It contains UNKNOWN_SERVER_ERROR only if
Apache Kafka fails likewise.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Final

from devtools.clients.wire import decode_response
from shareq.broker.dispatch.table import HANDLERS
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.generated.api_versions import ApiVersionsResponse
from shareq.protocol.generated.produce import ProduceRequest
from shareq.protocol.headers import decode_request_header
from shareq.protocol.primitives import Message, Structure
from tests.fuzz.as_kafka import IsOdd, fails_as_in_kafka

MOST_ANSWER_BYTES: Final = 100_000_000
"""The most bytes of an answer: the limit of answers in parts (`docs/bounded-work.md`)."""

_START: Final = struct.Struct(">hhi")


class Outcome(Enum):
    NONE = "without error"
    ERRORS = "with errors"
    CLOSED = "closed"
    SILENT = "no answer due"
    BEHIND = "behind a frame that closed"
    ODD_SIZE = "of another size than it says"


class Defect(AssertionError):
    """An error: the broker did something forbidden. The text says what, and for which frame."""


def start_of(data: bytes) -> tuple[int, int, int] | None:
    """Return key, version and correlation id of a frame with its size; None if it is too short."""
    return _START.unpack_from(data, 4) if len(data) >= 4 + _START.size else None


def gets_no_answer(data: bytes) -> bool:
    start = start_of(data)
    if start is None or start[0] != ApiKey.PRODUCE:
        return False
    request = request_in(data)
    return isinstance(request, ProduceRequest) and request.acks == 0


def request_in(data: bytes) -> Message | None:
    """Return the request of a frame with its size, as the broker decodes it; None if it cannot."""
    start = start_of(data)
    if start is None or start[0] not in HANDLERS or start[1] not in HANDLERS[ApiKey(start[0])].served:
        return None
    try:
        header = decode_request_header(data[4:])
        request, _ = codec(start[0]).request_class.decode(data[4:], start[1], header.body_offset)
    except MalformedMessage:
        return None
    return request


def judged(data: bytes, payload: bytes, state_is_odd: IsOdd) -> tuple[Outcome, Message]:
    """Return a frame's outcome by its answer, and the answer.

    `state_is_odd` as for `fails_as_in_kafka`. Raise Defect.
    """
    start = start_of(data)
    if start is None:
        raise Defect(f"a frame of {len(data)} bytes got an answer of {len(payload)} bytes")
    key, version, correlation = start
    if key not in HANDLERS:
        raise Defect(f"API key {key} got an answer")
    if len(payload) > MOST_ANSWER_BYTES:
        raise Defect(f"an answer of {len(payload)} bytes to {len(data)}")
    refused = version not in HANDLERS[ApiKey(key)].served
    if refused and key != ApiKey.API_VERSIONS:
        raise Defect(f"{ApiKey(key).name} v{version} is not served, and got an answer")
    try:
        answered, response = decode_response(payload, key, 0 if refused else version)
    except (MalformedMessage, AssertionError, struct.error) as error:
        raise Defect(f"the answer cannot be read: {error}; {payload[:400].hex()}") from error
    if answered != correlation:
        raise Defect(f"answer {answered} where {correlation} was due")
    if type(response) is not codec(key).response_class:
        raise Defect(f"a {type(response).__name__} to {ApiKey(key).name}")
    if refused and isinstance(response, ApiVersionsResponse) and response.error_code != ErrorCode.UNSUPPORTED_VERSION:
        raise Defect(f"ApiVersions v{version} was answered {response.error_code}")
    errors = set(errors_in(response))
    if ErrorCode.UNKNOWN_SERVER_ERROR in errors:
        request = request_in(data)
        if request is None or not fails_as_in_kafka(request, response, len(data), state_is_odd):
            raise Defect(f"UNKNOWN_SERVER_ERROR in {response}"[:2000])
    if unknown := errors - _KNOWN:
        raise Defect(f"error codes {sorted(unknown)}, which there are not")
    return (Outcome.ERRORS if errors - {ErrorCode.NONE} else Outcome.NONE), response


_KNOWN: Final = frozenset(int(code) for code in ErrorCode)


def errors_in(response: object) -> Iterator[int]:
    if isinstance(response, list):
        for element in response:
            if not isinstance(element, Structure):
                return
            yield from errors_in(element)
    elif isinstance(response, Structure):
        for field in response.FIELDS:
            value = getattr(response, field)
            if isinstance(value, int) and field.endswith("error_code"):
                yield value
            elif isinstance(value, (list, Structure)):
                yield from errors_in(value)


class Log(logging.Handler):
    """The broker's log. Errors are its bugs; `closed` are the reasons by connection."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.faults: list[str] = []
        self.closed: dict[str, list[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.levelno >= logging.ERROR or record.exc_info is not None:
            self.faults.append(logging.Formatter("%(name)s: %(message)s").format(record))
        connection, closing, reason = text.partition(": closing: ")
        if closing:
            self.closed.setdefault(connection, []).append(reason)

    def check(self) -> None:
        """Raise Defect for bugs logged since the last check."""
        if self.faults:
            faults, self.faults = self.faults, []
            raise Defect("logged: " + "\n".join(faults))


@contextmanager
def log_of_broker() -> Iterator[Log]:
    """Collect the log of the broker in this process during the block, and write it nowhere else."""
    log, logger = Log(), logging.getLogger("shareq")
    before = logger.propagate, logger.level
    logger.addHandler(log)
    logger.propagate = False
    logger.setLevel(logging.WARNING)
    try:
        yield log
    finally:
        logger.removeHandler(log)
        logger.propagate = before[0]
        logger.setLevel(before[1])
