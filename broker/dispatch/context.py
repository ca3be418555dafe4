"""The context that a handler gets in addition to the request."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from shareq.broker.foundation.bounded_log import cut
from shareq.broker.foundation.turn_budget import PIECE
from shareq.broker.network.frames import CloseConnection
from shareq.broker.security.names import ANONYMOUS, CLUSTER_NAME

if TYPE_CHECKING:
    from shareq.broker.foundation.turn_budget import Breath
    from shareq.broker.network.connection import Connection
    from shareq.broker.quotas.clients import Account
    from shareq.broker.security.rights import Right
    from shareq.broker.services import Services

logger = logging.getLogger(__name__)
audit_logger = logging.getLogger("shareq.authorizer")


class RequestContext:
    """The client and the version of a request. Requests of a connection that agree in both share one context."""

    __slots__ = ("_account", "_account_of", "api_version", "client_id", "connection", "services")

    def __init__(self, services: Services, connection: Connection, api_version: int, client_id: str | None) -> None:
        self.services: Final = services
        self.connection: Final = connection
        self.api_version: Final = api_version
        self.client_id: Final = client_id
        self._account: Account | None = None
        self._account_of = ""  # the principal

    def breathe(self, elements: int = 1) -> Breath:
        """Count elements that a handler has processed; the result, when awaited, pauses if the loop's turn is spent."""
        return self.services.env.budget.breathe(elements)

    @property
    def quota_names(self) -> tuple[str, str]:
        """The names by which quotas find the client: its user's name, and its client id, "" if there is none."""
        return self.connection.principal.partition(":")[2], self.client_id or ""

    @property
    def account(self) -> Account:
        """The client's use of its quotas. It is looked up again when quotas or the client have changed."""
        account, quotas, principal = self._account, self.services.quotas, self.connection.principal
        if account is None or account.generation != quotas.generation or self._account_of != principal:
            account = quotas.account(*self.quota_names, self.services.env.clock.now_ms())
            self._account, self._account_of = account, principal
        return account

    @property
    def owner(self) -> str:
        """The owner of objects that the request creates, for limits by owner: the user, or the address of an
        unauthenticated client.
        """
        connection = self.connection
        return connection.client_host if connection.principal == ANONYMOUS else connection.principal

    def unreadable(self, what: object, error: Exception) -> str:
        """Return the reason, for the log, why the connection is closed after a malformed request. `what` names its
        RPC and version.
        """
        return f"{what} request cannot be read: {error} (client id {cut(self.client_id)!r})"

    def warn(self, logger: logging.Logger, text: str, *arguments: object) -> None:
        """Log a refused action of the client, in at most ten such lines a minute for one address."""
        host = self.connection.client_host
        self.services.client_lines.log(logger, host, text, logging.WARNING, text, *arguments, client_address=host)

    def failed(self, error: Exception) -> None:
        """Close the connection of a request that failed in a later turn, and so gets no answer.

        A `CloseConnection` is the client's fault; every other exception is our own fault, and logged as such.
        """
        if isinstance(error, CloseConnection):
            self.connection.abandon(str(error))
            return
        logger.error("%s: a request that was handled in turns failed", self.connection, exc_info=error)
        self.connection.abandon("internal error in a request that was handled in turns")

    def may(self, right: Right, name: str = CLUSTER_NAME) -> bool:
        """Return True if the client has a right on the resource of this name. Without an authorizer, every client has
        it.

        The answer is written to the audit log.
        """
        if self.services.authorizer is None:
            return True
        allowed = self.sees(right, name)
        if not allowed or audit_logger.isEnabledFor(logging.DEBUG):
            self.audit(right, name, allowed)
        return allowed

    def sees(self, right: Right, name: str = CLUSTER_NAME) -> bool:
        """Return the same as `may` without an audit line. It is for listings of all visible names, and for rights of
        which another one suffices.
        """
        authorizer = self.services.authorizer
        if authorizer is None:
            return True
        connection = self.connection
        return authorizer.allows(connection.principal, connection.client_host, right.operation, right.kind, name)

    def audit(self, right: Right, name: str, allowed: bool) -> None:
        """Log that a right of the client was allowed or denied (Apache Kafka: `kafka.authorizer.logger`)."""
        connection = self.connection
        self.services.audit.log(
            name,
            allowed,
            connection.principal,
            connection.client_host,
            self.client_id,
            right.operation.name,
            right.kind.name,
        )

    def lacking(self, right: Right, names: Iterable[str]) -> set[str]:
        """Return the names on which the client lacks the right."""
        if self.services.authorizer is None:
            return set()
        return {name for name in names if not self.may(right, name)}

    async def find_lacking(self, right: Right, names: Iterable[str]) -> set[str]:
        """Return the same as `lacking`, with pauses between names, since there may be many."""
        lacking: set[str] = set()
        if self.services.authorizer is not None:
            for name in names:
                if not self.may(right, name):
                    lacking.add(name)
                await self.breathe()
        return lacking

    async def give_back(self, held: dict[Any, Any] | list[Any]) -> None:  # Any: of any kind
        """Empty a collection with many entries, in parts: freeing a hundred thousand entries at once holds the loop
        for 10 ms.
        """
        while held:
            if isinstance(held, list):
                del held[-PIECE:]
            else:
                for _ in range(min(len(held), PIECE)):
                    held.popitem()
            await self.breathe(PIECE)
