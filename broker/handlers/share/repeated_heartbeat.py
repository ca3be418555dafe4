"""The short path for a ShareGroupHeartbeat that repeats an earlier one of its connection, byte for byte.

Nearly all heartbeats do: the member is alive, and there is no news for it. Frames are compared instead of parsed, and
the coordinator is only asked if anything has changed. Every other request, and every error, takes the ordinary path; a
test sends the same requests on both paths.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.dispatch.route import SIZE_AND_CORRELATION, BoundRoute
from shareq.broker.groups.share import LastHeartbeat
from shareq.broker.network.answers import FALL_BACK, Buffer, FallBack
from shareq.broker.security.rights import READ_GROUP
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.share import JOIN_EPOCH

MOST_LEARNED: Final = 10  # the most remembered heartbeats of one connection, 1.2 KB each; a client has one member on it
MOST_BYTES: Final = 512  # of one of them

_BODY_AT: Final = 8  # behind key, version and correlation id


class _Known:
    """A heartbeat, and the frame of its answer, with the interval in it. `last` is set when the heartbeat is first
    repeated.
    """

    __slots__ = ("answer", "interval_ms", "last", "request")

    def __init__(self, request: ShareGroupHeartbeatRequest) -> None:
        self.request = request
        self.last: LastHeartbeat | None = None
        self.interval_ms = -1
        self.answer: Buffer = b""


class RepeatedHeartbeat:
    """The heartbeats of one version and connection. Belongs to a `BoundRoute`."""

    __slots__ = ("_bound", "_connection", "_context", "_durations", "_known", "_metadata")

    def __init__(self, bound: BoundRoute) -> None:
        self._bound = bound
        self._context = bound.context
        self._connection = bound.context.connection
        self._metadata = bound.context.services.metadata
        self._durations = bound.requests.durations
        self._known: dict[bytes, _Known] = {}  # by their bytes behind the correlation id

    def handle(self, frame: bytes, correlation_id: int) -> Buffer | FallBack:
        """Answer the heartbeat if it repeats a known one and nothing has changed for its member; otherwise return
        FALL_BACK.
        """
        known = self._known.get(frame[_BODY_AT:])
        if known is None or not self._metadata.share_groups_enabled:
            return FALL_BACK
        request = known.request
        if not self._context.may(READ_GROUP, request.group_id):
            return FALL_BACK
        share = self._context.services.groups.share
        if known.last is None:
            known.last = share.last(request, self._connection)
        interval_ms = share.repeat(known.last)
        if interval_ms is None:
            return FALL_BACK
        if interval_ms != known.interval_ms:
            response = ShareGroupHeartbeatResponse(
                member_id=request.member_id, member_epoch=request.member_epoch, heartbeat_interval_ms=interval_ms
            )
            known.answer, known.interval_ms = bytes(self._bound.route.frame(response, correlation_id)), interval_ms
        answer = bytearray(known.answer)
        SIZE_AND_CORRELATION.pack_into(answer, 0, len(answer) - 4, correlation_id)
        connection = self._connection
        self._durations.add(connection.now_ns() - connection.since_ns)
        return answer

    def learn(self, frame: bytes, request: ShareGroupHeartbeatRequest) -> None:
        """Remember a heartbeat that was handled on the ordinary path, if it only shows that its member is alive."""
        if request.member_epoch <= JOIN_EPOCH or request.subscribed_topic_names is not None or request.rack_id:
            return
        if len(frame) > MOST_BYTES or self._metadata.hearing is not None:
            return
        if len(self._known) >= MOST_LEARNED:
            self._known.clear()
        self._known[frame[_BODY_AT:]] = _Known(request)
