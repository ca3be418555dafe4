"""The driver of the port for rules, quotas and users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from shareq.client.admin import Admin
from shareq.client.admin.acls import Acl
from shareq.client.admin.users import KeptCredential
from shareq.client.errors import BrokerError, ClientError, UnsupportedApi
from shareq.ops.migrate.access import Entity, Rule
from shareq.protocol.errors import ErrorCode

T = TypeVar("T")
_HIDDEN: Final = frozenset(
    {
        ErrorCode.SECURITY_DISABLED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.POLICY_VIOLATION,
    }
)


class AccessOf:
    """The rules, quotas and users of a cluster."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def rules(self) -> Sequence[Rule] | None:
        """Return all ACLs."""
        found = _seen(self._admin.acls.find)
        return None if found is None else [tuple(each) for each in found]

    def add_rules(self, rules: Sequence[Rule]) -> Sequence[BrokerError | None]:
        """Add ACLs; return the reason for each refusal."""
        outcomes = [outcome for _, outcome in self._admin.acls.create([Acl(*each) for each in rules])]
        return [_refusal(each) for each in outcomes]

    def quotas(self) -> Mapping[Entity, Mapping[str, float]] | None:
        """Return all quotas."""
        found = _seen(self._admin.quotas.find)
        return None if found is None else {tuple(sorted(each.entity.items())): each.limits for each in found}

    def set_quota(self, entity: Entity, limits: Mapping[str, float]) -> BrokerError | None:
        """Set limits of an entity; return the reason for a refusal."""
        try:
            self._admin.quotas.alter(dict(entity), limits)
        except BrokerError as error:
            return error
        return None

    def users(self) -> Sequence[tuple[str, str]] | None:
        """Return SCRAM users and their mechanisms."""
        found = _seen(self._admin.users.find)
        return None if found is None else [(each.user, each.mechanism) for each in found]

    def credentials(self) -> Sequence[KeptCredential] | None:
        """Return the credentials of SCRAM users."""
        return _seen(self._admin.users.kept)

    def add_credentials(self, credentials: Sequence[KeptCredential]) -> Sequence[BrokerError | None] | None:
        """Add credentials; return the reason for each refusal."""
        found = _seen(lambda: self._admin.users.add_kept(credentials))
        return None if found is None else [_refusal(each) for each in found]


def _seen(find: Callable[[], T]) -> T | None:
    """Return the result of `find`; None if the cluster lacks the request, or refuses it to this user."""
    try:
        return find()
    except UnsupportedApi:
        return None
    except BrokerError as error:
        if error.code not in _HIDDEN:
            raise
        return None


def _refusal(outcome: bool | ClientError) -> BrokerError | None:
    if isinstance(outcome, ClientError) and not isinstance(outcome, BrokerError):
        raise outcome
    return outcome if isinstance(outcome, BrokerError) else None
