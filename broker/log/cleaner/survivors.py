"""The records that a compacted log keeps. Pure.

For each record, a rule returns its subject and the effect on that subject's older records. Then

* all records of a subject that are older than its newest STATE or END are removed;
* a CHANGE supersedes nothing, and stays until there is a newer STATE or END;
* an END (a tombstone) stays until its time is over, and is removed as the last record of its subject;
* records that the rule keeps stay, those that it discards are removed.

Two rules: `latest_value` is Apache Kafka's, a record's subject is its key. `share_state` is for the records of
`__share_group_state` (see `coordinator/share/records.py`): a ShareSnapshot is a share partition's state, a ShareUpdate
a change to it with the same subject. Keeping the last value of each key would lose state there.

Offsets, not positions in the log, decide what is newer, so a record is judged the same in every pass and in every part
of the log. Only what lies below `Newest.end_offset` is judged: what supersedes it is in sealed segments on stable
storage.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from enum import IntEnum
from hashlib import blake2b
from itertools import islice
from typing import Final, Protocol, TypeVar


class Role(IntEnum):
    """The effect of a record on the older records of its subject."""

    STATE = 0
    CHANGE = 1
    END = 2
    KEEP = 3
    DISCARD = 4


Rule = Callable[[bytes | None, bool], tuple[Role, bytes]]
"""A function `rule(key, has_value)` that returns a record's role and its subject; b"" as the subject for KEEP and
DISCARD.
"""

Took = Callable[[int], Awaitable[None]]
"""A function that counts processed records. Its result is awaited, and may pause."""

SUBJECT_BYTES: Final = 256
"""The most memory for one subject: a digest or a short key, an offset, and their places in the dictionary."""

_LONG_KEY: Final = 32  # keys at least as long as a digest are stored as their digest
_SUBJECTS: Final = 10_000  # subjects of a large batch that are added between two pauses
_SNAPSHOT: Final = b"\0\0"
_UPDATE: Final = b"\0\1"


class Judged(Protocol):
    """The parts of a record by which it is judged; of its value only if there is one."""

    @property
    def offset(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def has_value(self) -> bool: ...


J = TypeVar("J", bound=Judged)


def latest_value(key: bytes | None, has_value: bool) -> tuple[Role, bytes]:
    """Return the role and subject by which the newest record of each key is kept. A record without a key is
    discarded.
    """
    if key is None:
        return Role.DISCARD, b""
    if len(key) >= _LONG_KEY:
        key = blake2b(key, digest_size=_LONG_KEY).digest()
    return (Role.STATE if has_value else Role.END), key


def share_state(key: bytes | None, has_value: bool) -> tuple[Role, bytes]:
    """Return the role and subject by which the newest ShareSnapshot of each share partition is kept, and every
    ShareUpdate after it.

    Records of unknown types, and updates without a value, which have no meaning, are kept.
    """
    kind = b"" if key is None else key[:2]
    if key is None or kind not in (_SNAPSHOT, _UPDATE) or (kind == _UPDATE and not has_value):
        return Role.KEEP, b""
    subject = key[2:]
    if len(subject) >= _LONG_KEY:
        subject = blake2b(subject, digest_size=_LONG_KEY).digest()
    if kind == _UPDATE:
        return Role.CHANGE, subject
    return (Role.STATE if has_value else Role.END), subject


class Newest:
    """The offset of each subject's newest STATE or END below `end_offset`, of at most `room` subjects.

    The records of the log's dirty part are added with `note`, in order. Older records were judged by an earlier
    pass.
    """

    __slots__ = ("_offsets", "_room", "_rule", "end_offset")

    def __init__(self, rule: Rule, room: int, first_dirty_offset: int) -> None:
        self._rule = rule
        self._room = max(room, 1)
        self._offsets: dict[bytes, int] = {}
        self.end_offset = first_dirty_offset

    def __len__(self) -> int:
        return len(self._offsets)

    def note(self, records: Iterable[Judged], end_offset: int) -> bool:
        """Note the records of one batch, all below `end_offset`. Return False, and note none, if there is no room
        for their subjects.

        The first batch always fits: a pass that accepts no batch would never advance.
        """
        known = self._offsets
        found: dict[bytes, int] = {}
        self._find(records, found)
        if known and len(known) + len(found) > self._room and len(known.keys() | found.keys()) > self._room:
            return False
        known.update(found)
        self.end_offset = end_offset
        return True

    async def note_slices(self, slices: Iterable[Collection[Judged]], end_offset: int, took: Took) -> bool:
        """Note a batch's records slice by slice, as `note` does; noted subjects are counted by `took`, too."""
        known = self._offsets
        found: dict[bytes, int] = {}
        for records in slices:
            self._find(records, found)
            await took(len(records))
        if known and len(known) + len(found) > self._room:
            room = self._room - len(known)
            subjects = iter(found)
            while some := list(islice(subjects, _SUBJECTS)):
                room -= sum(subject not in known for subject in some)
                await took(len(some))
            if room < 0:
                return False
        entries = iter(found.items())
        while taken := list(islice(entries, _SUBJECTS)):
            known.update(taken)
            await took(len(taken))
        self.end_offset = end_offset
        return True

    def _find(self, records: Iterable[Judged], found: dict[bytes, int]) -> None:
        """Add the newest STATE or END of each subject among these records to `found`."""
        rule = self._rule
        for record in records:
            role, subject = rule(record.key, record.has_value)
            if role is Role.STATE or role is Role.END:
                found[subject] = record.offset

    def keeps(self, record: Judged, ends_are_over: bool) -> bool:
        """Return True if the record stays. `ends_are_over` is True if the delete horizon of the record's batch has
        passed.
        """
        offset = record.offset
        if offset >= self.end_offset:
            return True
        role, subject = self._rule(record.key, record.has_value)
        if role >= Role.KEEP:
            return role is Role.KEEP
        if offset < self._offsets.get(subject, 0):
            return False
        return role is not Role.END or not ends_are_over

    def is_end(self, record: Judged) -> bool:
        """Return True if the record is a tombstone, which is removed some time after its first cleaning."""
        return not record.has_value and self._rule(record.key, False)[0] is Role.END


def survivors(records: Iterable[J], rule: Rule, *, ends_are_over: Callable[[int], bool]) -> list[J]:
    """Return the surviving records of a whole log.

    `ends_are_over(offset)` as in `Newest.keeps`.
    """
    log = list(records)
    newest = Newest(rule, len(log), 0)
    newest.note(log, log[-1].offset + 1 if log else 0)
    return [record for record in log if newest.keeps(record, ends_are_over(record.offset))]
