"""The audit log: every decision of the authorizer, however many a request needs. Pure: the clock is an argument.

One request may name 200,000 topics. Each of the first decisions in a turn of the loop has its own line; the others
are collected, and follow in lines of a hundred resources, a few lines in each turn. None is left out, unless the
operator limits the lines about one client.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Final, NamedTuple

from shareq.broker.foundation.bounded_log import AUDIT_LOG, BoundedLogs, cut
from shareq.broker.foundation.environment import Clock

MOST_SINGLE: Final = 20
"""The most decisions of one turn that have their own lines."""

NAMES_IN_LINE: Final = 100
LINES_IN_TURN: Final = 50
_BACKLOG_SHARE: Final = 8  # this part of the waiting decisions is written in a turn, if that is more

logger = logging.getLogger(AUDIT_LOG)


class Asked(NamedTuple):
    """The client and operation of an authorization: the same for many resources of one request."""

    allowed: bool
    principal: str
    client_address: str
    client_id: str | None
    operation: str
    resource_type: str


class AuditLog:
    """The log of decisions, as `shareq.authorizer`: denials at INFO, permissions at DEBUG.

    `most` limits the lines about one user and address in a minute, separately for each of the two; None means no
    limit.
    """

    def __init__(self, clock: Clock, most: int | None) -> None:
        self._clock = clock
        self._bound = None if most is None else BoundedLogs(clock, most=most, most_alike=most, most_clients=1_000)
        self._single = 0
        self._is_scheduled = False
        self._collecting: dict[Asked, list[str]] = {}
        self._waiting: deque[tuple[Asked, list[str]]] = deque()

    def log(
        self,
        resource: str,
        allowed: bool,
        principal: str,
        client_address: str,
        client_id: str | None,
        operation: str,
        resource_type: str,
    ) -> None:
        """Log one decision: the requested operation on the resource."""
        asked = Asked(allowed, principal, client_address, client_id, operation, resource_type)
        if not logger.isEnabledFor(_level(asked)):
            return
        if not self._is_scheduled:
            self._is_scheduled = True
            self._clock.call_soon(self._next_turn)
        if self._single < MOST_SINGLE and not self._waiting:
            self._single += 1
            self._write(asked, [resource])
            return
        names = self._collecting.get(asked)
        if names is None:
            names = self._collecting[asked] = []
            self._waiting.append((asked, names))
        names.append(resource)
        if len(names) == NAMES_IN_LINE:
            del self._collecting[asked]

    def flush(self) -> None:
        """Write all waiting decisions, because the broker stops."""
        self._write_waiting(len(self._waiting))

    def _next_turn(self) -> None:
        self._is_scheduled = False
        self._single = 0
        self._write_waiting(max(LINES_IN_TURN, len(self._waiting) // _BACKLOG_SHARE))
        if self._waiting:
            self._is_scheduled = True
            self._clock.call_soon(self._next_turn)

    def _write_waiting(self, most: int) -> None:
        waiting = self._waiting
        for _ in range(min(most, len(waiting))):
            asked, names = waiting.popleft()
            if self._collecting.get(asked) is names:
                del self._collecting[asked]
            self._write(asked, names)

    def _write(self, asked: Asked, names: list[str]) -> None:
        verdict = "allowed" if asked.allowed else "denied"
        shown = [str(cut(name)) for name in names]
        principal = cut(asked.principal)
        fields: dict[str, object] = {
            "event": verdict,
            "principal": principal,
            "client_address": asked.client_address,
            "client_id": cut(asked.client_id),
            "operation": asked.operation,
            "resource_type": asked.resource_type,
        }
        fields |= {"resource": shown[0]} if len(shown) == 1 else {"resources": shown}
        text = "%s from %s (client id %r) is %s %s on %s:%s"
        arguments = (
            principal,
            asked.client_address,
            cut(asked.client_id),
            verdict,
            asked.operation,
            asked.resource_type,
            ", ".join(shown),
        )
        if self._bound is None:
            logger.log(_level(asked), text, *arguments, extra={"fields": fields})
        else:
            client = f"{asked.principal} {asked.client_address}"
            self._bound.log(logger, client, asked.allowed, _level(asked), text, *arguments, **fields)


def _level(asked: Asked) -> int:
    return logging.DEBUG if asked.allowed else logging.INFO
