"""From a frame to its answer: header -> table row -> codec -> handler -> codec.

Three kinds of failure stay apart: bytes that cannot be read, or an RPC that is not served, close the connection (one
log line); what the client did wrong is an error code that the handler returns; what we did wrong is logged once and
answered with UNKNOWN_SERVER_ERROR where the response has a place for it.
"""

from __future__ import annotations

import gc
import importlib
import logging
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.response_errors import error_reader
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.pending import Pending
from shareq.broker.network.connection import FALL_BACK, AnswerSlot, CloseConnection, Connection, FallBack, Reply
from shareq.broker.network.counters import Requests
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.headers import decode_request_header, response_header
from shareq.protocol.primitives import Gathered, Message

if TYPE_CHECKING:
    from shareq.broker.broker import Broker

logger = logging.getLogger(__name__)

# int16 key and int16 version read as one number, int32 correlation id: the part of a header every version has
_FIXED: Final = struct.Struct(">Ii")
_SIZE_AND_CORRELATION: Final = struct.Struct(">ii")
_API: Final = struct.Struct(">hh")

LARGE_FRAME: Final = 65_536  # bytes: from here on a request may bring thousands of objects

Failed = Callable[[Message, ErrorCode], Message]

RefusalBySize = Callable[[RequestContext, int], "Message | None"]
"""The answer to a request of so many bytes, if it cannot be accepted whatever is in it: it is not read then."""


class FastPath(Protocol):
    """A handler's `ProduceFastPath`: a shorter way for requests that are like earlier ones of their connection."""

    def handle(self, frame: bytes, correlation_id: int) -> AnswerSlot | FallBack | None:
        """The reply, or FALL_BACK when the request has to go the ordinary way; nothing has happened then."""

    def learn(self, frame: bytes, request: Any) -> None:
        """A request that went the ordinary way. Any: the handler's own request class."""


class Route:
    """One RPC in one version: how to read, handle and answer it. `requests` counts those of all its versions."""

    __slots__ = (
        "api_key",
        "decode",
        "errors_in",
        "failed",
        "fast_path",
        "handle",
        "prefix",
        "refusal_by_size",
        "requests",
        "version",
    )

    def __init__(self, api_key: ApiKey, version: int, requests: Requests) -> None:
        row = HANDLERS[api_key]
        module = importlib.import_module(f"shareq.broker.handlers.{row.module}")
        messages = codec(api_key)
        self.api_key = api_key
        self.version = version
        self.requests = requests
        self.errors_in = error_reader(messages.response_class)
        self.decode: Callable[[bytes, int, int], tuple[Message, int]] = messages.request_class.decode
        # A response, a pending one, or None where the request gets no answer (Produce with acks=0).
        self.handle: Callable[[RequestContext, Message], Message | Pending[Any] | None] = module.handle
        self.failed: Failed | None = getattr(module, "failed", None) or _top_level_failure(messages.response_class)
        self.refusal_by_size: RefusalBySize | None = getattr(module, "refusal_by_size", None)
        self.fast_path: Callable[[BoundRoute], FastPath] | None = getattr(module, "ProduceFastPath", None)
        self.prefix = bytes(4) + response_header(api_key, version, 0)

    def __str__(self) -> str:
        return f"{self.api_key.name} v{self.version}"

    def frame(self, response: Message, correlation_id: int) -> Gathered:
        """The whole response frame, size included. Counts the errors in it."""
        for error_code in self.errors_in(response):
            self.requests.failed(error_code)
        out = Gathered(self.prefix)
        response.encode_into(out, self.version)
        size = out.size if out.left else len(out)
        _SIZE_AND_CORRELATION.pack_into(out, 0, size - 4, correlation_id)
        return out


class BoundRoute:
    """A route as one connection uses it.

    `tail` are the header's bytes behind the correlation id: the client id and, in flexible versions, the tags. A
    connection repeats them in every request, so that the header is parsed once and compared from then on.
    """

    __slots__ = ("body", "context", "fast_path", "refusal_by_size", "requests", "route", "tail")

    def __init__(self, route: Route, context: RequestContext, tail: bytes, body: int) -> None:
        self.route = route
        self.requests = route.requests
        self.context = context
        self.tail = tail
        self.body = body
        self.fast_path = route.fast_path(self) if route.fast_path is not None else None


