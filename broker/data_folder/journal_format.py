r"""`metadata.journal`: the second record of metadata, in lines of text. Pure.

    <crc>\tjournal\t1\t<cluster id>          the first line
    <crc>\t<change>\t<field>\t...            any number of changes, see `encode_change`
    <crc>\tcommit\t<number>\t<digest>        the changes since the last commit are one; `digest` of the state then

The CRC-32C, 8 hex digits, covers everything between the tab behind it and the end of its line. Fields are UTF-8, with
backslash, tab and line feed written as \\, \t and \n; ids, salts and keys are in hex. The first commit of a file has
the whole state in it. What comes after the last commit was cut off, and never happened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shareq.broker.meta_db import (
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
    PutScram,
    PutTopic,
    ResourceName,
    TopicRow,
)
from shareq.broker.security.acls import Acl
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from shareq.protocol.records.checksum import crc32c

__all__ = ["JOURNAL_FILE", "Journal", "encode_change", "format_commit", "format_journal", "parse_journal"]

JOURNAL_FILE: Final = "metadata.journal"

_VERSION: Final = b"1"
_CRC_END: Final = 9  # 8 hex digits and a tab
_ESCAPED: Final = re.compile(rb"\\(.)")
_PLAIN: Final = {b"\\": b"\\", b"t": b"\t", b"n": b"\n"}


@dataclass(slots=True)
class Journal:
    """What a journal's bytes say.

    `state` is that after commit `sequence`, with the digest that stands there: the last one before anything that cannot
    be read. `cut_off`: there are bytes of a commit that never happened behind it. `damage` says what cannot be read
    although commits follow, "" without; `newest` is the number of the last commit that can be seen.
    """

    cluster_id: str
    state: MetaState
    sequence: int = 0
    digest: int = 0
    cut_off: bool = False
    damage: str = ""
    newest: int = 0


def format_journal(cluster_id: str, state: MetaState, sequence: int, digest: int) -> bytes:
    """A whole journal with one commit, which has everything in it."""
    header = _line(b"\t".join((b"journal", _VERSION, cluster_id.encode())))
    return header + format_commit(state.rows(), sequence, digest)


def format_commit(changes: Iterable[MetaChange], sequence: int, digest: int) -> bytes:
    """The lines of one commit."""
    lines = [_line(encode_change(change)) for change in changes]
    lines.append(_line(b"commit\t%d\t%016x" % (sequence, digest)))
    return b"".join(lines)


def parse_journal(data: bytes) -> Journal:
    """What the bytes of a file say. ValueError when not even the first line does."""
    lines = data.split(b"\n")
    ending = lines.pop()
    header = _body(lines[0]) if lines else None
    fields = (header or b"").split(b"\t")
    if len(fields) != 3 or fields[0] != b"journal":
        raise ValueError("its first line is damaged" if data else "it is empty")
    if fields[1] != _VERSION:
        raise ValueError(f"it has version {fields[1].decode()}, and this release reads version {_VERSION.decode()}")
    journal = Journal(fields[2].decode(), MetaState())
    _replay(journal, lines)
    journal.cut_off = journal.cut_off or ending != b""
    return journal


def _replay(journal: Journal, lines: list[bytes]) -> None:
    waiting: list[MetaChange] = []
    for number, line in enumerate(lines[1:], start=2):
        body = _body(line)
        change = None
        if body is not None:
            tag, *fields = body.split(b"\t")
            if tag == b"commit":
                _commit(journal, waiting, fields)
                continue
            change = _decode(tag, fields)
        if change is None:
            journal.cut_off = True
            journal.newest = max([journal.sequence, *_commits_in(lines[number:])])
            if journal.newest > journal.sequence:
                journal.damage = f"its line {number} is damaged"
            return
        waiting.append(change)
    journal.cut_off = bool(waiting)
    journal.newest = journal.sequence


def _commit(journal: Journal, waiting: list[MetaChange], fields: list[bytes]) -> None:
    for change in waiting:
        journal.state.apply(change)
    waiting.clear()
    journal.sequence, journal.digest = int(fields[0]), int(fields[1], 16)


def _commits_in(lines: list[bytes]) -> Iterator[int]:
    for line in lines:
        body = _body(line)
        if body is not None and body.startswith(b"commit\t"):
            yield int(body.split(b"\t")[1])


def _line(body: bytes) -> bytes:
    return b"%08x\t%b\n" % (crc32c(body), body)


def _body(line: bytes) -> bytes | None:
    """What the line says; None when it is damaged."""
    body = line[_CRC_END:]
    return body if line[:_CRC_END] == b"%08x\t" % crc32c(body) else None


def encode_change(change: MetaChange) -> bytes:  # noqa: C901 - one case for each change
    """One change as a line, without its CRC. Also the row of a state that the change puts there."""
    match change:
        case PutTopic(topic):
            return _encoded(b"topic", *_topic_fields(topic))
        case PutDeleted(topic):
            return _encoded(b"deleted", *_topic_fields(topic))
        case DropTopic(name):
            return _encoded(b"drop-topic", name)
        case ForgetTopic(topic_id):
            return _encoded(b"forget-topic", topic_id.hex())
        case PutConfig(resource, key, None):
            return _encoded(b"drop-config", resource.kind, resource.name, key)
        case PutConfig(resource, key, value):
            return _encoded(b"config", resource.kind, resource.name, key, value or "")
        case PutFeature(name, level):
            return _encoded(b"feature", name, str(level))
        case PutMeta(key, text):
            return _encoded(b"meta", key, text)
        case PutAcl(acl):
            return _encoded(b"acl", *_acl_fields(acl))
        case DropAcl(acl):
            return _encoded(b"drop-acl", *_acl_fields(acl))
        case PutScram(user, None):
            return _encoded(b"drop-scram", *user)
        case PutScram(user, ScramCredential(salt, stored_key, server_key, iterations)):
            return _encoded(b"scram", *user, salt.hex(), stored_key.hex(), server_key.hex(), str(iterations))
    raise AssertionError(change)


def _encoded(tag: bytes, *fields: str) -> bytes:
    encoded = [tag]
    for field in fields:
        raw = field.encode()
        if b"\\" in raw or b"\t" in raw or b"\n" in raw:
            raw = raw.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")
        encoded.append(raw)
    return b"\t".join(encoded)


def _topic_fields(topic: TopicRow) -> tuple[str, ...]:
    return topic.name, topic.topic_id.hex(), str(topic.partitions), str(int(topic.internal))


def _acl_fields(acl: Acl) -> tuple[str, ...]:
    return tuple(str(int(field)) if isinstance(field, int) else field for field in acl)


def _decode(tag: bytes, fields: list[bytes]) -> MetaChange | None:
    """None for a change that no release up to this one writes."""
    decode = _DECODED.get(tag)
    if decode is None:
        return None
    try:
        return decode(*(_ESCAPED.sub(_unescape, raw).decode() if b"\\" in raw else raw.decode() for raw in fields))
    except (TypeError, ValueError, KeyError):
        return None


def _unescape(match: re.Match[bytes]) -> bytes:
    return _PLAIN[match[1]]


def _topic(name: str, topic_id: str, partitions: str, internal: str) -> TopicRow:
    return TopicRow(name, bytes.fromhex(topic_id), int(partitions), internal == "1")


def _acl(kind: str, name: str, pattern: str, principal: str, host: str, operation: str, permission: str) -> Acl:
    return Acl(int(kind), name, int(pattern), principal, host, int(operation), int(permission))


def _scram(user: str, mechanism: str, salt: str, stored_key: str, server_key: str, iterations: str) -> PutScram:
    keys = bytes.fromhex(salt), bytes.fromhex(stored_key), bytes.fromhex(server_key)
    return PutScram(CredentialKey(user, mechanism), ScramCredential(*keys, int(iterations)))


_DECODED: Final[Mapping[bytes, Callable[..., MetaChange]]] = {
    b"topic": lambda *fields: PutTopic(_topic(*fields)),
    b"deleted": lambda *fields: PutDeleted(_topic(*fields)),
    b"drop-topic": DropTopic,
    b"forget-topic": lambda topic_id: ForgetTopic(bytes.fromhex(topic_id)),
    b"config": lambda kind, name, key, value: PutConfig(ResourceName(kind, name), key, value),
    b"drop-config": lambda kind, name, key: PutConfig(ResourceName(kind, name), key, None),
    b"feature": lambda name, level: PutFeature(name, int(level)),
    b"meta": PutMeta,
    b"acl": lambda *fields: PutAcl(_acl(*fields)),
    b"drop-acl": lambda *fields: DropAcl(_acl(*fields)),
    b"scram": _scram,
    b"drop-scram": lambda user, mechanism: PutScram(CredentialKey(user, mechanism), None),
}
