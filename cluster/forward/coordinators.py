"""The coordinators of a cluster's groups and transactions, and the connections on which they are asked.

    ask ---> the broker that coordinates the key: remembered, or found by FindCoordinator
               |
               +-- on the first connection to it that has nothing in flight: a JoinGroup waits for other members, whose
                   requests must not wait behind it

A client's connection has one request at a time under way, so a broker gets at most as many of these connections as it
would have had from the clients themselves. Idle ones are closed by the broker.
"""

from __future__ import annotations

from enum import IntEnum
from heapq import heappop, heappush
from typing import Final, NamedTuple

from shareq.broker.dispatch.response_errors import Reader, error_reader
from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.ports import Failure, Link, LinkFailure, Purpose
from shareq.protocol.errors import ErrorCode, error_of
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.primitives import Message

MOST_KNOWN: Final = 10_000
"""The most keys whose coordinator is remembered. The one that was found first is forgotten in favour of a new one."""
MOST_ASKED: Final = 2
"""The number of brokers that are asked, if each answers NOT_COORDINATOR; the client gets the last answer."""
_KEYS_FROM: Final = 4
_MOVED: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


class Kind(IntEnum):
    """The kinds of coordinators, as FindCoordinator numbers them."""

    GROUP = 0
    TRANSACTION = 1


class _Coordinated(NamedTuple):
    kind: Kind
    key: str


class _Lanes:
    """The connections to one broker, by number. The lowest free number is taken, so that connections with high numbers
    stay idle and are closed.
    """

    __slots__ = ("_free", "_next")

    def __init__(self) -> None:
        self._free: list[int] = []
        self._next = 0

    def take(self) -> int:
        if self._free:
            return heappop(self._free)
        self._next += 1
        return self._next - 1

    def give_back(self, lane: int) -> None:
        heappush(self._free, lane)


class Coordinators:
    """The cluster's coordinators, as a node asks them for its clients."""

    def __init__(self, link: Link) -> None:
        self._link: Final = link
        self._known: dict[_Coordinated, int] = {}
        self._lanes: dict[int, _Lanes] = {}
        self._readers: dict[type[Message], Reader] = {}

    async def ask(
        self,
        kind: Kind,
        key: str,
        message: Message,
        *,
        version: int,
        lowest: int | None = None,
        timeout_ms: int | None = None,
    ) -> Message | ErrorCode:
        """Send a request to the broker that coordinates the key; return its answer, or an error code if there is none.

        If the broker answers that it is not the coordinator any more, the new one is found and asked. With
        COORDINATOR_NOT_AVAILABLE the request may have been handled or not; clients ask again.
        """
        coordinated = _Coordinated(kind, key)
        asked = 0
        while True:
            node = await self._find(coordinated)
            if isinstance(node, ErrorCode):
                return node
            outcome = await self.send(node, message, version=version, lowest=lowest, timeout_ms=timeout_ms)
            if isinstance(outcome, LinkFailure):
                self._known.pop(coordinated, None)
                return _error_of(outcome)
            asked += 1
            errors = self._errors_in(outcome)
            if not _MOVED.isdisjoint(errors):
                self._known.pop(coordinated, None)
            if ErrorCode.NOT_COORDINATOR not in errors or asked >= MOST_ASKED:
                return outcome

    def send(
        self, node: int, message: Message, *, version: int, lowest: int | None = None, timeout_ms: int | None = None
    ) -> Pending[Message | LinkFailure]:
        """Send a request on a connection that has none in flight, in a version from `lowest` (by default `version`) to
        `version`.
        """
        lanes = self._lanes.setdefault(node, _Lanes())
        lane = lanes.take()
        answer = self._link.send(
            node,
            message,
            purpose=Purpose.COORDINATOR,
            timeout_ms=timeout_ms,
            min_version=version if lowest is None else lowest,
            max_version=version,
            lane=lane,
        )
        answer.on_complete(lambda _: lanes.give_back(lane))
        return answer

    async def _find(self, coordinated: _Coordinated) -> int | ErrorCode:
        known = self._known.get(coordinated)
        if known is not None:
            return known
        request = FindCoordinatorRequest("", coordinated.kind, [coordinated.key])
        answer = await self._link.send(None, request, min_version=_KEYS_FROM)
        if isinstance(answer, LinkFailure):
            return _error_of(answer)
        assert isinstance(answer, FindCoordinatorResponse)
        row = next((each for each in answer.coordinators if each.key == coordinated.key), None)
        if row is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if row.error_code:
            return error_of(row.error_code)
        if len(self._known) >= MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[coordinated] = row.node_id
        return row.node_id

    def _errors_in(self, answer: Message) -> list[int]:
        reader = self._readers.get(type(answer))
        if reader is None:
            reader = self._readers[type(answer)] = error_reader(type(answer))
        return reader(answer)


def _error_of(failure: LinkFailure) -> ErrorCode:
    """Return the client's error code: COORDINATOR_NOT_AVAILABLE, on which it asks again, unless the broker does not
    serve the API.
    """
    unsupported = failure.failure is Failure.UNSUPPORTED
    return ErrorCode.UNSUPPORTED_VERSION if unsupported else ErrorCode.COORDINATOR_NOT_AVAILABLE