class Dispatcher:
    """Handles the frames of all connections of a broker. `requests` are counted by RPC, those that ever came."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._routes: dict[int, Route] = {}
        self.requests: dict[ApiKey, Requests] = {}

    def handle_frame(self, connection: Connection, frame: bytes) -> Reply:
        """Handle one request frame, without its size. Raises CloseConnection."""
        if len(frame) < _FIXED.size:
            raise CloseConnection(f"request header of {len(frame)} bytes")
        api, correlation_id = _FIXED.unpack_from(frame)
        bound = connection.routes.get(api)
        if bound is not None and bound.fast_path is not None:
            reply = bound.fast_path.handle(frame, correlation_id)
            if reply is not FALL_BACK:
                return reply
        if bound is None or frame[_FIXED.size : bound.body] != bound.tail:
            api_key, version = _API.unpack_from(frame)
            if api_key == ApiKey.API_VERSIONS and version not in HANDLERS[ApiKey.API_VERSIONS].served:
                requests = self._requests_of(ApiKey.API_VERSIONS)
                requests.failed(ErrorCode.UNSUPPORTED_VERSION)
                requests.durations.add(connection.now_ns() - connection.since_ns)
                return _unsupported_api_versions(correlation_id)
            bound = self._bind(connection, frame, api, api_key, version)
        if len(frame) < LARGE_FRAME:
            return _decoded_and_answered(connection, bound, frame, correlation_id)
        refuse = bound.route.refusal_by_size
        if refuse is not None and (refused := refuse(bound.context, len(frame))) is not None:
            return bound.route.frame(refused, correlation_id)
        with _without_collector():
            return _decoded_and_answered(connection, bound, frame, correlation_id)

    def _bind(self, connection: Connection, frame: bytes, api: int, api_key: int, version: int) -> BoundRoute:
        """Look up what serves this RPC, and remember it for the connection."""
        route = self._routes.get(api)
        if route is None:
            known = _served(api_key, version)
            route = self._routes[api] = Route(known, version, self._requests_of(known))
        try:
            header = decode_request_header(frame)
        except MalformedMessage as error:
            raise CloseConnection(f"{route} request header cannot be read: {error}") from error
        context = RequestContext(self._broker, connection, version, header.client_id)
        body = header.body_offset
        bound = BoundRoute(route, context, frame[_FIXED.size : body], body)
        connection.routes[api] = bound
        return bound

    def _requests_of(self, api_key: ApiKey) -> Requests:
        return self.requests.setdefault(api_key, Requests())


def _served(api_key: int, version: int) -> ApiKey:
    """The RPC. Raises CloseConnection when it is not served in this version."""
    try:
        known = ApiKey(api_key)
    except ValueError:
        raise CloseConnection(f"unknown API key {api_key} (version {version})") from None
    row = HANDLERS.get(known)
    if row is None:
        raise CloseConnection(f"API key {api_key} ({known.name}) is not served")
    if version not in row.served:
        raise CloseConnection(
            f"{known.name} version {version} is not served, only {row.served.first} to {row.served.last}"
        )
    return known


def _decoded_and_answered(connection: Connection, bound: BoundRoute, frame: bytes, correlation_id: int) -> Reply:
    try:
        request, _ = bound.route.decode(frame, bound.route.version, bound.body)
    except MalformedMessage as error:
        raise CloseConnection(f"{bound.route} request cannot be read: {error}") from error
    return _answer(connection, bound, frame, request, correlation_id)


@contextmanager
def _without_collector() -> Iterator[None]:
    """A request of a million small things makes nothing that only a collector could free, but keeps it busy: it would
    look at all of them again and again, for longer than it takes to read them.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _answer(connection: Connection, bound: BoundRoute, frame: bytes, request: Message, correlation_id: int) -> Reply:
    """Hand the request to its handler; the answer's frame, or the slot it will be in."""
    route = bound.route
    try:
        answer = route.handle(bound.context, request)
        if bound.fast_path is not None:
            bound.fast_path.learn(frame, request)
        if answer is None:
            route.requests.unanswered += 1
            return None
        if isinstance(answer, Pending) and answer.done:
            answer = answer.value  # no slot, and no tick more, for what is there already
        if not isinstance(answer, Pending):
            reply = route.frame(answer, correlation_id)
            route.requests.durations.add(connection.now_ns() - connection.since_ns)
            return reply
    except CloseConnection:
        raise
    except Exception as error:
        return _failure(route, bound.context, request, correlation_id, error)
    slot = AnswerSlot(connection, parks=answer.parks, requests=route.requests)
    answer.on_complete(lambda response: _fill(slot, bound, response, correlation_id))
    return slot


def _unsupported_api_versions(correlation_id: int) -> Reply:
    """The answer to an ApiVersions request in a version we do not know.

    Always version 0 with exactly one entry: the client asks again with the maximum in it (KIP-511).
    """
    from shareq.protocol.generated.api_versions import ApiVersion, ApiVersionsResponse

    served = HANDLERS[ApiKey.API_VERSIONS].served
    entry = ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=served.first, max_version=served.last)
    response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[entry])
    out = bytearray(_SIZE_AND_CORRELATION.size)
    response.encode_into(out, 0)
    _SIZE_AND_CORRELATION.pack_into(out, 0, len(out) - 4, correlation_id)
    return out


def _fill(slot: AnswerSlot, bound: BoundRoute, response: Message | None, correlation_id: int) -> None:
    """Put a response that came later into its place."""
    if response is None:
        slot.fill(None)
        return
    try:
        frame = bound.route.frame(response, correlation_id)
    except Exception:
        connection = bound.context.connection
        logger.exception("%s: the %s response cannot be written", connection, bound.route)
        slot.fill(None)
        connection.close(f"internal error in {bound.route}")
        return
    slot.fill(frame)


def _failure(
    route: Route, context: RequestContext, request: Message, correlation_id: int, error: Exception
) -> bytearray:
    """Our own fault: one log entry with its traceback, and an answer if the RPC has a place for it."""
    logger.error("%s: %s failed", context.connection, route, exc_info=error)
    if route.failed is not None:
        try:
            reply = route.frame(route.failed(request, ErrorCode.UNKNOWN_SERVER_ERROR), correlation_id)
            route.requests.durations.add(context.connection.now_ns() - context.connection.since_ns)
            return reply
        except Exception:
            logger.exception("%s: no error answer for %s", context.connection, route)
    raise CloseConnection(f"internal error in {route}")


def _top_level_failure(response_class: type[Message]) -> Failed | None:
    """The error answer of an RPC whose response begins with its own error code."""
    if "error_code" not in response_class.__slots__:
        return None
    return lambda _request, error: response_class(error_code=error)  # type: ignore[call-arg]
