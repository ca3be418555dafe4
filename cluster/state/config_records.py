"""The metadata that nodes share, as records of `__shareq_config`. Each record sets or removes one row of a table.

    key    a JSON list: the table, then the key of a row in it
    value  a JSON object: "format": 1, and the rest of the row; null: the row is removed

    configs   kind, name, key                    value                 kind is group or broker, named by a node's id
    acls      all columns                        nothing
    scram     name, mechanism                    salt, stored_key, server_key, iterations; bytes in hex
    quotas    user, client_id, ip, key           value
    secrets   a unique number                    secret, in hex        the first one in the log counts

Tables and their columns are those of the metadata's journal. A later release may add tables, and columns behind these,
which are ignored here; any other change of meaning has a higher format, and the record is ignored completely. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from shareq.broker.metadata.change_kinds import BY_TAG, TABLES, ChangeKind, Effect, Value, kind_of
from shareq.broker.metadata.changes import DropAcl, MetaChange, MetaState, PutAcl, PutConfig, PutQuota, PutScram
from shareq.broker.quotas.entity import value_problem
from shareq.broker.security.acls import acl_problem
from shareq.broker.security.credentials import SCRAM_MECHANISMS
from shareq.protocol.records.batch import RecordData

FORMAT: Final = 1
_SECRETS: Final = "secrets"
_KINDS: Final = ("group", "broker")
_MOST_ITERATIONS: Final = 2**31 - 1


class OwnSecret(NamedTuple):
    """A secret that a node offers to all others. `number` makes the record's key unique."""

    number: str
    secret: bytes


Change: TypeAlias = MetaChange | OwnSecret


class _Table(NamedTuple):
    """The kinds of changes that set and remove a row of one table."""

    put: ChangeKind
    drop: ChangeKind

    @property
    def rest(self) -> list[str]:
        """The columns that are not part of a row's key."""
        return [column for column in self.put.columns if column not in self.drop.columns]


_TABLES: Final[Mapping[str, _Table]] = {
    drop.table: _Table(next(kind for kind in BY_TAG.values() if kind.table == drop.table and kind is not drop), drop)
    for drop in (BY_TAG[tag] for tag in ("drop-config", "drop-acl", "drop-scram", "drop-quota"))
}


def is_kept(change: MetaChange) -> bool:
    """Return True if a change is valid and of a kind that nodes keep together."""
    return isinstance(change, (PutConfig, PutAcl, DropAcl, PutScram, PutQuota)) and _problem(change) is None


def record_of(change: Change) -> RecordData:
    """Return the record of a change. Changes of one row have equal keys."""
    if isinstance(change, OwnSecret):
        return RecordData(_json([_SECRETS, change.number]), _json({"format": FORMAT, "secret": change.secret.hex()}))
    kind = kind_of(change)
    table = _TABLES[kind.table]
    row = dict(zip(kind.columns, map(_text, kind.values(change)), strict=True))
    key = _json([kind.table, *(row[column] for column in table.drop.columns)])
    if kind.effect is Effect.REMOVE:
        return RecordData(key, None)
    return RecordData(key, _json({"format": FORMAT, **{column: row[column] for column in table.rest}}))


def read(key: bytes | None, value: bytes | None) -> Change | str | None:
    """Return the change in a record, a text that names its fault, or None for a change of a later release."""
    try:
        names = json.loads(key or b"")
        row = None if value is None else json.loads(value)
    except (ValueError, RecursionError):
        return "it is no JSON"
    if not isinstance(names, list) or not names or not isinstance(row, dict | None):
        return "it is no list with an object"
    number = FORMAT if row is None else row.get("format")
    if type(number) is not int or number < FORMAT:
        return "it has no format"
    if number > FORMAT:
        return None
    if names[0] == _SECRETS:
        return _secret(names, row)
    table = _TABLES.get(names[0]) if isinstance(names[0], str) else None
    if table is None or len(names) != 1 + len(table.drop.columns):
        return None
    kind = table.drop if row is None else table.put
    named = dict(zip(table.drop.columns, names[1:], strict=True))
    values = [
        _value(kind.table, column, (named if column in named else row or {}).get(column)) for column in kind.columns
    ]
    if any(each is None for each in values):
        return "a value is missing, or of another type"
    try:
        change = kind.made_of(*values)
    except ValueError:
        return "a value is of another type"
    return _problem(change) or change


def _secret(names: list[Any], row: Mapping[str, Any] | None) -> OwnSecret | str | None:  # Any: JSON
    number, text = names[1:2], None if row is None else row.get("secret")
    secret = _bytes(text)
    if row is None:
        return None
    if secret is None or not number or not isinstance(number[0], str):
        return "it is no secret"
    return OwnSecret(number[0], secret)


def _problem(change: MetaChange) -> str | None:
    """Return why a change is invalid; None if it is valid."""
    match change:
        case PutConfig(resource, key, _):
            return None if resource.kind in _KINDS and resource.name and key else f"{resource} has no property {key!r}"
        case PutAcl(acl):
            return acl_problem(acl)
        case PutScram(key, credential):
            if key.mechanism not in SCRAM_MECHANISMS or not key.user:
                return "there is no such user or mechanism"
            if credential is not None and not 0 < credential.iterations <= _MOST_ITERATIONS:
                return f"{credential.iterations} iterations"
        case PutQuota(entity, key, value):
            if not any(name is not None for name in entity):
                return "it is nobody's quota"
            return None if value is None else value_problem(entity, key, value)
    return None


# -- states


def differences(before: MetaState, after: MetaState) -> Iterator[MetaChange]:
    """Yield the changes that turn `before` into `after`. Removed access control entries come before added ones."""
    for resource in {**before.configs, **after.configs}:
        old, new = before.configs.get(resource, {}), after.configs.get(resource, {})
        for name in {**old, **new}:
            if old.get(name) != new.get(name):
                yield PutConfig(resource, name, new.get(name))
    yield from (DropAcl(acl) for acl in before.acls if acl not in after.acls)
    yield from (PutAcl(acl) for acl in after.acls if acl not in before.acls)
    for user in {**before.scram, **after.scram}:
        if before.scram.get(user) != after.scram.get(user):
            yield PutScram(user, after.scram.get(user))
    for entity in {**before.quotas, **after.quotas}:
        limits, limits_now = before.quotas.get(entity, {}), after.quotas.get(entity, {})
        for name in {**limits, **limits_now}:
            if limits.get(name) != limits_now.get(name):
                yield PutQuota(entity, name, limits_now.get(name))


# -- JSON


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _text(value: Value) -> str | int:
    return value.hex() if isinstance(value, bytes) else value


def _value(table: str, column: str, found: object) -> Value | None:
    """Return a value if it has its column's type; None if it is missing, or of another type."""
    wanted = TABLES[table][column]
    if wanted is bytes:
        return _bytes(found)
    if type(found) is not wanted:  # True is no number
        return None
    if isinstance(found, str):
        return found if _is_text(found) else None
    assert isinstance(found, int)
    return found


def _bytes(found: object) -> bytes | None:
    try:
        return bytes.fromhex(found) if isinstance(found, str) else None
    except ValueError:
        return None


def _is_text(found: str) -> bool:
    """Return True if the text can be encoded: JSON may have lone surrogates."""
    try:
        found.encode()
    except UnicodeEncodeError:
        return False
    return True
