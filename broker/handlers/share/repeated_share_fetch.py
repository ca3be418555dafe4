"""The short path for a ShareFetch that is like the previous one on its connection, and can only wait.

A member that gets no records repeats its request; only the correlation id and the session's epoch differ. Such frames
are compared instead of parsed. If all partitions of the session are quiet, the request is parked at once, and nearly
always answered by a frame made in advance. Every other request takes the ordinary path; a test sends the same requests
on both paths.

frame key, version, correlation id | head: the rest up to the epoch | epoch | tail: limits, no topics, no tags
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from shareq.broker.dispatch.dispatcher import fill
from shareq.broker.dispatch.route import SIZE_AND_CORRELATION, BoundRoute
from shareq.broker.handlers.shared.fetch_bound import most_bytes
from shareq.broker.handlers.shared.share_fetch_response import share_fetch_response
from shareq.broker.network.answers import FALL_BACK, AnswerSlot, Buffer, FallBack
from shareq.broker.share.core.sessions import ShareFetchContext
from shareq.broker.share.fetch import FetchedPartition, ShareFetch, ShareFetchParams
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.share import INITIAL_EPOCH, AcquireMode

MOST_BYTES: Final = 512  # of a request that is remembered

_BODY_AT: Final = 8  # behind key, version and correlation id
_TAIL_BYTES: Final = {1: 23, 2: 25}  # by version
_EPOCH_BYTES: Final = 4
_epoch_of: Final = Struct(">i").unpack_from
_MODES: Final = {mode.value: mode for mode in AcquireMode}


class RepeatedShareFetch:
    """The last ShareFetch of one version on one connection that only continues its session. Belongs to a
    `BoundRoute`.
    """

    __slots__ = (
        "_bound",
        "_context",
        "_correlation_id",
        "_empty",
        "_fetch",
        "_head",
        "_lock_ms",
        "_params",
        "_session",
        "_slot",
        "_tail",
        "_tail_at",
        "_watches",
    )

    def __init__(self, bound: BoundRoute) -> None:
        self._bound = bound
        self._context = bound.context
        self._params: ShareFetchParams | None = None
        self._head = self._tail = b""
        self._tail_at = 0
        self._empty: Buffer = b""  # the answer's frame without partitions, with this duration of locks
        self._lock_ms = -1
        self._watches = False  # True once it watches for the end of the connection
        # The one request that waits: the connection handles no later one meanwhile.
        self._fetch: ShareFetch | None = None
        self._session: ShareFetchContext | None = None
        self._slot: AnswerSlot | None = None
        self._correlation_id = 0

    def handle(self, frame: bytes, correlation_id: int) -> AnswerSlot | FallBack:
        """Let the request wait if it is like the previous one and all its partitions are quiet; otherwise return
        FALL_BACK.
        """
        params, tail_at = self._params, self._tail_at
        if params is None or frame[tail_at:] != self._tail or frame[_BODY_AT : tail_at - _EPOCH_BYTES] != self._head:
            return FALL_BACK
        (epoch,) = _epoch_of(frame, tail_at - _EPOCH_BYTES)
        waiting = self._context.services.share.wait(params, epoch)
        if waiting is None:
            return FALL_BACK
        bound = self._bound
        if not self._watches:
            self._watches = True
            self._context.connection.on_close(self._lost)
        self._session, self._fetch = waiting
        self._correlation_id = correlation_id
        slot = self._slot = AnswerSlot(self._context.connection, parks=True, requests=bound.requests)
        self._fetch.pending.on_complete(self._answer)
        return slot

    def learn(self, frame: bytes, request: ShareFetchRequest) -> None:
        """Remember a request that was handled on the ordinary path, if it only continues to fetch its session's
        partitions.
        """
        services, size = self._context.services, _TAIL_BYTES.get(self._bound.route.version)
        if request.topics or request.forgotten_topics_data or request.is_renew_ack or request.unknown_tags:
            return
        if size is None or len(frame) > MOST_BYTES or services.authorizer is not None:
            return
        mode = _MODES.get(request.share_acquire_mode)
        if mode is None or min(request.max_wait_ms, request.min_bytes, request.max_bytes, request.max_records) <= 0:
            return
        if request.share_session_epoch <= INITIAL_EPOCH or not request.group_id or not request.member_id:
            return
        self._tail_at = len(frame) - size
        self._tail, self._head = frame[self._tail_at :], frame[_BODY_AT : self._tail_at - _EPOCH_BYTES]
        self._params = ShareFetchParams(
            group_id=request.group_id,
            member_id=request.member_id,
            mode=mode,
            max_wait_ms=request.max_wait_ms,
            min_bytes=request.min_bytes,
            max_bytes=most_bytes(self._context, request.max_bytes),
            max_records=request.max_records,
            batch_size=request.batch_size,
        )

    def _answer(self, fetched: list[FetchedPartition]) -> None:
        session, slot = self._session, self._slot
        assert session is not None, "this fetch waits in it"
        assert slot is not None, "its answer is filled once"
        self._fetch = self._session = self._slot = None
        try:
            selected = session.select(fetched)
            if selected:
                self._fill(slot, selected)
            else:
                slot.fill(self._without_partitions(session.session.group_id))
        except Exception as error:
            self._context.failed(error)

    def _fill(self, slot: AnswerSlot, selected: list[FetchedPartition] | ErrorCode) -> None:
        if isinstance(selected, ErrorCode):
            response = ShareFetchResponse(error_code=selected)
        else:
            assert self._params is not None, "learned"
            response = share_fetch_response(self._context, self._params.group_id, selected, {})
        fill(slot, self._bound, self._correlation_id, response)

    def _without_partitions(self, group_id: str) -> Buffer:
        lock_ms = self._context.services.configs.share_group(group_id).record_lock_duration_ms
        if lock_ms != self._lock_ms:
            response = share_fetch_response(self._context, group_id, [], {})
            self._empty, self._lock_ms = bytes(self._bound.route.frame(response, self._correlation_id)), lock_ms
        frame = bytearray(self._empty)
        SIZE_AND_CORRELATION.pack_into(frame, 0, len(frame) - 4, self._correlation_id)
        return frame

    def _lost(self) -> None:
        if self._fetch is not None:
            self._fetch.cancel()
            self._fetch = self._session = self._slot = None
