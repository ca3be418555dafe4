"""Dispatch of frames: header -> table row -> codec -> handler -> codec.

There are three kinds of failure. Unreadable bytes or an unsupported RPC close the connection, with one log line. A
mistake of the client is an error code that the handler returns. A fault of our own is logged once, and answered with
UNKNOWN_SERVER_ERROR if the response has a field for it.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from shareq.broker.dispatch.coroutines import begin_for, plain_handler
from shareq.broker.dispatch.route import SIZE_AND_CORRELATION, BoundRoute, Route
from shareq.broker.dispatch.rows import Rows
from shareq.broker.foundation.pending import Pending
from shareq.broker.network.answers import FALL_BACK, AnswerSlot, FrameHandler, Reply
from shareq.broker.network.connection import Connection, close_behind
from shareq.broker.network.counters import Requests
from shareq.broker.network.frames import CloseConnection
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.headers import decode_request_header
from shareq.protocol.primitives import Message

if TYPE_CHECKING:
    from shareq.broker.dispatch.metering import Meter, Metering
    from shareq.broker.foundation.handler_rows import HandlerRow
    from shareq.broker.services import Services

logger = logging.getLogger(__name__)

# int16 key and int16 version read as one number, int32 correlation id: the part of a header every version has
_FIXED: Final = struct.Struct(">Ii")
_API: Final = struct.Struct(">hh")

Answer = Message | Rows[Any]
"""A response of any RPC, as its handler returns it."""

COUNTED_FRAME: Final = 8_192
"""The frame size in bytes from which a request's elements are counted before it is read, because there may be
thousands.
"""

# Limits of what is kept for one connection: longer headers, and further RPCs and versions, are looked up each time.
MOST_HEADER_BYTES: Final = 1024
MOST_ROUTES: Final = 64


class Dispatcher:
    """The handling of frames from all connections of a broker. `requests` counts all requests, by RPC."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._routes: dict[int, Route] = {}
        self.handlers = services.ground.handlers
        self.quotas = services.quotas
        self.requests: dict[ApiKey, Requests] = {}

    def handler_for(self, connection: Connection) -> FrameHandler:
        return _ConnectionDispatch(self, connection).handle_frame

    def bind(self, connection: Connection, frame: bytes, api: int, api_key: int, version: int) -> BoundRoute:
        """Return the route of an RPC, bound to a connection. `api` has key and version as one number. Raise
        CloseConnection.
        """
        route = self._routes.get(api)
        if route is None:
            known = self._served(api_key, version)
            row = self.handlers[known]
            route = self._routes[api] = Route(row, known, version, self.requests_of(known), plain_handler)
        try:
            header = decode_request_header(frame)
        except MalformedMessage as error:
            raise CloseConnection(f"{route} request header cannot be read: {error}") from error
        context = route.context_class(self._services, connection, version, header.client_id)
        body = header.body_offset
        return BoundRoute(route, context, frame[_FIXED.size : body], body)

    @cached_property
    def metering(self) -> Metering:
        """Return the meter of requests' costs, which is created with the first request to which a quota may apply."""
        from shareq.broker.dispatch.metering import Metering

        return Metering(self._services)

    def requests_of(self, api_key: ApiKey) -> Requests:
        """Return the counters of an RPC."""
        return self.requests.setdefault(api_key, Requests())

    def _served(self, api_key: int, version: int) -> ApiKey:
        """Return the RPC. Raise CloseConnection if it is not served in this version."""
        try:
            known = ApiKey(api_key)
        except ValueError:
            raise CloseConnection(f"unknown API key {api_key} (version {version})") from None
        row = self.handlers.get(known)
        if row is None or (row.feature and not self._services.metadata.features.get(row.feature, 0)):
            raise CloseConnection(f"API key {api_key} ({known.name}) is not served")
        if version not in row.served:
            raise CloseConnection(
                f"{known.name} version {version} is not served, only {row.served.first} to {row.served.last}"
            )
        return known


