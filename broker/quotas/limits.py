"""The choice of the quota that applies to a client, by Apache Kafka's precedence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from shareq.broker.quotas.entity import DEFAULT, QuotaEntity


class Limit(NamedTuple):
    """A quota that applies, as it was set for `entity`.

    All clients of `user`, or with `client_id`, share it; "" if that does not matter.
    """

    user: str
    client_id: str
    bound: float
    entity: QuotaEntity


class Limits:
    """The quotas of one key, by entity."""

    __slots__ = ("_bounds",)

    def __init__(self, key: str, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        self._bounds = {entity: values[key] for entity, values in quotas.items() if key in values}

    def bounds(self) -> Mapping[QuotaEntity, float]:
        """Return the bounds by the entity for which they were set."""
        return self._bounds

    def __bool__(self) -> bool:
        return bool(self._bounds)

    def of_client(self, user: str, client_id: str) -> Limit | None:
        """Return the limit for a user's client; None if there is none.

        A limit of the user has precedence over the default of users, and that over a limit of the client id. Within
        each, a limit for the client id has precedence over the one for any. A client without an id ("") has no limit
        for client ids.
        """
        for named_user in (user, DEFAULT):
            if client_id:
                for named_id in (client_id, DEFAULT):
                    entity = QuotaEntity(named_user, named_id)
                    bound = self._bounds.get(entity)
                    if bound is not None:
                        return Limit(user, client_id, bound, entity)
            entity = QuotaEntity(named_user)
            bound = self._bounds.get(entity)
            if bound is not None:
                return Limit(user, "", bound, entity)
        for named_id in (client_id, DEFAULT) if client_id else ():
            entity = QuotaEntity(None, named_id)
            bound = self._bounds.get(entity)
            if bound is not None:
                return Limit("", client_id, bound, entity)
        return None

    def of_address(self, ip: str) -> float | None:
        """Return the limit for an address."""
        bound = self._bounds.get(QuotaEntity(ip=ip))
        return self._bounds.get(QuotaEntity(ip=DEFAULT)) if bound is None else bound
