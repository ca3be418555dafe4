"""Every kind of change of the metadata, once: its name in the journal, and the rows of the database that it is about.

    tag           table     what it does     its values, in the order of the table's columns
    topic         topics    puts a row       name, topic_id, partitions, internal
    drop-topic    topics    removes rows     name
    ...

In the journal values are text: numbers in decimal, bytes in hex. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, NamedTuple

from shareq.broker.metadata.changes import (
    DropAcl,
    DropTopic,
    ForgetTopic,
    MetaChange,
    PutAcl,
    PutConfig,
    PutDeleted,
    PutFeature,
    PutMeta,
    PutQuota,
    PutScram,
    PutTopic,
    ResourceName,
    TopicRow,
)
from shareq.broker.quotas.entity import DEFAULT, QuotaEntity
from shareq.broker.security.acls import Acl
from shareq.broker.security.credentials import CredentialKey, ScramCredential

Value = str | int | bytes

_TOPIC: Final = {"name": str, "topic_id": bytes, "partitions": int, "internal": int}
TABLES: Final[Mapping[str, Mapping[str, type[Value]]]] = {
    "topics": _TOPIC,
    "deleted": _TOPIC,
    "configs": {"kind": str, "name": str, "key": str, "value": str},
    "features": {"name": str, "level": int},
    "meta": {"key": str, "value": str},
    "acls": {
        "kind": int,
        "name": str,
        "pattern": int,
        "principal": str,
        "host": str,
        "operation": int,
        "permission": int,
    },
    "scram": {
        "name": str,
        "mechanism": str,
        "salt": bytes,
        "stored_key": bytes,
        "server_key": bytes,
        "iterations": int,
    },
    "quotas": {"user": str, "client_id": str, "ip": str, "key": str, "value": str},
}
"""The tables' columns, with the types of their values."""


class Effect(Enum):
    """The effect of a change on the rows of its table."""

    PUT = "there is one row with these values under their key"
    ADD = "there is a row with these values, at the place where it was first added"
    REMOVE = "there is no row with these values"


class ChangeKind(NamedTuple):
    """One kind of change. `values` and `made_of` are inverse; `types` are the types of the values."""

    tag: str
    effect: Effect
    table: str
    columns: tuple[str, ...]
    values: Callable[..., tuple[Value, ...]]
    made_of: Callable[..., MetaChange]
    types: tuple[type[Value], ...]


def kind_of(change: MetaChange) -> ChangeKind:
    match change:
        case PutConfig(_, _, None):
            return _DROP_CONFIG
        case PutScram(_, None):
            return _DROP_SCRAM
        case PutQuota(_, _, None):
            return _DROP_QUOTA
    return _BY_TYPE[type(change)]


def _kind(
    tag: str,
    effect: Effect,
    table: str,
    values: Callable[..., tuple[Value, ...]],
    made_of: Callable[..., MetaChange],
    columns: tuple[str, ...] = (),
) -> ChangeKind:
    columns = columns or tuple(TABLES[table])
    return ChangeKind(
        tag=tag,
        effect=effect,
        table=table,
        columns=columns,
        values=values,
        made_of=made_of,
        types=tuple(TABLES[table][each] for each in columns),
    )


def _topic_values(change: PutTopic | PutDeleted) -> tuple[Value, ...]:
    name, topic_id, partitions, internal = change.topic
    return name, topic_id, partitions, int(internal)


def _topic(name: str, topic_id: bytes, partitions: int, internal: int) -> TopicRow:
    return TopicRow(name, topic_id, partitions, internal == 1)


def _scram(user: str, mechanism: str, *secrets: bytes | int) -> PutScram:
    return PutScram(CredentialKey(user, mechanism), ScramCredential(*secrets))  # type: ignore[arg-type]


def _scram_values(change: PutScram) -> tuple[Value, ...]:
    assert change.credential is not None
    secret = change.credential
    return (*change.key, secret.salt, secret.stored_key, secret.server_key, secret.iterations)


def _quota(user: str, client_id: str, ip: str, key: str, value: str | None = None) -> PutQuota:
    entity = QuotaEntity(_quota_name(user), _quota_name(client_id), _quota_name(ip))
    return PutQuota(entity, key, None if value is None else float(value))


def _quota_values(change: PutQuota) -> tuple[str, str, str, str, str]:
    assert change.value is not None
    user, client_id, ip, key = _quota_key(change)
    return user, client_id, ip, key, repr(change.value)


def _quota_key(change: PutQuota) -> tuple[str, str, str, str]:
    user, client_id, ip = map(_quota_text, change.entity)
    return user, client_id, ip, change.key


def _quota_text(name: str | None) -> str:
    """Return a name as it is in a row: "" if the kind does not matter, "*" for the default, and "=" before any other
    name.
    """
    if name is None:
        return ""
    return "*" if name == DEFAULT else f"={name}"


def _quota_name(text: str) -> str | None:
    if not text:
        return None
    return DEFAULT if text == "*" else text[1:]


_BY_TYPE: Final[Mapping[type[MetaChange], ChangeKind]] = {
    PutTopic: _kind("topic", Effect.PUT, "topics", _topic_values, lambda *row: PutTopic(_topic(*row))),
    PutDeleted: _kind("deleted", Effect.PUT, "deleted", _topic_values, lambda *row: PutDeleted(_topic(*row))),
    DropTopic: _kind("drop-topic", Effect.REMOVE, "topics", lambda change: (change.name,), DropTopic, ("name",)),
    ForgetTopic: _kind(
        "forget-topic", Effect.REMOVE, "deleted", lambda change: (change.topic_id,), ForgetTopic, ("topic_id",)
    ),
    PutConfig: _kind(
        "config",
        Effect.PUT,
        "configs",
        lambda change: (*change.resource, change.key, change.value),
        lambda kind, name, key, value: PutConfig(ResourceName(kind, name), key, value),
    ),
    PutFeature: _kind("feature", Effect.PUT, "features", tuple, PutFeature),
    PutMeta: _kind("meta", Effect.PUT, "meta", tuple, PutMeta),
    PutAcl: _kind("acl", Effect.ADD, "acls", lambda change: tuple(change.acl), lambda *acl: PutAcl(Acl(*acl))),
    DropAcl: _kind(
        "drop-acl", Effect.REMOVE, "acls", lambda change: tuple(change.acl), lambda *acl: DropAcl(Acl(*acl))
    ),
    PutScram: _kind("scram", Effect.PUT, "scram", _scram_values, _scram),
    PutQuota: _kind("quota", Effect.PUT, "quotas", _quota_values, _quota),
}
_DROP_CONFIG: Final = _kind(
    "drop-config",
    Effect.REMOVE,
    "configs",
    lambda change: (*change.resource, change.key),
    lambda kind, name, key: PutConfig(ResourceName(kind, name), key, None),
    ("kind", "name", "key"),
)
_DROP_SCRAM: Final = _kind(
    "drop-scram",
    Effect.REMOVE,
    "scram",
    lambda change: tuple(change.key),
    lambda user, mechanism: PutScram(CredentialKey(user, mechanism), None),
    ("name", "mechanism"),
)
_DROP_QUOTA: Final = _kind(
    "drop-quota", Effect.REMOVE, "quotas", _quota_key, _quota, ("user", "client_id", "ip", "key")
)

_DROPS: Final = (_DROP_CONFIG, _DROP_SCRAM, _DROP_QUOTA)
BY_TAG: Final[Mapping[str, ChangeKind]] = {kind.tag: kind for kind in (*_BY_TYPE.values(), *_DROPS)}
"""The kinds by their names in the journal."""
