"""Log lines about connections refused or closed because of their clients' behaviour, limited by client and reason to
a number in each minute.
"""

from __future__ import annotations

import logging
from typing import Final, Protocol

from shareq.broker.foundation.bounded_log import BoundedLogs, cut

connections = logging.getLogger("shareq.broker.network.connection")
listeners = logging.getLogger("shareq.broker.network.listener")


class _Connection(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def client_host(self) -> str: ...
    @property
    def listener(self) -> str: ...
    @property
    def principal(self) -> str: ...


class ClientLines:
    """The lines of one broker. Without `bounds`, all are written."""

    def __init__(self, bounds: BoundedLogs | None = None) -> None:
        self._bounds = bounds

    def warn(self, connection: _Connection, reason: str, what: str = "") -> None:
        """Log a client's offence and its consequence (`what`)."""
        fields: dict[str, object] = {
            "connection": connection.id,
            "client_address": connection.client_host,
            "listener": connection.listener,
            "principal": connection.principal,
            "reason": reason,
        }
        self._log(connections, connection.client_host, reason, "%s: %s%s", (connection, what, reason), fields)

    def refused(self, host: str, listener: str, refusal: str) -> None:
        """Log that a connection was refused because of a limit."""
        fields: dict[str, object] = {"client_address": host, "listener": listener, "reason": refusal}
        self._log(listeners, host, refusal, "connection from %s on %s refused: %s", (host, listener, refusal), fields)

    def _log(
        self,
        logger: logging.Logger,
        host: str,
        reason: str,
        text: str,
        arguments: tuple[object, ...],
        fields: dict[str, object],
    ) -> None:
        if self._bounds is None:
            logger.warning(text, *map(cut, arguments), extra={"fields": fields})
        else:
            self._bounds.log(logger, host, reason, logging.WARNING, text, *arguments, **fields)


UNBOUNDED: Final = ClientLines()
