"""A number that stands for a whole `MetaState`, kept up to date change by change. Pure.

The sum, modulo 2^64, of one 64-bit number for each row: equal states have equal digests in any order of rows, and a
commit updates the digest without reading the unchanged rows.
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Iterable
from typing import Final

from shareq.broker.data_folder.journal_format import encode_change
from shareq.broker.metadata.changes import (
    DropAcl,
    DropTopic,
    ForgetTopic,
    MetaChange,
    MetaState,
    PutAcl,
    PutConfig,
    PutDeleted,
    PutFeature,
    PutMeta,
    PutQuota,
    PutScram,
    PutTopic,
)
from shareq.protocol.records.checksum import crc32c

_BITS: Final = 0xFFFFFFFFFFFFFFFF
_ODD: Final = 0x9E3779B97F4A7C15


def digest_of(state: MetaState) -> int:
    """Return the digest of all rows."""
    return sum(map(_row_number, state.rows())) & _BITS


def apply_and_digest(state: MetaState, changes: Iterable[MetaChange], digest: int) -> int:
    """Apply the changes to a state with this digest; return the new digest."""
    for change in changes:
        touched = _touched(state, change)
        before = _sum_of(state, touched)
        state.apply(change)
        digest += _sum_of(state, touched) - before
    return digest & _BITS


def _row_number(row: MetaChange) -> int:
    """Return two checksums of the row, mixed by multiplication: checksums are linear, and sums of linear values may
    be equal for different rows.
    """
    line = encode_change(row)
    mixed = ((crc32(line) << 32 | crc32c(line)) * _ODD) & _BITS
    return ((mixed ^ mixed >> 29) * _ODD) & _BITS


def _sum_of(state: MetaState, rows: Iterable[MetaChange]) -> int:
    return sum(_row_number(row) for key in rows if (row := _row_like(state, key)) is not None)


def _touched(state: MetaState, change: MetaChange) -> tuple[MetaChange, ...]:
    """Return a row for each key that the change adds or removes."""
    if isinstance(change, DropTopic) and (topic := state.topics.get(change.name)) is not None:
        return change, PutDeleted(topic)
    return (change,)


def _row_like(state: MetaState, key: MetaChange) -> MetaChange | None:
    """Return the row of the state that has the key of the change; None if there is none."""
    match key:
        case PutTopic(topic):
            return _put(PutTopic, state.topics.get(topic.name))
        case DropTopic(name):
            return _put(PutTopic, state.topics.get(name))
        case PutDeleted(topic):
            return _put(PutDeleted, state.deleted.get(topic.topic_id))
        case ForgetTopic(topic_id):
            return _put(PutDeleted, state.deleted.get(topic_id))
        case PutConfig(resource, name, _):
            value = state.configs.get(resource, {}).get(name)
            return None if value is None else PutConfig(resource, name, value)
        case PutFeature(name, _):
            return PutFeature(name, state.features[name]) if name in state.features else None
        case PutMeta(name, _):
            return PutMeta(name, state.meta[name]) if name in state.meta else None
        case PutAcl(acl) | DropAcl(acl):
            return PutAcl(acl) if acl in state.acls else None
        case PutScram(user, _):
            credential = state.scram.get(user)
            return None if credential is None else PutScram(user, credential)
        case PutQuota(entity, name, _):
            number = state.quotas.get(entity, {}).get(name)
            return None if number is None else PutQuota(entity, name, number)
    raise AssertionError(key)


def _put(kind: type[PutTopic] | type[PutDeleted], topic: object) -> MetaChange | None:
    return None if topic is None else kind(topic)  # type: ignore[arg-type]
