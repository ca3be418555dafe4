"""Quotas: what users, client ids and addresses may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from shareq.client.admin.calls import Calls, refused
from shareq.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    OpData,
)
from shareq.protocol.generated.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

KINDS: Final = ("user", "client-id", "ip")
_EXACT, _DEFAULT, _ANY = range(3)


class Quota(NamedTuple):
    """Limits of one entity, by Kafka's names. `entity`: kind -> name, None for the default of the kind."""

    entity: Mapping[str, str | None]
    limits: Mapping[str, float]


class Quotas:
    """The quotas of a cluster."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def find(self, entity: Mapping[str, str | None] | None = None, kinds: Sequence[str] = ()) -> list[Quota]:
        """Return the quotas whose entity has these names and kinds, and possibly others; all quotas by default."""
        rows = [
            ComponentData(kind, _DEFAULT if name is None else _EXACT, name) for kind, name in (entity or {}).items()
        ]
        rows += [ComponentData(kind, _ANY, None) for kind in kinds]
        answer = self._calls.any(DescribeClientQuotasRequest(rows), DescribeClientQuotasResponse, "quotas")
        found = [
            Quota(
                {each.entity_type: each.entity_name for each in entry.entity},
                {each.key: each.value for each in sorted(entry.values, key=lambda one: one.key)},
            )
            for entry in answer.entries or ()
        ]
        return sorted(found, key=lambda quota: sorted((kind, name or "") for kind, name in quota.entity.items()))

    def alter(
        self,
        entity: Mapping[str, str | None],
        limits: Mapping[str, float],
        remove: Sequence[str] = (),
        *,
        dry_run: bool = False,
    ) -> None:
        """Set and remove limits of one entity; all or nothing. Raises BrokerError."""
        operations = [OpData(key, value) for key, value in limits.items()]
        operations += [OpData(key, remove=True) for key in remove]
        names = [AlterClientQuotasRequestEntityData(kind, name) for kind, name in entity.items()]
        request = AlterClientQuotasRequest([AlterClientQuotasRequestEntryData(names, operations)], dry_run)
        answer = self._calls.controller(request, AlterClientQuotasResponse, "quotas")
        for row in answer.entries:
            if error := refused(row.error_code, "quotas", row.error_message):
                raise error
