"""Costs of requests under quotas: they are counted with each request, and paid for by not reading from the
connection.

As in Apache Kafka (KIP-219), the answer is sent at once and has the time for which the client should wait. For this
time the broker does not read from the connection, even if the client does not wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from shareq.broker.dispatch.rows import Rows
from shareq.broker.foundation.pending import Pending
from shareq.broker.network.answers import FALL_BACK, AnswerSlot, FallBack
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.primitives import Message

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext
    from shareq.broker.dispatch.route import BoundRoute, CountedFastPath, FrameShortcut
    from shareq.broker.foundation.loop.turns import Turn
    from shareq.broker.network.connection import Connection
    from shareq.broker.quotas.clients import Account
    from shareq.broker.services import Services
    from shareq.protocol.generated.share_fetch import ShareFetchResponse


class Metering:
    """The quotas of one broker's requests: it creates their meters, and mutes connections."""

    def __init__(self, services: Services) -> None:
        self.quotas = services.quotas
        self.clock = services.env.clock

    def begin(self, context: RequestContext) -> Meter:
        """Return a meter for a request of this client, whose handling starts now."""
        return Meter(self, context, self.clock.now_ns())

    def fast_path(self, bound: BoundRoute) -> FrameShortcut:
        """Return the connection's fast path, with its requests counted for quotas. Only Produce has one; others take
        the ordinary path.
        """
        metered: FrameShortcut = _ORDINARY_WAY
        if bound.route.api_key is ApiKey.PRODUCE:
            metered = MeteredFastPath(self, bound.context, cast("CountedFastPath", bound.fast_path))
        bound.metered_fast_path = metered
        return metered

    def mute(self, connection: Connection, throttle_ms: int) -> None:
        """Stop reading from a connection for so many milliseconds."""
        if throttle_ms <= 0 or connection.closed:
            return
        clock, quotas = self.clock, self.quotas

        def over() -> None:
            quotas.muted -= 1
            forget()
            connection.unmute()

        def lost() -> None:
            quotas.muted -= 1
            timer.cancel()

        quotas.muted += 1
        connection.mute()
        timer = clock.call_at(clock.now_ms() + throttle_ms, over)
        forget = connection.on_close(lost)


class _OrdinaryWay:
    """The fast path of an RPC that has none: every request takes the ordinary path."""

    def handle(self, _frame: bytes, _correlation_id: int) -> FallBack:
        return FALL_BACK


_ORDINARY_WAY: Final = _OrdinaryWay()


class MeteredFastPath:
    """A fast path of one connection whose requests are counted for quotas.

    It counts as a `Meter` does, but once for each read of the connection, and makes an exact check only if the quota
    may be exceeded.
    """

    __slots__ = ("_account", "_connection", "_context", "_fast_path", "_metering", "_now_ns", "_quotas", "_since_ns")

    def __init__(self, metering: Metering, context: RequestContext, fast_path: CountedFastPath) -> None:
        self._metering = metering
        self._context = context
        self._connection = context.connection
        self._fast_path = fast_path
        self._quotas = metering.quotas
        self._now_ns = metering.clock.now_ns
        self._since_ns = -1  # of the read of the connection that was counted last
        self._account = context.account

    def handle(self, frame: bytes, correlation_id: int) -> AnswerSlot | FallBack | None:
        """Handle the frame on the fast path; write the client's throttle time, if any, into the answer."""
        now_ns = self._now_ns
        began_ns = now_ns()
        reply = self._fast_path.handle(frame, correlation_id)
        if reply is FALL_BACK:
            return reply
        account = self._account
        if self._since_ns != self._connection.since_ns or account.generation != self._quotas.generation:
            account = self._begin()
        throttle_ms = 0
        requests, producer = account.requests, account.producer
        if requests is not None:
            requests.pending += now_ns() - began_ns
            if requests.pending > requests.room:
                throttle_ms = requests.throttle_ms()
        if producer is not None:
            producer.pending += len(frame)
            if producer.pending > producer.room:
                throttle_ms = max(throttle_ms, producer.throttle_ms())
        if throttle_ms:
            if reply is not None:
                self._fast_path.say_throttled(reply, throttle_ms)
            self._metering.mute(self._connection, throttle_ms)
        return reply

    def _begin(self) -> Account:
        """Begin to count, with the first request of a read; the other requests of the read have the same time."""
        account = self._account = self._context.account
        self._since_ns = self._connection.since_ns
        now_ms = self._metering.clock.now_ms()
        for allowance in (account.requests, account.producer):
            if allowance is not None:
                allowance.begin(now_ms)
        return account


class Meter:
    """The cost of one request."""

    __slots__ = ("_context", "_metering", "_since_ns", "_spent_ns")

    def __init__(self, metering: Metering, context: RequestContext, since_ns: int) -> None:
        self._metering = metering
        self._since_ns = since_ns  # when its handling, or its turn, began
        self._spent_ns = 0  # in turns before
        self._context = context

    def handled(self, bound: BoundRoute, size: int, answer: Message | Pending[Message | None] | None) -> None:
        """Count a handled request of so many bytes, with its answer, None if there is none."""
        now_ms = self._metering.clock.now_ms()
        throttle_ms = self._used()
        if bound.route.api_key is ApiKey.PRODUCE:
            throttle_ms = max(throttle_ms, self._context.account.produced(size, now_ms))
        self._mute(throttle_ms)
        if isinstance(answer, Pending):
            answer.on_complete(lambda response: self._answered(bound, response, throttle_ms))
        else:
            self._answered(bound, answer, throttle_ms)

    def metered(self, turn: Turn) -> Turn:
        """Return `turn` with the time of each call counted.

        The time until the request has its first answer is charged then, the rest after the last turn.
        """
        clock = self._metering.clock

        def counted() -> bool:
            self._since_ns = clock.now_ns()
            more = turn()
            if more:
                self.pause()
            else:
                self._mute(self._used())
            return more

        return counted

    def pause(self) -> None:
        """Count the time until now; the time until the next turn does not count."""
        self._spent_ns += self._metering.clock.now_ns() - self._since_ns

    def _used(self) -> int:
        """Charge the use so far. Return for how many milliseconds to stop reading from the connection."""
        clock = self._metering.clock
        now_ns = clock.now_ns()
        used_ns, self._spent_ns, self._since_ns = self._spent_ns + now_ns - self._since_ns, 0, now_ns
        return self._context.account.used(used_ns, clock.now_ms())

    def _answered(self, bound: BoundRoute, answer: Message | Rows[Any] | None, muted_ms: int) -> None:
        """Write the throttle time into the answer. The connection has already been muted for `muted_ms`."""
        if answer is None:
            return
        response = answer.response if isinstance(answer, Rows) else answer
        own_ms: int = getattr(response, "throttle_time_ms", 0)  # of the handler
        if bound.route.api_key is ApiKey.SHARE_FETCH:
            size = _record_bytes(response)  # type: ignore[arg-type]
            own_ms = max(own_ms, self._context.account.fetched(size, self._metering.clock.now_ms()))
        if own_ms > muted_ms:
            self._mute(own_ms)
        elif muted_ms and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = muted_ms
            return
        if own_ms:
            response.throttle_time_ms = own_ms  # type: ignore[union-attr]

    def _mute(self, throttle_ms: int) -> None:
        self._metering.mute(self._context.connection, throttle_ms)


def _record_bytes(response: ShareFetchResponse) -> int:
    return sum(len(part.records or b"") for topic in response.responses for part in topic.partitions)
