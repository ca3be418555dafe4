"""The move of access rules and quotas, if a whole cluster moves. Pure.

Rules are added; a quota is set if the target has none for its entity and name, and a SCRAM user is added if the target
has none of the name and mechanism: existing ones stay unchanged. Apache Kafka has no request that shows users' keys. It
accepts salted passwords, from which the keys are made, but nobody stores these: such users are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from shareq.client.admin.users import KeptCredential
from shareq.client.errors import BrokerError
from shareq.ops.migrate.report import MigrationRow, Outcome
from shareq.protocol.errors import ErrorCode

Rule = tuple[str, ...]
"""An ACL: resource, its name, pattern, principal, host, operation, permission."""
Entity = tuple[tuple[str, str | None], ...]
"""The kinds and names of a quota's entity, sorted; None is the default of the kind."""


class Access(Protocol):
    """The port to the access rules and quotas of a cluster. Every call may raise ClientError."""

    def rules(self) -> Sequence[Rule] | None:
        """Return all ACLs; None without an authorizer, or if they may not be seen."""

    def add_rules(self, rules: Sequence[Rule]) -> Sequence[BrokerError | None]: ...

    def quotas(self) -> Mapping[Entity, Mapping[str, float]] | None:
        """Return all quotas; None if they may not be seen."""

    def set_quota(self, entity: Entity, limits: Mapping[str, float]) -> BrokerError | None: ...

    def users(self) -> Sequence[tuple[str, str]] | None:
        """Return SCRAM users and their mechanisms; None if they may not be seen."""

    def credentials(self) -> Sequence[KeptCredential] | None:
        """Return the credentials of SCRAM users; None if they are not shown."""

    def add_credentials(self, credentials: Sequence[KeptCredential]) -> Sequence[BrokerError | None] | None:
        """Add credentials, and return the reason for each refusal; None if the cluster accepts none at all."""


def move(source: Access, target: Access, done: Outcome) -> Iterator[MigrationRow]:
    """Move ACLs, quotas and users, or, if `done` is planned, only return those that would move."""
    yield from _move_rules(source.rules(), target, done)
    yield from _move_quotas(source.quotas(), target, done)
    yield from _move_users(source, target, done)


def _move_users(source: Access, target: Access, done: Outcome) -> Iterator[MigrationRow]:
    users = source.users()
    if not users:
        return
    kept = source.credentials()
    takes = kept is not None and target.add_credentials(()) is not None
    if kept is None or not takes:
        why = "the source does not show its keys" if kept is None else "the target takes no keys, as Apache Kafka"
        there = set(target.users() or ())
        for user, mechanism in users:
            if (user, mechanism) not in there:
                note = f"{mechanism}: {why}; shareq users set {user} --mechanism {mechanism}"
                yield MigrationRow("user", user, None, "left", note=note)
        return
    errors = target.add_credentials(kept) if done != "planned" else None
    for each, error in zip(kept, errors or [None] * len(kept), strict=True):
        row = MigrationRow("user", each.user, None, done, note=each.mechanism)
        if error is not None:
            is_other = error.code == ErrorCode.DUPLICATE_RESOURCE
            row = row._replace(outcome="left" if is_other else "refused", note=f"{each.mechanism}: {error}")
        yield row


def _move_rules(rules: Sequence[Rule] | None, target: Access, done: Outcome) -> Iterator[MigrationRow]:
    there = target.rules() if rules else ()
    rows = [MigrationRow("acl", rule[3], None, done, note=" ".join(rule)) for rule in rules or ()]
    if there is None:
        why = "the target has no authorizer, or does not show its rules"
        yield from (row._replace(outcome="left", note=f"{row.note}: {why}") for row in rows)
        return
    new = [rule for rule in rules or () if rule not in there]
    errors = dict(zip(new, target.add_rules(new), strict=True)) if new and done != "planned" else {}
    for rule, row in zip(rules or (), rows, strict=True):
        error = errors.get(rule)
        yield row if error is None else row._replace(outcome="refused", note=str(error))


def _move_quotas(
    quotas: Mapping[Entity, Mapping[str, float]] | None, target: Access, done: Outcome
) -> Iterator[MigrationRow]:
    there = (target.quotas() or {}) if quotas else {}
    for entity, limits in sorted((quotas or {}).items(), key=lambda one: repr(one[0])):
        name = ", ".join(f"{kind} {each if each is not None else 'default'}" for kind, each in entity)
        known = there.get(entity, {})
        other = {limit: value for limit, value in known.items() if limits.get(limit, value) != value}
        new = {limit: value for limit, value in limits.items() if limit not in known}
        error = target.set_quota(entity, new) if new and done != "planned" else None
        for limit, value in sorted(limits.items()):
            row = MigrationRow("quota", name, None, done, note=f"{limit}={value:g}")
            if limit in other:
                row = row._replace(outcome="left", note=f"{row.note}: the target has {other[limit]:g}")
            elif limit in new and error is not None:
                row = row._replace(outcome="refused", note=str(error))
            yield row
