"""Notifications of changes of properties, rights, users and quotas: listeners are called, and the changes are
logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from shareq.broker.metadata.changes import DropAcl, MetaChange, PutAcl, PutConfig, PutQuota, PutScram, ResourceName
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind

T = TypeVar("T")

logger = logging.getLogger(__name__)

MOST_LINES: Final = 200
"""The most lines of one change in the log."""


class News:
    """The listeners for one kind of change, in the order in which they were added. An exception of a listener is
    logged.
    """

    def __init__(self) -> None:
        self.configs: Final[list[Callable[[ResourceName], None]]] = []
        self.acls: Final[list[Callable[[Sequence[PutAcl | DropAcl]], None]]] = []
        self.credentials: Final[list[Callable[[Sequence[PutScram]], None]]] = []
        self.quotas: Final[list[Callable[[], None]]] = []

    def notify(self, changes: Sequence[MetaChange]) -> None:
        """Notify the listeners of changes that are visible in the image."""
        for resource in dict.fromkeys(change.resource for change in changes if isinstance(change, PutConfig)):
            notify(f"{resource.kind} {resource.name}", self.configs, resource)
        acls = [change for change in changes if isinstance(change, (PutAcl, DropAcl))]
        if acls:
            for change in few(logger, acls, "acls"):
                logger.info("acl %s: %s", "added" if isinstance(change, PutAcl) else "removed", _acl_text(change.acl))
            notify("acls", self.acls, acls)
        credentials = [change for change in changes if isinstance(change, PutScram)]
        if credentials:
            for (user, mechanism), credential in few(logger, credentials, "credentials"):
                logger.info("user %s: %s credential %s", user, mechanism, "set" if credential else "removed")
            notify("credentials", self.credentials, credentials)
        quotas = [change for change in changes if isinstance(change, PutQuota)]
        if quotas:
            for entity, key, value in few(logger, quotas, "quotas"):
                logger.info("quota %s of %s: %s", key, entity.by_kind(), "removed" if value is None else f"{value:g}")
            notify("quotas", self.quotas)


def notify(what: str, listeners: Iterable[Callable[..., None]], *arguments: object) -> None:
    """Notify all listeners of a change that has been made."""
    for listener in listeners:
        try:
            listener(*arguments)
        except Exception:  # every other listener must still hear of it
            logger.exception("%s: a listener failed", what)


def few(log: logging.Logger, changed: Sequence[T], what: str) -> Sequence[T]:
    """Return the changes to log one by one, since a line takes 20 µs and there may be thousands; none if `log` omits
    INFO.
    """
    if not log.isEnabledFor(logging.INFO):
        return ()
    if len(changed) > MOST_LINES:
        log.info("%s: %d, the first %d follow", what, len(changed), MOST_LINES)
    return changed[:MOST_LINES]


def _acl_text(acl: Acl) -> str:
    """Return an ACL in the form of kafka-acls. Names are quoted, since they may contain any character."""
    resource = f"{PatternType(acl.pattern).name} {ResourceKind(acl.kind).name} {acl.name!r}"
    right = f"{Permission(acl.permission).name} {Operation(acl.operation).name}"
    return f"{right} on {resource} for {acl.principal!r} from {acl.host!r}"
