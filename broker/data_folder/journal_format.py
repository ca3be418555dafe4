r"""`metadata.journal`: the second record of metadata, in lines of text. Pure.

    <crc>\tjournal\t1\t<cluster id>          the first line
    <crc>\t<change>\t<field>\t...            any number of changes, see `encode_change`
    <crc>\tcommit\t<number>\t<digest>        the changes since the last commit are one; `digest` of the state then

The CRC-32C, 8 hex digits, covers everything between the tab behind it and the end of its line. Fields are UTF-8,
with backslash, tab and line feed written as \\, \t and \n; ids, salts and keys are in hex. The first commit of a
file has the whole state in it. Lines after the last commit are the rest of a commit that was cut off, and do not
count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from shareq.broker.foundation.checked_text import checked_line, line_body
from shareq.broker.metadata.change_kinds import BY_TAG, Value, kind_of
from shareq.broker.metadata.changes import MetaChange, MetaState

JOURNAL_FILE: Final = "metadata.journal"

_VERSION: Final = b"1"
_TAB: Final = b"\t"
_ESCAPED: Final = rb"\\(.)"
_PLAIN: Final = {b"\\": b"\\", b"t": b"\t", b"n": b"\n"}


class Journal:
    """The content of a journal.

    `state` and its recorded `digest` are those after commit `sequence`, the last one before anything unreadable.
    `cut_off` is True if bytes of an unfinished commit follow. `damage` describes an unreadable place with commits
    after it; "" if there is none. `newest` is the number of the last commit that can be seen.
    """

    __slots__ = ("cluster_id", "cut_off", "damage", "digest", "newest", "sequence", "state")

    def __init__(self, cluster_id: str, state: MetaState) -> None:
        self.cluster_id = cluster_id
        self.state = state
        self.sequence = 0
        self.digest = 0
        self.cut_off = False
        self.damage = ""
        self.newest = 0


def format_journal(cluster_id: str, state: MetaState, sequence: int, digest: int) -> bytes:
    """Return the content of a new journal: one commit with the whole state."""
    header = checked_line(_TAB.join((b"journal", _VERSION, cluster_id.encode())), _TAB)
    return header + format_commit(state.rows(), sequence, digest)


def format_commit(changes: Iterable[MetaChange], sequence: int, digest: int) -> bytes:
    """Return the lines of one commit."""
    lines = [checked_line(encode_change(change), _TAB) for change in changes]
    lines.append(checked_line(b"commit\t%d\t%016x" % (sequence, digest), _TAB))
    return b"".join(lines)


def parse_journal(data: bytes) -> Journal:
    """Return the content of a journal. Raise ValueError if even its first line is unreadable."""
    lines = data.split(b"\n")
    ending = lines.pop()
    header = line_body(lines[0], _TAB) if lines else None
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
        body = line_body(line, _TAB)
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


def _commits_in(lines: list[bytes]) -> list[int]:
    bodies = [line_body(line, _TAB) for line in lines]
    return [int(body.split(b"\t")[1]) for body in bodies if body is not None and body.startswith(b"commit\t")]


def encode_change(change: MetaChange) -> bytes:
    """Return one change as a line, without its CRC. It also stands for the row of the state that the change adds."""
    kind = kind_of(change)
    encoded = [kind.tag.encode()]
    for each, value in zip(kind.types, kind.values(change), strict=True):
        raw = _TEXT[each](value)
        if b"\\" in raw or b"\t" in raw or b"\n" in raw:
            raw = raw.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")
        encoded.append(raw)
    return b"\t".join(encoded)


_TEXT: Final[Mapping[type[Value], Callable[..., bytes]]] = {
    str: lambda value: value.encode(),
    bytes: lambda value: value.hex().encode(),
    int: lambda value: b"%d" % value,
}


def _decode(tag: bytes, fields: list[bytes]) -> MetaChange | None:
    """Return the decoded change; None if no release up to this one writes it."""
    kind = BY_TAG.get(tag.decode(errors="replace"))
    if kind is None:
        return None
    try:
        return kind.made_of(*(_value(each, raw) for each, raw in zip(kind.types, fields, strict=True)))
    except ValueError:
        return None


def _value(kind: type[Value], raw: bytes) -> Value:
    text = (re.sub(_ESCAPED, _unescape, raw) if b"\\" in raw else raw).decode()
    if kind is bytes:
        return bytes.fromhex(text)
    return int(text) if kind is int else text


def _unescape(match: re.Match[bytes]) -> bytes:
    return _PLAIN[match[1]]