class _ConnectionDispatch:
    """The dispatch of one connection's frames, which keeps its look-ups for the connection's later requests."""

    __slots__ = ("_connection", "_dispatcher", "_quotas", "_routes")

    def __init__(self, dispatcher: Dispatcher, connection: Connection) -> None:
        self._dispatcher = dispatcher
        self._connection = connection
        self._quotas = dispatcher.quotas
        self._routes: dict[int, BoundRoute] = {}  # by key and version as one number

    def handle_frame(self, frame: bytes) -> Reply:
        """Handle one request frame, without its size field. Raise CloseConnection."""
        if len(frame) < _FIXED.size:
            raise CloseConnection(f"request header of {len(frame)} bytes")
        api, correlation_id = _FIXED.unpack_from(frame)
        bound = self._routes.get(api)
        metered = self._quotas.active
        if bound is not None and bound.fast_path is not None:
            if metered:
                fast_path = bound.metered_fast_path or self._dispatcher.metering.fast_path(bound)
                reply = fast_path.handle(frame, correlation_id)
            else:
                reply = bound.fast_path.handle(frame, correlation_id)
            if reply is not FALL_BACK:
                return reply
        connection = self._connection
        if bound is None or frame[_FIXED.size : bound.body] != bound.tail:
            api_key, version = _API.unpack_from(frame)
            if api_key == ApiKey.API_VERSIONS and version not in self._dispatcher.handlers[ApiKey.API_VERSIONS].served:
                requests = self._dispatcher.requests_of(ApiKey.API_VERSIONS)
                requests.failed(ErrorCode.UNSUPPORTED_VERSION)
                requests.durations.add(connection.now_ns() - connection.since_ns)
                return _unsupported_api_versions(self._dispatcher.handlers, correlation_id)
            bound = self._dispatcher.bind(connection, frame, api, api_key, version)
            self._remember(api, bound)
        if len(frame) < COUNTED_FRAME:
            meter = self._dispatcher.metering.begin(bound.context) if metered else None
            return self._decoded_and_answered(bound, frame, correlation_id, meter)
        refuse = bound.route.refusal_by_size
        if refuse is not None and (refused := refuse(bound.context, len(frame))) is not None:
            return bound.route.frame(refused, correlation_id)
        meter = self._dispatcher.metering.begin(bound.context) if metered else None
        try:
            request = bound.route.read_few(frame, bound.body)
        except MalformedMessage as error:
            raise CloseConnection(bound.context.unreadable(bound.route, error)) from error
        if request is not None:
            return self._answer(bound, frame, request, correlation_id, meter)
        return self._handle_in_turns(bound, frame, correlation_id, meter)

    def _decoded_and_answered(self, bound: BoundRoute, frame: bytes, correlation_id: int, meter: Meter | None) -> Reply:
        try:
            request, _ = bound.route.decode(frame, bound.route.version, bound.body)
        except MalformedMessage as error:
            raise CloseConnection(bound.context.unreadable(bound.route, error)) from error
        return self._answer(bound, frame, request, correlation_id, meter)

    def _answer(
        self, bound: BoundRoute, frame: bytes, request: Message, correlation_id: int, meter: Meter | None
    ) -> Reply:
        """Call the handler of the request. Return the answer's frame, or the slot in which it will be."""
        connection, route = self._connection, bound.route
        try:
            answer = route.handle(bound.context, request)
            if bound.fast_path is not None:
                bound.fast_path.learn(frame, request)
            if meter is not None:
                meter.handled(bound, len(frame), answer)
            if isinstance(answer, Pending) and answer.done:
                answer = answer.value  # an answer that has already arrived needs no slot and no further tick
            if answer is None:
                route.requests.unanswered += 1
                return None
            if not isinstance(answer, Pending):
                reply = route.frame(answer, correlation_id)
                route.requests.durations.add(connection.now_ns() - connection.since_ns)
                return reply
        except CloseConnection:
            raise
        except Exception as error:
            return route.failure(bound.context, request, correlation_id, error)
        slot = AnswerSlot(connection, parks=answer.parks, requests=route.requests)
        answer.on_complete(partial(fill, slot, bound, correlation_id))
        return slot

    def _handle_in_turns(self, bound: BoundRoute, frame: bytes, correlation_id: int, meter: Meter | None) -> AnswerSlot:
        """Have a long request read, handled and answered in turns; return the slot of its answer."""
        from shareq.broker.dispatch.long_requests import LongRequest

        slot = AnswerSlot(self._connection, parks=True, requests=bound.requests)
        LongRequest(bound, correlation_id, slot, meter).begin(frame)
        return slot

    def _remember(self, api: int, bound: BoundRoute) -> None:
        """Keep the bound route of this RPC for the next request with the same header."""
        if len(bound.tail) > MOST_HEADER_BYTES:
            return
        if len(self._routes) >= MOST_ROUTES:
            self._routes.clear()
        self._routes[api] = bound


def _unsupported_api_versions(handlers: Mapping[ApiKey, HandlerRow], correlation_id: int) -> Reply:
    """Return the answer to an ApiVersions request in an unknown version.

    The answer has version 0 and a single entry, whose maximum version the client then uses (KIP-511).
    """
    from shareq.protocol.generated.api_versions import ApiVersion, ApiVersionsResponse

    served = handlers[ApiKey.API_VERSIONS].served
    entry = ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=served.first, max_version=served.last)
    response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[entry])
    out = bytearray(SIZE_AND_CORRELATION.size)
    response.encode_into(out, 0)
    SIZE_AND_CORRELATION.pack_into(out, 0, len(out) - 4, correlation_id)
    return out


def fill(slot: AnswerSlot, bound: BoundRoute, correlation_id: int, response: Answer | None) -> None:
    """Put a response that was made later into its slot."""
    if response is None:
        slot.fill(None)
        return
    if isinstance(response, Rows):
        slot.fill(bound.route.frame_of_rows(response, correlation_id))
        return
    if bound.context.services.turns.in_turn:  # it was long to make, and may be long to write
        from shareq.broker.dispatch.long_requests import write_long

        begin_for(bound.context, write_long(bound, response, slot, correlation_id))
        return
    try:
        frame = bound.route.frame(response, correlation_id)
    except Exception:
        connection = bound.context.connection
        logger.exception("%s: the %s response cannot be written", connection, bound.route)
        close_behind(connection, slot, f"internal error in {bound.route}")
        return
    slot.fill(frame)
