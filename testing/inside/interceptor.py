"""The interceptor between a test broker's connections and its dispatcher: faults by rule, and the transcript.

A request that is held or delayed, or whose answer is dropped, blocks its connection as any slow request does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shareq.broker.broker import Broker
from shareq.broker.dispatch.route import BoundRoute
from shareq.broker.network.answers import AnswerSlot, Buffer, FrameHandler, Reply
from shareq.broker.network.connection import Connection, close_behind
from shareq.broker.network.frames import CloseConnection
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode, MalformedMessage
from shareq.protocol.headers import RequestHeader, decode_request_header
from shareq.testing.inside.refusals import can_refuse, must_ask_again, refused
from shareq.testing.inside.rules import Rule, names_group, names_topic
from shareq.testing.inside.transcript import Entry, Transcript

logger = logging.getLogger("shareq.testing")

WHY: Final = "a fault of shareq.testing"


class _Relay:
    """A callback that passes on an answer when it comes."""

    __slots__ = ("_then",)

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def on_filled(self) -> None:
        self._then()


@dataclass(slots=True)
class _Active:
    """An active rule.

    `seen` counts the requests that match, `hits` those to which it was applied; `held` are functions that release
    waiting ones.
    """

    rule: Rule
    seen: int
    hits: int
    held: list[Callable[[], None]]


@dataclass(slots=True)
class _Call:
    """A request in progress: its connection, the next handler, and its line of the transcript."""

    connection: Connection
    handle: FrameHandler
    frame: bytes
    entry: Entry
    header: RequestHeader | None


class Interceptor:
    """The handlers of all connections of one broker.

    `on_crash` ends the broker as a crash does. For the loop's thread.
    """

    def __init__(self, transcript: Transcript, on_crash: Callable[[], None]) -> None:
        self.transcript = transcript
        self._on_crash = on_crash
        self._rules: dict[int, _Active] = {}
        self._broker: Broker | None = None

    # -- what the test says

    def add(self, rule: Rule) -> None:
        self._rules[rule.number] = _Active(rule, 0, 0, [])

    def remove(self, number: int) -> int:
        """Release the requests that the rule holds, and forget it; return how often it was applied."""
        active = self._rules.pop(number, None)
        if active is None:
            return 0
        self._release(active)
        return active.hits

    def release(self, number: int) -> int:
        """Release the requests that a rule holds now; return their number."""
        active = self._rules.get(number)
        return 0 if active is None else self._release(active)

    def release_all(self) -> None:
        """Forget all rules."""
        for number in list(self._rules):
            self.remove(number)

    def state(self, number: int) -> tuple[int, int]:
        """Return how often a rule was applied, and how many requests it holds."""
        active = self._rules.get(number)
        return (0, 0) if active is None else (active.hits, len(active.held))

    def states(self) -> list[tuple[int, int]]:
        """Return the number of every rule, and how often it was applied."""
        return [(number, active.hits) for number, active in self._rules.items()]

    def _release(self, active: _Active) -> int:
        held, active.held = active.held, []
        for go in held:
            go()
        return len(held)

    # -- connections

    def handlers(self, broker: Broker) -> Callable[[Connection], FrameHandler]:
        """Return the function that makes a connection's handler, for `Seams.handlers`."""
        self._broker = broker
        self.transcript.topic_name = self._topic_name
        return self._handler_for

    def _topic_name(self, topic_id: bytes) -> str | None:
        image = self._the_broker().services.metadata.topic_by_id(topic_id)
        return None if image is None else image.name

    def _the_broker(self) -> Broker:
        assert self._broker is not None
        return self._broker

    def _handler_for(self, connection: Connection) -> FrameHandler:
        inner = self._the_broker().handler_for(connection)

        def handle(frame: bytes) -> Reply:
            return self._handle(connection, inner, frame)

        return handle

    def _handle(self, connection: Connection, inner: FrameHandler, frame: bytes) -> Reply:
        try:
            header: RequestHeader | None = decode_request_header(frame)
        except MalformedMessage:
            header = None
        entry = self.transcript.begin(connection, frame, header)
        call = _Call(connection, inner, frame, entry, header)
        try:
            active = self._meant(call) if self._rules else None
            return self._watched(call, inner(frame)) if active is None else self._apply(active, call)
        except CloseConnection as error:
            entry.close(str(error), connection.now_ns())
            raise

    # -- rules

    def _meant(self, call: _Call) -> _Active | None:
        """Return the first rule that matches a request and, by the number of matches, applies to it."""
        header = call.header
        if header is None:
            return None
        bound: BoundRoute | None = None
        for active in self._rules.values():
            rule = active.rule
            if rule.api != header.api_key or rule.client_id not in (None, header.client_id):
                continue
            if rule.reads_body:
                bound = bound or self._bound(call)
            if rule.reads_body and not self._names(rule, bound, call):
                continue
            active.seen += 1
            if rule.counts(active.seen):
                active.hits += 1
                return active
        return None

    def _bound(self, call: _Call) -> BoundRoute:
        header = call.header
        assert header is not None
        api = int.from_bytes(call.frame[:4], "big")
        dispatcher = self._the_broker().dispatcher
        return dispatcher.bind(call.connection, call.frame, api, header.api_key, header.api_version)

    def _names(self, rule: Rule, bound: BoundRoute | None, call: _Call) -> bool:
        assert bound is not None
        try:
            request, _ = bound.route.decode(call.frame, bound.route.version, bound.body)
        except MalformedMessage:
            return False
        if rule.group is not None and not names_group(request, rule.group):
            return False
        if rule.topic is None:
            return True
        image = self._the_broker().services.metadata.topic(rule.topic)
        return names_topic(request, rule.topic, None if image is None else image.topic_id)

    def _apply(self, active: _Active, call: _Call) -> Reply:
        rule = active.rule
        call.entry.fault = rule.action if rule.action != "error" else ErrorCode(rule.code).name
        logger.info("%s: %s: %s", call.connection, rule.api.name, call.entry.fault)
        match rule.action:
            case "error":
                return self._refuse(active, call)
            case "disconnect":
                raise CloseConnection(WHY)
            case "drop_answer":
                return self._drop_answer(call)
            case "delay":
                clock = self._the_broker().services.env.clock
                return self._later(
                    call, lambda go: clock.call_at(clock.now_ms() + round(rule.seconds * 1000), go).cancel
                )
            case "hold":
                return self._later(call, lambda go: self._hold(active, go))
            case "hold_answer":
                return self._hold_answer(active, call)
            case "crash":
                self._on_crash()
                raise CloseConnection(WHY)
            case "crash_after":
                return self._crash_after(call)

    def _hold(self, active: _Active, go: Callable[[], None]) -> Callable[[], None]:
        active.held.append(go)

        def forget() -> None:
            if go in active.held:
                active.held.remove(go)

        return forget

    def _refuse(self, active: _Active, call: _Call) -> Reply:
        bound, code = self._bound(call), ErrorCode(active.rule.code)
        request, _ = bound.route.decode(call.frame, bound.route.version, bound.body)
        if not can_refuse(bound):
            raise CloseConnection(f"{WHY}: {bound.route} has no place for {code.name}")
        if must_ask_again(request, code):
            active.seen -= 1
            active.hits -= 1
            code = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert call.header is not None
        correlation_id = call.header.correlation_id
        slot = AnswerSlot(call.connection, parks=True)
        answer = refused(bound, request, code)
        answer.on_complete(lambda response: slot.fill(bound.route.frame(response, correlation_id)))
        return self._watched(call, slot)

    def _drop_answer(self, call: _Call) -> Reply:
        """Handle the request, and close the connection instead of answering."""
        outer = AnswerSlot(call.connection, parks=True)

        def dropped(frame: Buffer | None) -> None:
            call.entry.close("the answer was dropped", call.connection.now_ns())
            close_behind(call.connection, outer, WHY)

        self._when_answered(call, call.handle(call.frame), dropped)
        return outer

    def _crash_after(self, call: _Call) -> Reply:
        outer = AnswerSlot(call.connection, parks=True)
        self._when_answered(call, call.handle(call.frame), lambda _frame: self._on_crash())
        return outer

    def _hold_answer(self, active: _Active, call: _Call) -> Reply:
        outer = AnswerSlot(call.connection, parks=True)

        def answered(frame: Buffer | None) -> None:
            call.connection.on_close(self._hold(active, lambda: self._give(call, outer, frame)))

        self._when_answered(call, call.handle(call.frame), answered)
        return outer

    def _later(self, call: _Call, schedule: Callable[[Callable[[], None]], Callable[[], None]]) -> Reply:
        """Handle the request at the scheduled time, unless its client has left by then."""
        outer = AnswerSlot(call.connection, parks=True)

        def go() -> None:
            forget()
            if call.connection.closed:
                return
            try:
                reply = call.handle(call.frame)
            except CloseConnection as error:
                call.entry.close(str(error), call.connection.now_ns())
                close_behind(call.connection, outer, str(error))
            else:
                self._when_answered(call, reply, lambda frame: self._give(call, outer, frame))

        cancel = schedule(go)
        forget = call.connection.on_close(cancel)
        return outer

    def _give(self, call: _Call, outer: AnswerSlot, frame: Buffer | None) -> None:
        call.entry.answer(frame, call.connection.now_ns())
        outer.fill(frame)

    def _when_answered(self, call: _Call, reply: Reply, then: Callable[[Buffer | None], None]) -> None:
        if not isinstance(reply, AnswerSlot):
            then(reply)
        elif reply.filled:
            then(reply.frame)
        else:
            slot = reply
            slot.report_to(_Relay(lambda: then(slot.frame)))

    def _watched(self, call: _Call, reply: Reply) -> Reply:
        """Return the reply, which is noted in the transcript when it comes."""
        entry, connection = call.entry, call.connection
        if not isinstance(reply, AnswerSlot):
            entry.answer(reply, connection.now_ns())
        elif reply.filled:
            entry.answer(reply.frame, connection.now_ns())
        else:
            slot = reply

            def noted() -> None:
                entry.answer(slot.frame, connection.now_ns())
                connection.on_filled()

            slot.report_to(_Relay(noted))
        return reply


def refusable(api: ApiKey) -> bool:
    """Return True if answers of an API have a field for an error."""
    from shareq.broker.dispatch.coroutines import plain_handler
    from shareq.broker.dispatch.route import Route
    from shareq.broker.dispatch.table import HANDLERS
    from shareq.broker.network.counters import Requests

    row = HANDLERS.get(api)
    return row is not None and Route(row, api, row.served.last, Requests(), plain_handler).failed is not None
